"use strict";
// Names beside points, in order of importance; one that would cover another is left out.

const TALL = 15;
const meets = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;

function candidates({ x, y, dx, dy }, wide) {
  const at = (cx, cy) => ({ x0: cx - wide / 2, x1: cx + wide / 2, y0: cy - TALL / 2, y1: cy + TALL / 2 });
  const found = [];
  // Outwards first, then turning away from that direction, then farther out.
  for (const far of [9, 20, 34, 52]) {
    for (const turn of [0, 0.35, -0.35, 0.8, -0.8, 1.3, -1.3, 2, -2]) {
      const angle = Math.atan2(dy, dx) + turn;
      const [ux, uy] = [Math.cos(angle), Math.sin(angle)];
      found.push({ ...at(x + ux * (far + wide / 2), y + uy * (far + TALL / 2)), far });
    }
  }
  return found;
}

// Items: { x, y, dx, dy, text, fill, act }; returns how many found no place.
function placeLabels(area, items, taken = []) {
  const boxes = [...taken];
  let lost = 0;
  for (const item of items) {
    const text = fitText(item.text, 150, 12);
    const wide = textWidth(text, 12) + 6;
    const inside = (box) => box.x0 >= area.left && box.x1 <= area.right && box.y0 >= area.top && box.y1 <= area.bottom;
    const box = candidates(item, wide).find((one) => inside(one) && !boxes.some((other) => meets(one, other)));
    if (!box) { lost += 1; continue; }
    boxes.push(box);
    const [cx, cy] = [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2];
    if (box.far > 9) {
      const near = [Math.min(Math.max(item.x, box.x0), box.x1), Math.min(Math.max(item.y, box.y0), box.y1)];
      node(area.svg, "line", { x1: item.x, y1: item.y, x2: near[0], y2: near[1], class: "leader" });
    }
    const made = node(area.svg, "text", { x: cx, y: cy + 4, "text-anchor": "middle", class: "label" }, text);
    if (item.act) { made.act = item.act; made.classList.add("acts"); }
  }
  return lost;
}

"use strict";
// What every picture is drawn with: a canvas, scales, axes, marks that can be pointed at.

function niceTicks(low, high, count) {
  const span = high - low || 1;
  const raw = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i += 1) ticks.push(i * step);
  return ticks;
}

// Paper takes finer pictures than a screen: they are drawn larger and shrunk.
const shrinkage = () => (document.documentElement.classList.contains("printing") ? 1.55 : 1);
const widthOf = (holder) => Math.max(200, Math.floor((holder.clientWidth || 600) * shrinkage()));
const heightOf = (holder, share, least, most) => Math.min(most, Math.max(least, Math.round(widthOf(holder) * share)));

function canvas(holder, height, label) {
  const width = widthOf(holder);
  holder.replaceChildren();
  const svg = node(holder, "svg", { viewBox: `0 0 ${width} ${height}`, height: height / shrinkage(), role: "img", "aria-label": label });
  walkable(svg);
  return { svg, width, height };
}

function extent(values, pad = 0.05) {
  const known = values.filter((v) => v !== null && !Number.isNaN(v));
  const low = known.reduce((a, b) => Math.min(a, b), Infinity);
  const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!known.length) return [0, 1];
  const room = high > low ? (high - low) * pad : Math.abs(high) / 2 || 1;
  return [low - room, high + room];
}

// Axes with ticks and names. `equal` makes a unit as long upwards as across; `rows` are words that
// stand beside what is drawn above the plane, for which there has to be room.
function plane(holder, spec) {
  const { svg, width, height } = canvas(holder, spec.height, spec.label);
  const writeY = spec.yWrite || asNumber;
  const bottom = height - (spec.xName ? 44 : 26);
  let [x0, x1] = spec.x;
  let [y0, y1] = spec.y;
  const ticksY = spec.yTicks || niceTicks(y0, y1, Math.max(3, bottom / 60));
  const written = [...ticksY.map(writeY), ...(spec.rows || [])];
  const left = Math.ceil(Math.max(...written.map((word) => textWidth(word)), 8)) + (spec.yName ? 34 : 14);
  const right = width - 14;
  const top = spec.legend ? legend(svg, left, 14, spec.legend, right - left) + 12 : spec.top ?? 12;
  if (spec.equal) {
    const unit = Math.max((x1 - x0) / (right - left), (y1 - y0) / (bottom - top));
    const widen = (lo, hi, room) => [(lo + hi - unit * room) / 2, (lo + hi + unit * room) / 2];
    [x0, x1] = widen(x0, x1, right - left);
    [y0, y1] = widen(y0, y1, bottom - top);
  }
  const f = spec.log ? Math.log10 : (v) => v;
  const x = (v) => left + ((f(v) - f(x0)) / (f(x1) - f(x0) || 1)) * (right - left);
  const y = (v) => bottom - ((v - y0) / (y1 - y0 || 1)) * (bottom - top);
  for (const t of ticksY.filter((tick) => tick >= y0 && tick <= y1 * (1 + 1e-9))) {
    node(svg, "line", { x1: left, x2: right, y1: y(t), y2: y(t), class: "grid" });
    node(svg, "text", { x: left - 8, y: y(t) + 4, "text-anchor": "end", class: "soft" }, writeY(t));
  }
  for (const t of spec.xTicks || niceTicks(x0, x1, Math.max(3, (right - left) / 80))) {
    node(svg, "text", { x: x(t), y: bottom + 18, "text-anchor": "middle", class: "soft" }, (spec.xWrite || asNumber)(t));
  }
  if (spec.xName) node(svg, "text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, fitText(spec.xName, right - left));
  if (spec.yName) {
    const middle = (top + bottom) / 2;
    node(svg, "text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, fitText(spec.yName, bottom - top));
  }
  return { svg, width, height, x, y, left, right, top, bottom, span: { x: [x0, x1], y: [y0, y1] } };
}

// Something to point at: hovering and arrow keys say `tip`, a click or Enter does `act`.
function mark(svg, name, attributes, tip, act) {
  const made = node(svg, name, { ...attributes, class: `mark ${attributes.class || ""}${act ? " acts" : ""}`.trim(), "data-tip": tip });
  if (act) made.act = act;
  return made;
}

const polygonPath = (angles, r, cx, cy) => `M${angles.map(([turn, far]) =>
  `${(cx + far * r * Math.sin(turn * Math.PI)).toFixed(1)} ${(cy - far * r * Math.cos(turn * Math.PI)).toFixed(1)}`).join("L")}Z`;
const star = (points, inner) => Array.from({ length: 2 * points }, (_, i) => [i / points, i % 2 ? inner : 1.35]);
// Seven shapes and eight colours have no common factor: 56 classes differ in one or the other.
const SHAPES = [
  null,
  [[0.25, 1.25], [0.75, 1.25], [1.25, 1.25], [1.75, 1.25]],
  [[0, 1.4], [2 / 3, 1.4], [4 / 3, 1.4]],
  [[0, 1.4], [0.5, 1.4], [1, 1.4], [1.5, 1.4]],
  [[1, 1.4], [1 / 3, 1.4], [5 / 3, 1.4]],
  star(5, 0.55),
  star(4, 0.45),
];
function point(svg, kind, cx, cy, r, attributes, tip, act) {
  const angles = SHAPES[kind % SHAPES.length];
  if (!angles) return mark(svg, "circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r, ...attributes }, tip, act);
  return mark(svg, "path", { d: polygonPath(angles, r, cx, cy), ...attributes }, tip, act);
}

function curve(svg, points, attributes) {
  const known = points.filter(([a, b]) => !Number.isNaN(a) && !Number.isNaN(b));
  return node(svg, "polyline", { points: known.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" "), fill: "none", ...attributes });
}

function band(svg, upper, lower, attributes) {
  const points = [...upper, ...[...lower].reverse()];
  return node(svg, "polygon", { points: points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" "), ...attributes });
}

// Entries are [text, fill, kind]: a square by default, a line, or the shape of a point.
// Wraps where the room ends, and returns how far down it reaches.
function legend(svg, x, y, entries, room = Infinity) {
  const start = x;
  for (const [text, fill, kind] of entries) {
    const long = 30 + textWidth(text);
    if (x > start && x + long > start + room) { x = start; y += 18; }
    if (kind === "line" || kind === "dashed") {
      node(svg, "line", { x1: x, x2: x + 13, y1: y - 4, y2: y - 4, stroke: fill, "stroke-width": 2, "stroke-dasharray": kind === "dashed" ? "4 3" : "none" });
    } else if (kind === "open") {
      node(svg, "path", { d: polygonPath(SHAPES[3], 4.5, x + 6, y - 4), fill: "var(--paper)", stroke: fill, "stroke-width": 1.6 });
    } else {
      node(svg, "rect", { x, y: y - 10, width: 11, height: 11, fill, rx: 2 });
    }
    node(svg, "text", { x: x + 18, y }, text);
    x += long;
  }
  return y;
}

// Horizontal bars with names; `other` is a second value, drawn as an open mark.
function bars(holder, entries, spec) {
  const step = spec.step || 24;
  const head = spec.legend ? 24 : 0;
  const foot = spec.more ? 24 : 4;
  const { svg, width } = canvas(holder, head + entries.length * step + foot, spec.label);
  if (spec.legend) legend(svg, 2, 14, spec.legend, width);
  const room = Math.min(width * 0.42, Math.max(...entries.map((e) => textWidth(e.name)), 20) + 8);
  const all = entries.flatMap((e) => [e.value, e.other ?? 0]);
  const low = Math.min(0, ...all);
  const high = Math.max(0, ...all);
  const write = spec.write || ((v) => v.toFixed(2));
  const aside = spec.quiet ? 8 : Math.max(...entries.map((e) => textWidth(write(e.value)))) + 12;
  const share = (v) => (v - low) / (high - low || 1);
  // The numbers of negative bars stand between their ends and the names: of short bars as well.
  const start = Math.max(room + 10, ...entries.filter((e) => e.value < 0 && !spec.quiet).map((e) =>
    (room + 12 + textWidth(write(e.value)) - share(e.value) * (width - aside)) / (1 - share(e.value))));
  const across = Math.max(20, width - start - aside);
  const place = (v) => start + share(v) * across;
  entries.forEach((entry, i) => {
    const y = head + i * step + 3;
    const tall = step - 6;
    node(svg, "text", { x: room, y: y + tall / 2 + 5, "text-anchor": "end", class: entry.soft ? "soft" : "" }, fitText(entry.name, room));
    const [a, b] = [Math.min(place(entry.value), place(0)), Math.max(place(entry.value), place(0))];
    mark(svg, "rect", { x: a, y, width: Math.max(b - a, entry.value ? 1 : 0), height: tall, rx: 2, fill: entry.fill }, entry.tip, entry.act);
    if (entry.other !== undefined) {
      mark(svg, "path", { d: polygonPath(SHAPES[3], 4.5, place(entry.other), y + tall / 2), fill: "var(--card)", stroke: "var(--pca)", "stroke-width": 1.8 }, entry.otherTip, entry.act);
    }
    if (spec.quiet) return;
    const left = entry.value < 0;
    node(svg, "text", { x: left ? a - 6 : b + 6, y: y + tall / 2 + 5, "text-anchor": left ? "end" : "start", class: "soft" }, write(entry.value));
  });
  node(svg, "line", { x1: place(0), x2: place(0), y1: head, y2: head + entries.length * step, stroke: "var(--quiet)" });
  if (spec.more) node(svg, "text", { x: room + 10, y: head + entries.length * step + 16, class: "soft" }, spec.more);
  return svg;
}

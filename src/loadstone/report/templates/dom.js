"use strict";
// Text from the data only ever becomes text nodes: nothing here parses HTML.
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

function node(parent, name, attributes, text) {
  const isSvg = parent instanceof SVGElement || name === "svg";
  const made = isSvg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
}

const colour = (i) => `var(--c${i % 8})`;
const asPercent = (ratio) => (ratio === null ? "unknown" : `${(100 * ratio).toPrecision(3)} %`);
function asNumber(value) {
  if (value === null) return "unknown";
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-4)) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  return Number(value.toPrecision(4)).toString();
}

function fitText(text, room) {
  const most = Math.max(4, Math.floor(room / 7.8));
  if (text.length <= most) return text;
  const keep = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - keep)}…${text.slice(-keep)}`;
}

function niceTicks(low, high, count) {
  const span = high - low || 1;
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high + 1e-9 * span; t += step) {
    ticks.push(Math.abs(t) < 1e-12 * span ? 0 : t);
  }
  return ticks;
}

const tip = byId("tip");
function showTip(mark) {
  const text = mark.getAttribute("data-tip");
  const box = mark.getBoundingClientRect();
  tip.textContent = text;
  tip.hidden = false;
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
  const above = box.top - tip.offsetHeight - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 4 ? above : box.bottom + 8}px`;
}
function hideTip() { tip.hidden = true; }

// One tab stop per chart; arrow keys walk through its marks and say what they are.
function walkable(svg) {
  let at = -1;
  const marks = () => [...svg.querySelectorAll(".mark")];
  const choose = (next) => {
    const all = marks();
    if (!all.length) return;
    all.forEach((mark) => mark.classList.remove("on"));
    at = (next + all.length) % all.length;
    all[at].classList.add("on");
    showTip(all[at]);
    byId("live").textContent = all[at].getAttribute("data-tip");
  };
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight" || event.key === "ArrowDown") { choose(at + 1); event.preventDefault(); }
    if (event.key === "ArrowLeft" || event.key === "ArrowUp") { choose(at - 1); event.preventDefault(); }
    if (event.key === "Escape") hideTip();
  });
  svg.addEventListener("blur", () => { marks().forEach((mark) => mark.classList.remove("on")); hideTip(); });
  svg.addEventListener("pointerover", (event) => {
    if (event.target.classList.contains("mark")) showTip(event.target); else hideTip();
  });
  svg.addEventListener("pointerleave", hideTip);
}

function canvas(holder, height, label) {
  holder.replaceChildren();
  const width = Math.max(240, Math.floor(holder.clientWidth || 600));
  const svg = node(holder, "svg", {
    viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label,
  });
  walkable(svg);
  return { svg, width, height };
}

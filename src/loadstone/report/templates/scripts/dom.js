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

function button(parent, text, act, attributes) {
  const made = node(parent, "button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

// Buttons that stay pressed; `isOn` is asked again after each click.
function toggle(parent, text, isOn, flip, dot) {
  const made = button(parent, undefined, () => { flip(); tell(); }, {});
  const tell = () => made.setAttribute("aria-pressed", String(isOn()));
  if (dot) made.append(dot);
  made.append(text);
  tell();
  return made;
}

function chooser(parent, text, entries, value, change) {
  const holder = node(parent, "label", {}, `${text} `);
  const select = node(holder, "select", { "aria-label": text });
  entries.forEach(([key, name]) => { node(select, "option", { value: key }, name).selected = String(key) === String(value); });
  select.addEventListener("change", () => change(select.value));
  return select;
}

const colour = (i) => (i < 0 ? "var(--quiet)" : `var(--c${i % 8})`);
const asPercent = (ratio) => (ratio === null ? "unknown" : `${(100 * ratio).toPrecision(3)} %`);
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
function asNumber(value) {
  if (value === null || Number.isNaN(value)) return "unknown";
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-4)) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  return Number(value.toPrecision(4)).toString();
}

const ruler = document.createElement("canvas").getContext("2d");
function textWidth(text, size = 13) {
  ruler.font = `${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

// The start and the end of a long name stay.
function fitText(text, room, size = 13) {
  if (textWidth(text, size) <= room) return text;
  for (let keep = text.length - 1; keep > 3; keep -= 1) {
    const end = Math.floor((keep - 1) / 2);
    const short = `${text.slice(0, keep - 1 - end)}…${text.slice(text.length - end)}`;
    if (textWidth(short, size) <= room) return short;
  }
  return `${text.slice(0, 2)}…`;
}

// Sixteen bits for each number: see packed.py.
function unpacked({ middle, half, codes }) {
  const bytes = Uint8Array.from(atob(codes), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const values = new Float64Array(bytes.length / 2);
  for (let i = 0; i < values.length; i += 1) {
    const code = view.getInt16(2 * i, true);
    values[i] = code === -32768 ? NaN : middle + (half * code) / 32767;
  }
  return values;
}

const largest = (values) => values.reduce((most, v) => Math.max(most, Math.abs(v) || 0), 0);

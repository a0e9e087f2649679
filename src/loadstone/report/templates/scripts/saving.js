"use strict";
// Figures as SVG and PNG, tables as CSV: files that need nothing of this page.

const PAINT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity"];
const TYPE = ["font-family", "font-size", "font-weight", "text-anchor"];

// Colours are variables of this page, so that each element is given its own.
function svgText(svg) {
  const copy = svg.cloneNode(true);
  const [width, height] = svg.getAttribute("viewBox").split(" ").slice(2);
  const own = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((made, i) => {
    const style = getComputedStyle(own[i]);
    for (const name of made.tagName === "text" ? [...PAINT, ...TYPE] : PAINT) made.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "data-tip", "tabindex"]) made.removeAttribute(name);
  });
  for (const [name, value] of Object.entries({ xmlns: SVG, width, height })) copy.setAttribute(name, value);
  const paper = document.createElementNS(SVG, "rect");
  const fill = getComputedStyle(document.body).backgroundColor;
  for (const [name, value] of Object.entries({ width, height, fill })) paper.setAttribute(name, value);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

async function pngOf(svg, scale = 2) {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await picture.decode();
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [picture.width * scale, picture.height * scale];
  const pen = sheet.getContext("2d");
  pen.scale(scale, scale);
  pen.drawImage(picture, 0, 0);
  return new Promise((done) => { sheet.toBlob(done, "image/png"); });
}

function download(name, content) {
  const link = node(document.body, "a", { download: name, class: "hidden", href: URL.createObjectURL(content) });
  link.click();
  setTimeout(() => { URL.revokeObjectURL(link.href); link.remove(); }, 1000);
  say(`Saved ${name}`);
}

const fileName = (name, ending) => `${name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")}.${ending}`;
const saveSvg = (svg, name) => download(fileName(name, "svg"), new Blob([svgText(svg)], { type: "image/svg+xml" }));
const savePng = async (svg, name) => download(fileName(name, "png"), await pngOf(svg));

// A spreadsheet would run text that begins like a formula: an apostrophe keeps it text.
const neutral = (text) => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text);
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = neutral(String(value));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
const csvText = (lines) => `${lines.map((line) => line.map(csvCell).join(",")).join("\r\n")}\r\n`;
// The mark at the start tells spreadsheets that the text is UTF-8.
const saveCsv = (lines, name) => download(fileName(name, "csv"), new Blob(["\ufeff", csvText(lines)], { type: "text/csv" }));

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages opened from a file may not use the clipboard directly.
    const area = node(document.body, "textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

const tabbed = (lines) => lines.map((line) => line.map((cell) => (typeof cell === "string" ? neutral(cell.replace(/[\t\r\n]+/g, " ")) : cell ?? "")).join("\t")).join("\n");

// Buttons that copy a table or save it; `lines` is asked when they are pressed.
function tableTools(holder, lines, name) {
  button(holder, "Copy table", async () => {
    told.textContent = (await copyText(tabbed(lines()))) ? "Copied" : "Select the table and copy it by hand";
  }, { class: "copy", "aria-label": `Copy table: ${name}` });
  button(holder, "CSV", () => saveCsv(lines(), name), { class: "csv", "aria-label": `Save table as CSV: ${name}` });
  const told = node(holder, "span", { class: "quiet copied", role: "status" });
}

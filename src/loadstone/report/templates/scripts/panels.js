"use strict";
// A panel is one file in panels/: it says where it belongs, what it needs and what it redraws for.
// { name, order, section, title, caption, hint, needs(page), uses: [state], tools(holder, page), draw(holder, page) }
const PANELS = [];
const addPanel = (panel) => PANELS.push(panel);

function saveButtons(holder, svgOf, name) {
  const tools = node(holder, "span", { class: "save" });
  button(tools, "SVG", () => saveSvg(svgOf(), name), { class: "svg", "aria-label": `Save as SVG: ${name}` });
  button(tools, "PNG", () => savePng(svgOf(), name), { class: "png", "aria-label": `Save as PNG: ${name}` });
}

function makePanel(page, panel) {
  const section = byId(`section-${panel.section}`);
  section.hidden = false;
  const home = section.querySelector(".figures");
  const figure = node(home, "figure", { class: `figure ${panel.wide ? "wide" : ""}`, id: `figure-${panel.name}` });
  const head = node(figure, "div", { class: "figure-head" });
  node(head, "h3", { id: `title-${panel.name}` }, panel.title);
  figure.setAttribute("aria-labelledby", `title-${panel.name}`);
  if (!panel.cards) saveButtons(head, () => figure.querySelector("svg"), panel.title);
  if (panel.tools) panel.tools(node(figure, "div", { class: "tools" }), page);
  const holder = node(figure, "div", { class: panel.cards ? "cards" : "chart", id: panel.name });
  if (panel.below) panel.below(node(figure, "div", { class: "below" }), page);
  const caption = node(figure, "figcaption");
  const text = node(caption, "span");
  const hint = node(caption, "span", { class: "unprinted" });
  const told = (words) => (typeof words === "function" ? words(page) : words) || "";
  const draw = () => {
    panel.draw(holder, page);
    text.textContent = told(panel.caption);
    hint.textContent = told(panel.hint) && ` ${told(panel.hint)}`;
    caption.hidden = !text.textContent && !hint.textContent;
  };
  page.watch(panel.uses || [], draw);
}

// Several small charts under one heading, each with a title, and buttons of its own.
// Entries: { title, dot, text, draw(chart) }.
function cards(holder, entries) {
  holder.replaceChildren();
  const waiting = entries.map((entry) => {
    const card = node(holder, "div", { class: "card" });
    const head = node(card, "div", { class: "figure-head" });
    const title = node(head, "h4");
    if (entry.dot !== undefined) node(title, "span", { class: `dot c${entry.dot % 8}`, "aria-hidden": "true" });
    title.append(entry.title);
    saveButtons(head, () => card.querySelector("svg"), entry.title);
    if (entry.text) node(card, "p", { class: "quiet" }, entry.text);
    return [node(card, "div", { class: "chart" }), entry];
  });
  // Only now is every card as wide as it will be.
  waiting.forEach(([chart, entry]) => entry.draw(chart));
}

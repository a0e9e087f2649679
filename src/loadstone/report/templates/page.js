"use strict";
(() => {
  const data = JSON.parse(byId("data").textContent);
  const shown = new Set(data.components.map((_, j) => j));
  const hiddenClasses = new Set();
  const axes = { across: 0, up: Math.min(1, data.components.length - 1) };
  let chosen = 0;

  const rows = data.components.flatMap((component, j) => component.loadings.map((l) => ({
    component: component.component, feature: l.feature, group: l.group, loading: l.loading, shown: () => shown.has(j),
  })));
  const grouped = rows.some((row) => row.group !== undefined);
  const table = sortableTable(byId("loadings"), [
    { title: "component", key: "component" },
    { title: "feature", key: "feature" },
    ...(grouped ? [{ title: "group", key: "group" }] : []),
    { title: "loading", key: "loading", number: true, write: (v) => v.toFixed(4) },
  ], rows);

  function drawPanels() {
    const panels = byId("panels");
    panels.replaceChildren();
    const waiting = [];
    data.components.forEach((component, j) => {
      if (!shown.has(j)) return;
      const panel = node(panels, "div", { class: "panel" });
      const title = node(panel, "h3");
      node(title, "span", { class: `dot c${j % 8}`, "aria-hidden": "true" });
      title.append(`Component ${component.component}`);
      const share = component.explained_variance_ratio === null ? "" : `${asPercent(component.explained_variance_ratio)} of the variance, `;
      node(panel, "p", { class: "quiet", style: "margin:0 0 .5rem" }, `${share}${component.n_nonzero} features`);
      waiting.push([node(panel, "div", { class: "chart" }), component, j]);
    });
    // Only now is every panel as wide as it will be.
    waiting.forEach((panel) => drawLoadings(...panel));
  }

  function toggles(holder, entries, isOn, flip, after) {
    entries.forEach(([text, key, dot]) => {
      const button = node(holder, "button", { type: "button", "aria-pressed": String(isOn(key)) });
      if (dot !== null) node(button, "span", { class: `dot c${dot % 8}`, "aria-hidden": "true" });
      button.append(text);
      button.addEventListener("click", () => {
        flip(key);
        button.setAttribute("aria-pressed", String(isOn(key)));
        after();
      });
    });
  }

  function count() {
    byId("found").textContent = `${table.filter(byId("search").value)} of ${rows.length} loadings`;
  }

  function drawChosen() {
    const path = data.path;
    drawPath(byId("path"), path, chosen);
    byId("size-text").textContent = pathSentence(path, chosen);
    byId("size").setAttribute("aria-valuetext", `${path.n_nonzeros[chosen]} features`);
    if (!path.features) return;
    const names = path.features[chosen];
    const more = path.n_nonzeros[chosen] - names.length;
    byId("size-names").textContent = names.join(", ") + (more > 0 ? ` and ${more} more` : "");
  }

  function drawPoints() { drawScores(byId("scores"), data, axes.across, axes.up, hiddenClasses); }

  function chooser(label, key) {
    const holder = node(byId("axes"), "label", {}, `${label} `);
    const select = node(holder, "select", { "aria-label": `${label} axis` });
    data.components.forEach((c, j) => {
      const option = node(select, "option", { value: j }, `component ${c.component}`);
      option.selected = j === axes[key];
    });
    select.addEventListener("change", () => { axes[key] = Number(select.value); drawPoints(); });
  }

  function drawAll() {
    if (data.components.length) drawVariance(byId("variance"), data);
    drawPanels();
    if (data.path) drawChosen();
    if (data.scores && data.components.length) drawPoints();
  }

  if (data.components.length > 1) {
    toggles(byId("toggles"), data.components.map((c, j) => [`Component ${c.component}`, j, j]),
      (j) => shown.has(j), (j) => (shown.has(j) ? shown.delete(j) : shown.add(j)), () => { drawPanels(); count(); });
  }
  if (data.scores && data.components.length) {
    if (data.components.length > 1) { chooser("across", "across"); chooser("up", "up"); }
    const kinds = data.scores.labels ? [...new Set(data.scores.labels)].sort() : [];
    if (kinds.length > 1 && kinds.length <= 40) {
      toggles(byId("classes"), kinds.map((kind, i) => [kind, kind, kinds.length > 8 ? null : i]), (kind) => !hiddenClasses.has(kind),
        (kind) => (hiddenClasses.has(kind) ? hiddenClasses.delete(kind) : hiddenClasses.add(kind)), drawPoints);
    }
  }
  if (data.path) {
    const first = data.components.length ? data.components[0].n_nonzero : 1;
    const nearest = (best, k, i) => (Math.abs(k - first) < Math.abs(data.path.n_nonzeros[best] - first) ? i : best);
    chosen = data.path.n_nonzeros.reduce(nearest, 0);
    byId("size").value = String(chosen);
    byId("size").addEventListener("input", (event) => { chosen = Number(event.target.value); drawChosen(); });
  }
  if (grouped) byId("search").placeholder = "feature or group";
  byId("search").addEventListener("input", count);
  byId("copy").addEventListener("click", async () => {
    const done = await copyText(table.asText());
    byId("copied").textContent = done ? "Copied" : "Select the table and copy it by hand";
  });
  const theme = byId("theme");
  const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const tell = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Switch to ${theme.textContent.toLowerCase()} colours`); };
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; tell(); });
  tell();

  count();
  drawAll();
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
  document.documentElement.dataset.ready = "yes";
})();

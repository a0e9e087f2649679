"use strict";

const MOST_BARS = 25;

function loadingsCard(page, component, j) {
  const shown = component.loadings.slice(0, MOST_BARS);
  const left = component.n_nonzero - shown.length;
  const share = component.explained_variance_ratio === null ? "" : `${asPercent(component.explained_variance_ratio)} of the variance, `;
  const places = page.data.features ? page.data.features.order[j] : [];
  return {
    title: `Component ${component.component}`, dot: j, text: `${share}${plural(component.n_nonzero, "feature")}`,
    draw: (chart) => bars(chart, shown.map((l, i) => ({
      name: l.feature, value: l.loading, fill: colour(j), tip: `${l.feature}: ${asNumber(l.loading)}`, act: page.featureAct(places[i] ?? -1),
    })), {
      label: `Bar chart of the loadings of component ${component.component}: ${shown.slice(0, 10).map((l) => `${l.feature} ${asNumber(l.loading)}`).join(", ")}`,
      write: (v) => v.toFixed(3), more: left > 0 ? `and ${left} more in the table` : "",
    }),
  };
}

addPanel({
  name: "bars", order: 20, section: "loadings", title: "Loadings", cards: true, wide: true,
  needs: () => true, uses: ["shown"],
  hint: (page) => (page.hasValues ? "Choose a bar to colour the samples by its feature." : ""),
  tools(holder, page) {
    holder.id = "toggles";
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", "Components shown");
    const { shown } = page.state;
    if (page.summary.components.length < 2) return;
    page.summary.components.forEach((c, j) => toggle(holder, `Component ${c.component}`, () => shown.has(j), () => {
      if (shown.has(j)) shown.delete(j); else shown.add(j);
      page.change({ shown });
    }, node(null, "span", { class: `dot c${j % 8}`, "aria-hidden": "true" })));
  },
  draw(holder, page) {
    cards(holder, page.summary.components.map((c, j) => loadingsCard(page, c, j)).filter((_, j) => page.state.shown.has(j)));
  },
});

addPanel({
  name: "loadings-table", order: 29, section: "loadings", title: "Table of loadings", cards: true,
  needs: () => true, uses: [],
  draw(holder, page) {
    if (holder.firstChild) return;
    holder.className = "";
    const rows = page.summary.components.flatMap((component, j) => component.loadings.map((l, i) => ({
      j, component: component.component, feature: l.feature, group: l.group, loading: l.loading, place: page.data.features ? page.data.features.order[j][i] ?? -1 : -1,
    })));
    const grouped = rows.some((row) => row.group !== undefined);
    const tools = node(holder, "div", { class: "tools" });
    const search = node(node(tools, "label", {}, "Search "), "input", { type: "search", id: "search", autocomplete: "off", placeholder: grouped ? "feature or group" : "feature name" });
    const found = node(tools, "span", { id: "found", class: "quiet", "aria-live": "polite" });
    const matches = (text) => text.toLowerCase().includes(search.value.trim().toLowerCase());
    const scroll = node(null, "div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Table of loadings" });
    const table = sortableTable(node(scroll, "table", { id: "loadings", class: "sortable" }), [
      { title: "component", key: "component" },
      { title: "feature", key: "feature" },
      ...(grouped ? [{ title: "group", key: "group" }] : []),
      { title: "loading", key: "loading", number: true, write: (v) => v.toFixed(4) },
    ], rows, (row) => page.state.shown.has(row.j) && (matches(row.feature) || matches(row.group || "")));
    tableTools(tools, table.lines, "loadings");
    holder.append(scroll);
    const count = () => { found.textContent = `${table.draw()} of ${plural(rows.length, "loading")}`; };
    search.addEventListener("input", count);
    page.watch(["shown"], count);
    count();
    // Bars already show everything where there is little: paper is not wasted on it.
    if (page.summary.components.every((c) => c.loadings.length <= MOST_BARS)) byId("figure-loadings-table").classList.add("unprinted");
  },
});

"use strict";

function pathSentence(path, i) {
  const value = path.values[i];
  const parts = [`${path.n_nonzeros[i]} features: variance ${asNumber(value)}`];
  if (path.pca_variance) parts.push(`${asPercent(value / path.pca_variance)} of PCA's first component`);
  if (path.recovered) parts.push(`recovers ${asPercent(path.recovered[i])} of all features' variance`);
  const bound = path.upper_bounds && path.upper_bounds[i];
  if (bound) parts.push(`no ${path.n_nonzeros[i]} features can reach more than ${asNumber(bound)}`);
  return parts.join(", ");
}

addPanel({
  name: "path", order: 60, section: "path", title: "Variance over the number of features", wide: true,
  needs: (page) => Boolean(page.summary.path), uses: ["size"],
  caption: ({ summary: { path } }) => `The first component, against the number of features it may use${path.pca_variance ? ": as a share of PCA's first component" : ""}.${path.upper_bounds ? " The band reaches up to what is proven: nothing lies above it." : ""}`,
  draw(holder, { summary: { path }, state }) {
    const sizes = path.n_nonzeros;
    const best = path.pca_variance || 1;
    const shares = path.values.map((v) => v / best);
    const bounds = path.upper_bounds && path.upper_bounds.map((b) => (b === null ? null : path.pca_variance ? Math.min(b / best, 1) : b));
    const recovered = path.recovered && path.pca_variance && path.pca_recovered ? path.recovered.map((r) => r / path.pca_recovered) : null;
    const log = sizes.at(-1) > 50 * sizes[0];
    const ticks = log ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000].filter((k) => k >= sizes[0] && k <= sizes.at(-1))
      : niceTicks(sizes[0], sizes.at(-1), Math.min(sizes.at(-1) - sizes[0], 12)).filter(Number.isInteger);
    const most = path.pca_variance ? 1 : Math.max(...shares, ...(bounds || []).map((b) => b || 0), 1e-12);
    const area = plane(holder, {
      height: 300, top: 34, x: [sizes[0], sizes.at(-1)], y: [0, most], log, xTicks: ticks, xWrite: (k) => `${k}`, xName: "features in the component",
      yWrite: path.pca_variance ? (t) => `${Math.round(100 * t)} %` : asNumber,
      label: `Line chart: variance of the first component over ${sizes.length} numbers of features, from ${pathSentence(path, 0)} to ${pathSentence(path, sizes.length - 1)}`,
    });
    const line = (values) => sizes.map((k, i) => [area.x(k), area.y(values[i])]);
    if (bounds) {
      const known = sizes.map((_, i) => i).filter((i) => bounds[i] !== null);
      const edge = (values) => known.map((i) => [area.x(sizes[i]), area.y(values[i])]);
      band(area.svg, edge(bounds), edge(shares), { fill: "var(--band)" });
    }
    if (recovered) curve(area.svg, line(recovered), { stroke: "var(--c1)", "stroke-width": 2, "stroke-dasharray": "5 3" });
    curve(area.svg, line(shares), { stroke: "var(--c0)", "stroke-width": 2 });
    sizes.forEach((k, i) => mark(area.svg, "circle", { cx: area.x(k), cy: area.y(shares[i]), r: i === state.size ? 7 : sizes.length > 60 ? 2 : 3.5, fill: i === state.size ? "var(--c1)" : "var(--c0)" },
      pathSentence(path, i), () => { byId("size").value = String(i); byId("size").dispatchEvent(new Event("input")); }));
    legend(area.svg, area.left, 14, [["variance", "var(--c0)", "line"], ...(recovered ? [["recovered of all features", "var(--c1)", "dashed"]] : []), ...(bounds ? [["proven bound", "var(--band)"]] : [])], area.right - area.left);
  },
  below(holder, page) {
    const { path, components } = page.summary;
    const first = components.length ? components[0].n_nonzero : 1;
    const nearest = (best, k, i) => (Math.abs(k - first) < Math.abs(path.n_nonzeros[best] - first) ? i : best);
    page.state.size = path.n_nonzeros.reduce(nearest, 0);
    const slider = node(holder, "div", { class: "slider" });
    node(slider, "label", { for: "size" }, "Features in the component");
    const input = node(slider, "input", { type: "range", id: "size", min: 0, max: path.n_nonzeros.length - 1, step: 1 });
    input.value = String(page.state.size);
    const text = node(slider, "output", { id: "size-text", for: "size" });
    const names = node(holder, "p", { id: "size-names", class: "names" });
    const tell = () => {
      const { size } = page.state;
      text.textContent = pathSentence(path, size);
      input.setAttribute("aria-valuetext", `${path.n_nonzeros[size]} features`);
      if (!path.features) return;
      const more = path.n_nonzeros[size] - path.features[size].length;
      names.textContent = path.features[size].join(", ") + (more > 0 ? ` and ${more} more` : "");
    };
    input.addEventListener("input", () => page.change({ size: Number(input.value) }));
    page.watch(["size"], tell);
    const tools = node(holder, "div", { class: "tools" });
    const titles = ["features", "variance", ...(path.recovered ? ["recovered"] : []), ...(path.upper_bounds ? ["bound"] : [])];
    tableTools(tools, () => [titles, ...path.n_nonzeros.map((k, i) => [k, path.values[i], ...(path.recovered ? [path.recovered[i]] : []), ...(path.upper_bounds ? [path.upper_bounds[i]] : [])])], "path");
  },
});

"use strict";

const MOST_ARROWS = 30;

function arrow(svg, x0, y0, x1, y1, attributes) {
  node(svg, "line", { x1: x0, y1: y0, x2: x1, y2: y1, ...attributes });
  const turn = Math.atan2(y1 - y0, x1 - x0);
  const wing = (side) => `${(x1 - 8 * Math.cos(turn + side)).toFixed(1)} ${(y1 - 8 * Math.sin(turn + side)).toFixed(1)}`;
  node(svg, "path", { d: `M${wing(0.4)}L${x1.toFixed(1)} ${y1.toFixed(1)}L${wing(-0.4)}`, fill: "none", ...attributes });
}

// Features with a value on one of the two axes, the longest arrows first.
function arrowsOf(page, entries, most) {
  const { across, up } = page.state;
  return entries.map((row, k) => ({ k, a: row[across], b: row[up], name: page.data.features.names[k], loadings: page.data.features.loadings[k] }))
    .filter(({ loadings }) => loadings[across] !== 0 || loadings[up] !== 0)
    .sort((p, q) => Math.hypot(q.a, q.b) - Math.hypot(p.a, p.b)).slice(0, most);
}

function drawArrows(page, area, arrows, scale, tipOf) {
  const [x0, y0] = [area.x(0), area.y(0)];
  const label = [];
  for (const { k, a, b, name } of arrows) {
    const [x1, y1] = [area.x(a * scale), area.y(b * scale)];
    const chosen = page.state.feature === k;
    const act = page.featureAct(k);
    arrow(area.svg, x0, y0, x1, y1, { stroke: "var(--ink)", "stroke-width": chosen ? 2.6 : 1.3, "stroke-opacity": 0.85 });
    mark(area.svg, "circle", { cx: x1, cy: y1, r: 6, class: "arrow-end", fill: "transparent" }, tipOf({ a, b, name }), act);
    label.push({ x: x1, y: y1, dx: x1 - x0, dy: y1 - y0, text: name, act });
  }
  return placeLabels(area, label);
}

addPanel({
  name: "biplot", order: 44, section: "samples", title: "Biplot",
  needs: (page) => Boolean(page.summary.scores && page.data.features) && page.summary.components.length > 1,
  uses: ["across", "up", "hidden", "feature", "sample"],
  caption: (page) => `Samples, and an arrow for each selected feature along its correlations with the scores.`,
  hint: (page) => (page.lostInBiplot ? `${plural(page.lostInBiplot, "name")} would cover others: point at an arrow's end.` : ""),
  draw(holder, page) {
    const { across, up } = page.state;
    const places = positions(page);
    const all = arrowsOf(page, page.data.features.correlations, Infinity);
    const arrows = all.slice(0, MOST_ARROWS);
    const span = (k) => extent(places.map((p) => p[k]).concat(0));
    const [x, y] = [span(0), span(1)];
    const reach = (values, [low, high]) => Math.min(...values.filter((v) => v !== 0).map((v) => (v > 0 ? high : low) / v), Infinity);
    // As long as fits beside the samples, and the same for both axes: directions stay true.
    const scale = 0.92 * Math.min(reach(arrows.map((p) => p.a), x.map((v) => v * 1.1)), reach(arrows.map((p) => p.b), y.map((v) => v * 1.1)));
    const area = plane(holder, {
      height: heightOf(holder, 0.85, 300, 460), x: x.map((v) => v * 1.15), y: y.map((v) => v * 1.15),
      xName: scoreName(across), yName: scoreName(up), label: `Biplot of ${places.length} samples with arrows for ${arrows.slice(0, 12).map((p) => p.name).join(", ")}`,
    });
    drawSamples(page, area, places, (i) => sampleTip(page, i), { "fill-opacity": 0.35 });
    const lost = drawArrows(page, area, arrows, Number.isFinite(scale) ? scale : 1, ({ a, b, name }) => `${name}: correlations ${a.toFixed(2)}, ${b.toFixed(2)}`);
    page.lostInBiplot = lost + all.length - arrows.length;
  },
});

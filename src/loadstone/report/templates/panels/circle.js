"use strict";

addPanel({
  name: "circle", order: 28, section: "loadings", title: "Correlation circle",
  needs: (page) => Boolean(page.data.features) && page.summary.components.length > 1, uses: ["across", "up", "feature"],
  caption: (page) => `Correlation of each selected feature with the scores of components ${page.state.across + 1} and ${page.state.up + 1}; the circle is 1.`,
  hint: (page) => (page.lostInCircle ? `${plural(page.lostInCircle, "name")} would cover others: point at an arrow's end.` : ""),
  draw(holder, page) {
    const { across, up } = page.state;
    const all = arrowsOf(page, page.data.features.correlations, Infinity);
    const arrows = all.slice(0, 2 * MOST_ARROWS);
    const area = plane(holder, {
      height: heightOf(holder, 0.85, 290, 440), x: [-1.12, 1.12], y: [-1.12, 1.12], equal: true,
      xName: `correlation with component ${across + 1}`, yName: `with component ${up + 1}`,
      label: `Correlation circle: ${arrows.slice(0, 10).map((p) => `${p.name} ${asNumber(p.a)}, ${asNumber(p.b)}`).join("; ")}`,
    });
    node(area.svg, "circle", { cx: area.x(0), cy: area.y(0), r: area.x(1) - area.x(0), fill: "none", stroke: "var(--quiet)" });
    const lost = drawArrows(page, area, arrows, 1, ({ a, b, name }) => `${name}: correlations ${a.toFixed(2)}, ${b.toFixed(2)}`);
    page.lostInCircle = lost + all.length - arrows.length;
  },
});

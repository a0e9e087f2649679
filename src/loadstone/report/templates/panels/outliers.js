"use strict";

addPanel({
  name: "outliers", order: 46, section: "samples", title: "Outliers",
  needs: (page) => Boolean(page.data.distances), uses: ["hidden", "sample", "feature"],
  caption: ({ data }) => `To the right: unusual in what the components show. Above: unusual in what they leave out. Lines at 97.5 % of ordinary samples; ${plural(data.distances.n_beyond, "sample")} beyond one.`,
  draw(holder, page) {
    const { distances } = page.data;
    const { names } = page.summary.scores;
    const places = distances.score.map((s, i) => [s, distances.orthogonal[i]]);
    const area = plane(holder, {
      height: heightOf(holder, 0.7, 290, 400),
      x: [0, extent([...distances.score, distances.score_limit])[1]], y: [0, extent([...distances.orthogonal, distances.orthogonal_limit])[1] || 1],
      xName: "score distance", yName: "orthogonal distance", label: `Outlier map: ${distances.n_beyond} of ${page.summary.data.n_samples} samples beyond a limit`,
    });
    const [sx, sy] = [area.x(distances.score_limit), area.y(distances.orthogonal_limit)];
    const dash = { stroke: "var(--quiet)", "stroke-dasharray": "5 4" };
    node(area.svg, "line", { x1: sx, x2: sx, y1: area.top, y2: area.bottom, ...dash });
    node(area.svg, "line", { x1: area.left, x2: area.right, y1: sy, y2: sy, ...dash });
    drawSamples(page, area, places, (i) => sampleTip(page, i, `: score distance ${asNumber(places[i][0])}, orthogonal ${asNumber(places[i][1])}`));
    const beyond = ([s, o]) => Math.max(s / distances.score_limit, distances.orthogonal_limit ? o / distances.orthogonal_limit : 0);
    const far = places.map((p, i) => ({ i, p, by: beyond(p) })).filter(({ i, by }) => by > 1 && page.isShown(i)).sort((a, b) => b.by - a.by).slice(0, 8);
    placeLabels(area, far.map(({ i, p }) => ({ x: area.x(p[0]), y: area.y(p[1]), dx: 1, dy: -0.6, text: names[i] })));
  },
  below(holder, page) {
    const { distances } = page.data;
    const rows = distances.score.map((score, i) => ({ sample: page.summary.scores.names[i], score, orthogonal: distances.orthogonal[i], i }))
      .filter((row) => row.score > distances.score_limit || row.orthogonal > distances.orthogonal_limit);
    if (!rows.length) return;
    const details = node(holder, "details", { class: "unprinted" });
    node(details, "summary", {}, `Table of ${plural(rows.length, "outlier")}`);
    const tools = node(details, "div", { class: "tools" });
    const scroll = node(details, "div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Table of outliers" });
    const table = sortableTable(node(scroll, "table", { class: "sortable" }), [
      { title: "sample", key: "sample", act: page.hasValues ? (row) => page.chooseSample(row.i) : undefined },
      { title: "score distance", key: "score", number: true, write: asNumber },
      { title: "orthogonal distance", key: "orthogonal", number: true, write: asNumber },
    ], rows, () => true);
    tableTools(tools, table.lines, "outliers");
    table.draw();
  },
});

"use strict";

addPanel({
  name: "spectrum", order: 34, section: "pictures", title: "Mean, and where components look", wide: true,
  needs: (page) => Boolean(page.data.curves), uses: ["shown"],
  caption: ({ data }) => `Mean of the samples${data.curves.deviation ? " with one standard deviation to each side" : ""}; ticks mark the selected features in the colours of their components.`,
  draw(holder, page) {
    const { axis, names, mean, deviation, sparse } = page.data.curves;
    const middle = unpacked(mean);
    const spread = deviation ? unpacked(deviation) : middle.map(() => 0);
    const [upper, lower] = [1, -1].map((way) => [...middle.map((v, i) => v + way * spread[i])]);
    const shown = sparse.map((one, j) => ({ j, values: unpacked(one) })).filter(({ j }) => page.state.shown.has(j));
    const room = 14 * shown.length;
    const rows = shown.map(({ j }) => `component ${j + 1}`);
    const area = plane(holder, { height: 250 + room, top: room + 12, rows, x: extent(axis, 0), y: extent([...upper, ...lower]), label: `Mean of the samples over ${axis.length} features` });
    const along = (values) => axis.map((a, i) => [area.x(a), area.y(values[i])]);
    if (deviation) band(area.svg, along(upper), along(lower), { fill: "var(--band)" });
    curve(area.svg, along(middle), { stroke: "var(--ink)", "stroke-width": 1.5 });
    shown.forEach(({ j, values }, at) => {
      values.forEach((v, i) => {
        if (v) mark(area.svg, "rect", { x: area.x(axis[i]) - 1.5, y: 6 + 14 * at, width: 3, height: 11, fill: colour(j) }, `${names[i]}, component ${j + 1}: ${asNumber(v)}`);
      });
      node(area.svg, "text", { x: area.left - 8, y: 16 + 14 * at, "text-anchor": "end", class: "soft row" }, rows[at]);
    });
  },
});

addPanel({
  name: "curves", order: 36, section: "pictures", title: "Components as curves", cards: true, wide: true,
  needs: (page) => Boolean(page.data.curves), uses: ["shown"],
  caption: "Loadings along the axis: stems of the selected features, and the curve of the principal component that is followed, scaled to the same height.",
  draw(holder, page) {
    const { axis, names, sparse, plain, follows } = page.data.curves;
    cards(holder, sparse.map((one, j) => ({
      title: `Component ${j + 1}`, dot: j,
      draw: (chart) => {
        const values = unpacked(one);
        const other = plain ? unpacked(plain[j]) : null;
        // Many small loadings and few large ones: each is drawn as high as its largest.
        const unit = [largest(values) || 1, other ? largest(other) || 1 : 1];
        const area = plane(chart, { height: 210, legend: [["sparse", colour(j)], ...(other ? [[`PCA ${follows[j]}, scaled`, "var(--pca)", "line"]] : [])], x: extent(axis, 0), y: extent([0, ...values, ...(other ? other.map((v) => (v * unit[0]) / unit[1]) : [])]), label: `Loadings of component ${j + 1} along the axis` });
        if (other) curve(area.svg, axis.map((a, i) => [area.x(a), area.y((other[i] * unit[0]) / unit[1])]), { stroke: "var(--pca)", "stroke-width": 1.5 });
        node(area.svg, "line", { x1: area.left, x2: area.right, y1: area.y(0), y2: area.y(0), stroke: "var(--quiet)" });
        values.forEach((v, i) => {
          if (!v) return;
          const [x, y] = [area.x(axis[i]), area.y(v)];
          node(area.svg, "line", { x1: x, x2: x, y1: area.y(0), y2: y, stroke: colour(j), "stroke-width": 1.5 });
          mark(area.svg, "circle", { cx: x, cy: y, r: 3.2, fill: colour(j) }, `${names[i]}: ${asNumber(v)}${other ? `, PCA ${asNumber(other[i])}` : ""}`);
        });
      },
    })).filter((_, j) => page.state.shown.has(j)));
  },
});

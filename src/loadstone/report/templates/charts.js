"use strict";

function yAxis(svg, ticks, place, left, right, write) {
  for (const t of ticks) {
    node(svg, "line", { x1: left, x2: right, y1: place(t), y2: place(t), stroke: "var(--grid)" });
    node(svg, "text", { x: left - 8, y: place(t) + 4, "text-anchor": "end", class: "soft" }, write(t));
  }
}

function legend(svg, x, y, entries) {
  for (const [text, fill] of entries) {
    node(svg, "rect", { x, y: y - 10, width: 11, height: 11, fill, rx: 2 });
    node(svg, "text", { x: x + 17, y }, text);
    x += 30 + 6.6 * text.length;
  }
}

function drawVariance(holder, data) {
  // What is recovered together can be compared with PCA; what each adds alone reads as failure.
  const recovered = data.components.every((c) => c.recovered_ratio !== null);
  const ratios = data.components.map((c) => (recovered ? c.recovered_ratio : c.explained_variance_ratio) || 0);
  const plain = data.pca ? (recovered ? data.pca.recovered_ratio : data.pca.explained_variance_ratio) : [];
  const upTo = (j) => (recovered && j ? `s 1 to ${j + 1}` : ` ${j + 1}`);
  const label = `Bar chart of variance ${recovered ? "recovered" : "explained"}: ` + ratios.map((ratio, j) =>
    `component${upTo(j)} ${asPercent(ratio)}` + (plain.length ? `, PCA ${asPercent(plain[j])}` : "")).join("; ");
  const { svg, width, height } = canvas(holder, 260, label);
  const [left, top, bottom] = [52, 34, height - 30];
  const most = Math.max(...ratios, ...plain, 1e-9);
  const place = (v) => bottom - (v / most) * (bottom - top);
  yAxis(svg, niceTicks(0, most, 4), place, left, width, (t) => `${+(100 * t).toPrecision(3)} %`);
  const group = Math.min((width - left) / ratios.length, 160);
  const bar = Math.min(group * 0.36, 46);
  ratios.forEach((ratio, j) => {
    const middle = left + (j + 0.5) * group;
    const first = plain.length ? middle - bar - 1 : middle - bar / 2;
    node(svg, "rect", { class: "mark", x: first, y: place(ratio), width: bar, height: bottom - place(ratio),
      fill: colour(j), rx: 2, "data-tip": `Component${upTo(j)}: ${asPercent(ratio)} of the variance` });
    if (plain.length) {
      node(svg, "rect", { class: "mark", x: middle + 1, y: place(plain[j]), width: bar, height: bottom - place(plain[j]),
        fill: "var(--pca)", rx: 2, "data-tip": `PCA, component${upTo(j)}: ${asPercent(plain[j])} of the variance with all features` });
    }
    const name = recovered && j ? `1–${j + 1}` : `${j + 1}`;
    node(svg, "text", { x: middle, y: bottom + 20, "text-anchor": "middle" }, name);
  });
  const entries = [["sparse", "var(--c0)"]];
  if (plain.length) entries.push(["PCA, all features", "var(--pca)"]);
  legend(svg, left, 16, entries);
}

const MOST_BARS = 25;

function drawLoadings(holder, component, j) {
  const shown = component.loadings.slice(0, MOST_BARS);
  const left = component.loadings.length - shown.length;
  const label = `Bar chart of the loadings of component ${component.component}: ` +
    shown.slice(0, 10).map((l) => `${l.feature} ${asNumber(l.loading)}`).join(", ");
  const step = 24;
  const { svg, width } = canvas(holder, shown.length * step + (left > 0 ? 24 : 4), label);
  const room = Math.min(width * 0.45, Math.max(...shown.map((l) => l.feature.length), 4) * 7.9 + 8);
  const low = Math.min(0, ...shown.map((l) => l.loading));
  const high = Math.max(0, ...shown.map((l) => l.loading));
  const span = high - low || 1;
  const start = room + 8;
  const across = width - start - 52;
  const place = (v) => start + ((v - low) / span) * across;
  shown.forEach((l, i) => {
    const y = i * step + 3;
    node(svg, "text", { x: room, y: y + 14, "text-anchor": "end" }, fitText(l.feature, room));
    const [a, b] = [Math.min(place(l.loading), place(0)), Math.max(place(l.loading), place(0))];
    node(svg, "rect", { class: "mark", x: a, y, width: Math.max(b - a, 1), height: step - 6, rx: 2,
      fill: colour(j), "data-tip": `${l.feature}: ${asNumber(l.loading)}` });
    node(svg, "text", { x: b + 6, y: y + 14, class: "soft" }, l.loading.toFixed(3));
  });
  node(svg, "line", { x1: place(0), x2: place(0), y1: 0, y2: shown.length * step, stroke: "var(--quiet)" });
  if (left > 0) node(svg, "text", { x: start, y: shown.length * step + 16, class: "soft" }, `and ${left} more in the table`);
}

function drawScores(holder, data, across, up, hidden) {
  const { values, labels, names } = data.scores;
  const kinds = labels ? [...new Set(labels)].sort() : [];
  const label = `Scatter of ${values.length} samples: component ${across + 1} against component ${up + 1}` +
    (kinds.length ? `, coloured by ${kinds.slice(0, 12).join(", ")}` : "");
  const { svg, width, height } = canvas(holder, Math.min(460, Math.max(300, innerHeight * 0.6)), label);
  const single = data.components.length === 1;
  const x = values.map((v, i) => (single ? i : v[across]));
  const y = values.map((v) => v[up]);
  const [left, right, top, bottom] = [62, width - 14, 12, height - 44];
  const scale = (v, a, b) => {
    const [lo, hi] = [Math.min(...v), Math.max(...v)];
    const pad = 0.04 * (hi - lo || 1);
    return { lo: lo - pad, hi: hi + pad, at: (t) => a + ((t - lo + pad) / (hi - lo + 2 * pad)) * (b - a) };
  };
  const [sx, sy] = [scale(x, left, right), scale(y, bottom, top)];
  yAxis(svg, niceTicks(sy.lo, sy.hi, 5), sy.at, left, right, asNumber);
  for (const t of niceTicks(sx.lo, sx.hi, width / 90)) {
    node(svg, "text", { x: sx.at(t), y: bottom + 18, "text-anchor": "middle", class: "soft" }, asNumber(t));
  }
  const many = kinds.length > 8;
  values.forEach((_, i) => {
    const kind = labels ? kinds.indexOf(labels[i]) : 0;
    if (labels && hidden.has(labels[i])) return;
    node(svg, "circle", { class: "mark", cx: sx.at(x[i]), cy: sy.at(y[i]), r: values.length > 800 ? 3 : 4.5,
      fill: many ? "var(--c0)" : colour(kind), "fill-opacity": 0.75,
      "data-tip": `${names[i]}${labels ? ` (${labels[i]})` : ""}: ${asNumber(x[i])}, ${asNumber(y[i])}` });
  });
  node(svg, "text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" },
    single ? "sample" : `score on component ${across + 1}`);
  node(svg, "text", { x: 14, y: (top + bottom) / 2, "text-anchor": "middle",
    transform: `rotate(-90 14 ${(top + bottom) / 2})` }, `score on component ${up + 1}`);
}

function drawPath(holder, path, chosen) {
  const sizes = path.n_nonzeros;
  const bounds = path.upper_bounds;
  const best = path.pca_variance;
  const label = `Line chart: variance of the first component over ${sizes.length} numbers of features, from ` +
    `${sizes[0]} features (${asNumber(path.values[0])}) to ${sizes.at(-1)} (${asNumber(path.values.at(-1))})` +
    (best === null ? "" : `; PCA reaches ${asNumber(best)}`);
  const { svg, width, height } = canvas(holder, 320, label);
  const [left, right, top, bottom] = [62, width - 14, 34, height - 44];
  const log = sizes.at(-1) > 50 * sizes[0];
  const f = (k) => (log ? Math.log10(k) : k);
  const [lo, hi] = [f(sizes[0]), f(sizes.at(-1))];
  const sx = (k) => left + ((f(k) - lo) / (hi - lo || 1)) * (right - left);
  const most = Math.max(...path.values, best || 0, ...(best === null && bounds ? bounds.map((b) => b || 0) : []), 1e-12);
  const sy = (v) => bottom - (Math.min(v, most) / most) * (bottom - top);
  yAxis(svg, niceTicks(0, most, 4), sy, left, right, asNumber);
  const ticks = log ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000]
    .filter((k) => k >= sizes[0] && k <= sizes.at(-1)) : niceTicks(sizes[0], sizes.at(-1), width / 90).filter(Number.isInteger);
  for (const k of ticks) {
    node(svg, "text", { x: sx(k), y: bottom + 18, "text-anchor": "middle", class: "soft" }, `${k}`);
  }
  if (bounds) {
    const known = sizes.map((k, i) => i).filter((i) => bounds[i] !== null);
    const points = [...known.map((i) => `${sx(sizes[i])},${sy(bounds[i])}`),
      ...known.reverse().map((i) => `${sx(sizes[i])},${sy(path.values[i])}`)];
    node(svg, "polygon", { points: points.join(" "), fill: "var(--band)" });
  }
  if (best !== null) {
    node(svg, "line", { x1: left, x2: right, y1: sy(best), y2: sy(best), stroke: "var(--pca)", "stroke-dasharray": "6 4" });
  }
  node(svg, "polyline", { points: sizes.map((k, i) => `${sx(k)},${sy(path.values[i])}`).join(" "),
    fill: "none", stroke: "var(--c0)", "stroke-width": 2 });
  sizes.forEach((k, i) => node(svg, "circle", { class: "mark", cx: sx(k), cy: sy(path.values[i]), r: i === chosen ? 7 : 3.5,
    fill: i === chosen ? "var(--c1)" : "var(--c0)", "data-tip": pathSentence(path, i) }));
  const entries = [["sparse", "var(--c0)"]];
  if (best !== null) entries.push(["PCA, all features", "var(--pca)"]);
  if (bounds) entries.push(["proven bound", "var(--band)"]);
  legend(svg, left, 16, entries);
  node(svg, "text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, "features in the component");
}

function pathSentence(path, i) {
  const value = path.values[i];
  const parts = [`${path.n_nonzeros[i]} features: variance ${asNumber(value)}`];
  if (path.pca_variance) parts.push(`${asPercent(value / path.pca_variance)} of PCA's first component`);
  if (path.recovered) parts.push(`recovers ${asPercent(path.recovered[i])} of all features' variance`);
  const bound = path.upper_bounds && path.upper_bounds[i];
  if (bound) parts.push(`no ${path.n_nonzeros[i]} features can reach more than ${asNumber(bound)}`);
  return parts.join(", ");
}

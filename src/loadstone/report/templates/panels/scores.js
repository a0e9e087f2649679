"use strict";

const pointSize = (n) => (n > 1500 ? 2.4 : n > 400 ? 3.2 : 4.4);
const scoreName = (j) => `score on component ${j + 1}`;

// Where each sample lies on the two axes chosen; a single component is drawn over the samples.
function positions(page) {
  const { values } = page.summary.scores;
  const { across, up } = page.state;
  const single = page.summary.components.length === 1;
  return values.map((v, i) => [single ? i + 1 : v[across], v[up]]);
}

function sampleTip(page, i, more = "") {
  const { names, labels } = page.summary.scores;
  const { feature } = page.state;
  const value = feature === null ? "" : `, ${page.data.features.names[feature]} ${asNumber(page.values(feature)[i])}`;
  return `${names[i]}${labels ? ` (${labels[i] || "unlabelled"})` : ""}${value}${more}`;
}

// The samples as marks, in the colours of their classes or of a feature.
function drawSamples(page, area, places, tipOf, look = "") {
  const fill = page.fills();
  const r = pointSize(places.length);
  places.forEach(([a, b], i) => {
    if (a === null || b === null || !page.isShown(i)) return;
    const chosen = page.state.sample === i;
    point(area.svg, page.kindOf(i), area.x(a), area.y(b), chosen ? r * 1.9 : r,
      { fill: fill(i), class: `sample ${chosen ? "chosen" : look}` }, tipOf(i), page.hasValues ? () => page.chooseSample(i) : undefined);
  });
}

// 95 % of a normal distribution with the mean and covariance of the points.
function ellipse(points) {
  const mean = (k) => points.reduce((sum, p) => sum + p[k], 0) / points.length;
  const [mx, my] = [mean(0), mean(1)];
  const moment = (k, l) => points.reduce((sum, p) => sum + (p[k] - [mx, my][k]) * (p[l] - [mx, my][l]), 0) / (points.length - 1);
  const [a, b, c] = [moment(0, 0), moment(0, 1), moment(1, 1)];
  const root = [Math.sqrt(a), 0, a > 0 ? b / Math.sqrt(a) : 0, 0];
  root[3] = Math.sqrt(Math.max(c - root[2] ** 2, 0));
  return Array.from({ length: 65 }, (_, i) => {
    const [u, v] = [Math.cos((i * Math.PI) / 32) * 2.4477, Math.sin((i * Math.PI) / 32) * 2.4477];
    return [mx + root[0] * u, my + root[2] * u + root[3] * v];
  });
}

function classesOf(page, places) {
  return page.kinds.map((kind, k) => ({ kind, k, points: places.filter((p, i) => page.kindOf(i) === k && page.isShown(i) && p[0] !== null && p[1] !== null) }))
    .filter(({ points }) => points.length > 3);
}

function classLabels(page, area, places) {
  if (page.kinds.length < 2 || page.kinds.length > 24) return;
  placeLabels(area, classesOf(page, places).map(({ kind, points }) => {
    const middle = (k) => [...points.map((p) => p[k])].sort((a, b) => a - b)[Math.floor(points.length / 2)];
    return { x: area.x(middle(0)), y: area.y(middle(1)), dx: 0, dy: -1, text: kind };
  }));
}

function ramplegend(page, area) {
  const { feature } = page.state;
  if (feature === null) return;
  const [low, high] = extent([...page.values(feature)], 0);
  const name = fitText(page.data.features.names[feature], Math.max(60, area.right - area.left - 220));
  node(area.svg, "text", { x: area.left, y: 14 }, name);
  const start = area.left + textWidth(name) + 12;
  node(area.svg, "text", { x: start, y: 14, class: "soft" }, asNumber(low));
  const from = start + textWidth(asNumber(low)) + 6;
  for (let i = 0; i < 10; i += 1) node(area.svg, "rect", { x: from + 8 * i, y: 4, width: 8.5, height: 11, fill: ramp(i / 9) });
  node(area.svg, "text", { x: from + 86, y: 14, class: "soft" }, asNumber(high));
}

addPanel({
  name: "scores", order: 40, section: "samples", title: "Scores",
  needs: (page) => Boolean(page.summary.scores), uses: ["across", "up", "hidden", "feature", "sample", "ellipses"],
  caption: (page) => `Each sample projected on ${page.summary.components.length > 1 ? "two components" : "the component"}.${page.state.ellipses ? " Ellipses hold 95 % of a normal distribution." : ""}`,
  hint: (page) => (page.hasValues ? "Choose a sample to see what makes its score." : ""),
  tools(holder, page) {
    holder.id = "axes";
    const { summary, data, state } = page;
    if (summary.components.length > 1) {
      const entries = summary.components.map((c, j) => [j, `component ${c.component}`]);
      chooser(holder, "Across", entries, state.across, (j) => page.change({ across: Number(j) }));
      chooser(holder, "Up", entries, state.up, (j) => page.change({ up: Number(j) }));
    }
    if (page.hasValues) {
      const entries = [["", page.kinds.length ? "class" : "one colour"], ...data.features.names.map((name, k) => [k, fitText(name, 200)])];
      const select = chooser(holder, "Colour", entries, "", (k) => page.chooseFeature(k === "" ? null : Number(k)));
      select.id = "colour";
      page.watch(["feature"], () => { select.value = state.feature === null ? "" : String(state.feature); });
    }
    if (page.kinds.length > 1) toggle(holder, "Ellipses", () => state.ellipses, () => page.change({ ellipses: !state.ellipses }));
  },
  draw(holder, page) {
    const { state, summary } = page;
    const places = positions(page);
    const single = summary.components.length === 1;
    const ellipses = state.ellipses && !single ? classesOf(page, places).map((one) => ({ ...one, outline: ellipse(one.points) })) : [];
    const within = ellipses.flatMap((one) => one.outline);
    const label = `Scatter of ${places.length} samples: ${single ? "sample" : `component ${state.across + 1}`} against component ${state.up + 1}${page.kinds.length ? `, in classes ${page.kinds.slice(0, 12).join(", ")}` : ""}`;
    const area = plane(holder, {
      height: heightOf(holder, 0.85, 300, 460), label, top: state.feature === null ? 12 : 26,
      x: extent([...places, ...within].map((p) => p[0])), y: extent([...places, ...within].map((p) => p[1])),
      xName: single ? "sample" : scoreName(state.across), yName: scoreName(state.up),
    });
    for (const { k, outline } of ellipses) curve(area.svg, outline.map(([a, b]) => [area.x(a), area.y(b)]), { stroke: colour(k), "stroke-width": 1.5, "stroke-opacity": 0.8 });
    drawSamples(page, area, places, (i) => sampleTip(page, i, `: ${asNumber(places[i][0])}, ${asNumber(places[i][1])}`));
    classLabels(page, area, single ? [] : places);
    ramplegend(page, area);
  },
  below(holder, page) {
    const { state, summary } = page;
    const kinds = [...page.kinds, ...(summary.scores.labels && summary.scores.labels.includes("") ? [""] : [])];
    if (kinds.length < 2 || kinds.length > 60) return;
    const group = node(holder, "div", { class: "toggles", id: "classes", role: "group", "aria-label": "Classes shown" });
    kinds.forEach((kind, at) => {
      const k = kind === "" ? -1 : at;
      const icon = node(null, "svg", { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true", class: "icon" });
      point(icon, k, 7, 7, 4.6, { fill: colour(k) }, kind || "unlabelled");
      toggle(group, fitText(kind || "unlabelled", 220), () => !state.hidden.has(kind), () => {
        if (state.hidden.has(kind)) state.hidden.delete(kind); else state.hidden.add(kind);
        page.change({ hidden: state.hidden });
      }, icon);
    });
  },
});

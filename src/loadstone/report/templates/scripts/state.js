"use strict";
// What is chosen on the page, and who redraws when it changes.

function makePage(data) {
  const { summary } = data;
  const n = summary.components.length;
  const labels = summary.scores && summary.scores.labels;
  const byName = (a, b) => a.localeCompare(b, undefined, { numeric: true });
  const kinds = labels ? [...new Set(labels)].filter((kind) => kind !== "").sort(byName) : [];
  const kindAt = new Map(kinds.map((kind, i) => [kind, i]));
  const cache = new Map();
  const watchers = [];
  const state = {
    across: 0, up: Math.min(1, n - 1), feature: null, sample: null,
    hidden: new Set(), shown: new Set(summary.components.map((_, j) => j)), ellipses: kinds.length > 1 && kinds.length <= 12, size: 0,
  };
  const page = {
    data, summary, state, kinds,
    watch(uses, draw) { watchers.push({ uses, draw }); },
    drawAll() { watchers.forEach(({ draw }) => draw()); },
    change(patch) {
      Object.assign(state, patch);
      const keys = Object.keys(patch);
      watchers.filter(({ uses }) => uses.some((key) => keys.includes(key))).forEach(({ draw }) => draw());
    },
    // Samples without a class are of kind -1.
    kindOf: (i) => (labels ? kindAt.get(labels[i]) ?? -1 : 0),
    isShown: (i) => !labels || !state.hidden.has(labels[i]),
    values(k) {
      if (!cache.has(k)) cache.set(k, unpacked(data.features.values[k]));
      return cache.get(k);
    },
    hasValues: Boolean(data.features && data.features.values),
    chooseFeature(k) {
      page.change({ feature: k });
      say(k === null ? "Samples are coloured by class" : `Samples are coloured by ${data.features.names[k]}`);
    },
    chooseSample(i) { page.change({ sample: i }); say(`Sample ${summary.scores.names[i]} is chosen`); },
    // What a click on a feature does, where its values are in the page.
    featureAct: (k) => (page.hasValues && k >= 0 ? () => page.chooseFeature(state.feature === k ? null : k) : undefined),
    fills() {
      if (state.feature === null) return (i) => colour(page.kindOf(i));
      const values = page.values(state.feature);
      const [low, high] = extent([...values], 0);
      return (i) => ramp((values[i] - low) / (high - low || 1));
    },
  };
  return page;
}

// From little to much, in colours that differ in lightness for every eye.
function ramp(share) {
  if (Number.isNaN(share)) return "var(--line)";
  const style = getComputedStyle(document.documentElement);
  const stops = ["--low", "--mid", "--high"].map((name) => style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map((hex) => parseInt(hex, 16)));
  const at = Math.min(Math.max(share, 0), 1) * 2;
  const [from, to] = at < 1 ? [stops[0], stops[1]] : [stops[1], stops[2]];
  const part = at < 1 ? at : at - 1;
  return `rgb(${from.map((v, i) => Math.round(v + part * (to[i] - v))).join(",")})`;
}

"use strict";

// Which features make the score of a sample: (value - mean) * weight, which add up to it.
function contributions(page, i, j) {
  const { features } = page.data;
  const parts = features.names.map((name, k) => ({ name, k, value: (page.values(k)[i] - features.means[k]) * features.weights[k][j] }))
    .filter((part) => part.value !== 0 && !Number.isNaN(part.value)).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const score = page.summary.scores.values[i][j];
  const shown = parts.slice(0, 12);
  const rest = score - shown.reduce((sum, part) => sum + part.value, 0);
  const more = Math.abs(rest) > 0.01 * (largest(shown.map((part) => part.value)) || 1) ? `all others together: ${asNumber(Number(rest.toPrecision(3)))}` : "";
  return { score, shown, more };
}

addPanel({
  name: "contributions", order: 42, section: "samples", title: "What makes a score", cards: true,
  needs: (page) => page.hasValues && Boolean(page.summary.scores), uses: ["across", "up", "sample"],
  caption: ({ data }) => `Each bar is a feature's distance from its mean${{
    loadings: ", times its loading",
    standardised: " in standard deviations, times its loading",
    model: ", times its weight in the score, for which the model weighs all components",
  }[data.features.weighed_by]}; together they are the score.`,
  hint: ({ state }) => (state.sample === null ? "Choose a sample among the scores; until then, the one farthest out is shown." : ""),
  draw(holder, page) {
    const { summary, state, data } = page;
    byId("figure-contributions").classList.toggle("unprinted", state.sample === null);
    const far = (v) => v.reduce((sum, t) => sum + (t || 0) ** 2, 0);
    const i = state.sample ?? summary.scores.values.reduce((best, v, at, all) => (far(v) > far(all[best]) ? at : best), 0);
    const axes = [...new Set([state.across, state.up])];
    cards(holder, axes.map((j) => {
      const { score, shown, more } = contributions(page, i, j);
      return {
        title: `Sample ${fitText(summary.scores.names[i], 110)} on component ${j + 1}`, dot: j, text: `score ${asNumber(score)}`,
        draw: (chart) => bars(chart, shown.map(({ name, k, value }) => ({
          name, value, fill: colour(j), act: page.featureAct(k),
          tip: `${name} ${asNumber(page.values(k)[i])}, mean ${asNumber(data.features.means[k])}: ${asNumber(value)}`,
        })), {
          step: 21, more, write: (v) => asNumber(Number(v.toPrecision(2))),
          label: `Contributions to the score of ${summary.scores.names[i]} on component ${j + 1}: ${shown.map((p) => `${p.name} ${asNumber(p.value)}`).join(", ")}`,
        }),
      };
    }));
  },
});

"use strict";

// Loadings of PCA are small where there are many features: drawn larger by a round factor, and said.
function roundFactor(sparse, plain) {
  const ratio = (largest(sparse) || 1) / (largest(plain) || 1);
  if (ratio < 2.5) return 1;
  const power = 10 ** Math.floor(Math.log10(ratio));
  return [5, 2, 1].find((m) => m * power <= ratio) * power;
}

function comparisonCard(one, j) {
  const factor = roundFactor(one.sparse, one.plain);
  const share = one.share_inside > 0.1 ? `; the selected features hold ${asPercent(one.share_inside)} of PCA's squared loadings` : "";
  const entries = one.features.map((feature, i) => ({
    name: feature, value: one.sparse[i], other: one.plain[i] * factor, fill: colour(j), soft: one.sparse[i] === 0,
    tip: `${feature}: ${asNumber(one.sparse[i])}`, otherTip: `${feature}, PCA: ${asNumber(one.plain[i])}`,
  }));
  const said = one.features.slice(0, 8).map((feature, i) => `${feature} ${asNumber(one.sparse[i])}, PCA ${asNumber(one.plain[i])}`);
  return {
    title: `Component ${j + 1}, PCA ${one.follows}`, dot: j, text: `r = ${one.correlation.toFixed(2)}${share}`,
    draw: (chart) => bars(chart, entries, {
      quiet: true, step: 21, label: `Loadings of component ${j + 1} beside PCA ${one.follows}: ${said.join("; ")}`,
      legend: [["sparse", colour(j)], [`PCA${factor > 1 ? ` × ${factor}` : ""}`, "var(--pca)", "open"]],
    }),
  };
}

addPanel({
  name: "comparison", order: 25, section: "loadings", title: "Beside PCA", cards: true, wide: true,
  needs: (page) => Boolean(page.data.comparison), uses: ["shown"],
  caption: "Bars are the loadings of a component, open marks those of the principal component whose scores it follows most closely; below the bars, features that only PCA leans on.",
  draw(holder, page) {
    cards(holder, page.data.comparison.components.map(comparisonCard).filter((_, j) => page.state.shown.has(j)));
  },
});

"use strict";

addPanel({
  name: "comparison", order: 25, section: "loadings", title: "Beside PCA", cards: true, wide: true,
  needs: (page) => Boolean(page.data.comparison), uses: ["shown"],
  caption: "Bars are the loadings of a component, open marks those of the principal component whose scores it follows most closely; below the bars, features that only PCA leans on.",
  draw(holder, page) {
    cards(holder, page.data.comparison.components.map((one, j) => ({
      title: `Component ${j + 1}, PCA ${one.follows}`, dot: j,
      text: `r = ${one.correlation.toFixed(2)}; the selected features hold ${asPercent(one.share_inside)} of PCA's squared loadings`,
      draw: (chart) => bars(chart, one.features.map((feature, i) => ({
        name: feature, value: one.sparse[i], other: one.plain[i], fill: colour(j), soft: one.sparse[i] === 0,
        tip: `${feature}: ${asNumber(one.sparse[i])}`, otherTip: `${feature}, PCA: ${asNumber(one.plain[i])}`,
      })), {
        quiet: true, step: 21, legend: [["sparse", colour(j)], ["PCA", "var(--pca)", "open"]],
        label: `Loadings of component ${j + 1} beside PCA ${one.follows}: ${one.features.slice(0, 8).map((f, i) => `${f} ${asNumber(one.sparse[i])}, PCA ${asNumber(one.plain[i])}`).join("; ")}`,
      }),
    })).filter((_, j) => page.state.shown.has(j)));
  },
});

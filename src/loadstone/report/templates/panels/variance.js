"use strict";

// What is recovered together can be compared with PCA; what each adds alone reads as failure.
const isRecovered = ({ summary }) => summary.components.every((c) => c.recovered_ratio !== null);

addPanel({
  name: "variance", order: 10, section: "components", title: "Variance",
  needs: () => true,
  caption: (page) => (isRecovered(page)
    ? "Recovered variance: what a regression on the scores of the first components recovers of all features"
    : "Adjusted variance: what each component adds to those before it") + (page.summary.pca ? ", beside plain PCA on all features." : "."),
  draw(holder, page) {
    const { components, pca } = page.summary;
    const key = isRecovered(page) ? "recovered_ratio" : "explained_variance_ratio";
    const ratios = components.map((c) => c[key] || 0);
    const plain = pca ? pca[key] : [];
    const upTo = (j) => (isRecovered(page) && j ? `s 1 to ${j + 1}` : ` ${j + 1}`);
    const label = `Bar chart of variance: ${ratios.map((ratio, j) =>
      `component${upTo(j)} ${asPercent(ratio)}${plain.length ? `, PCA ${asPercent(plain[j])}` : ""}`).join("; ")}`;
    const most = Math.max(...ratios, ...plain, 1e-9);
    const ticks = niceTicks(0, most, 4);
    const area = plane(holder, { height: 240, label, top: 32, x: [0, 1], y: [0, most], xTicks: [], yTicks: ticks, yWrite: (t) => `${+(100 * t).toPrecision(3)} %` });
    const group = Math.min((area.right - area.left) / ratios.length, 150);
    const wide = Math.min(group * 0.36, 46);
    const bar = (left, ratio, fill, tipText) => mark(area.svg, "rect",
      { x: left, y: area.y(ratio), width: wide, height: area.bottom - area.y(ratio), fill, rx: 2 }, tipText);
    ratios.forEach((ratio, j) => {
      const middle = area.left + (j + 0.5) * group;
      bar(plain.length ? middle - wide - 1 : middle - wide / 2, ratio, colour(j), `Component${upTo(j)}: ${asPercent(ratio)} of the variance`);
      if (plain.length) bar(middle + 1, plain[j], "var(--pca)", `PCA, component${upTo(j)}: ${asPercent(plain[j])} of the variance with all features`);
      if (ratios.length > 20 && (j + 1) % 5) return;
      const name = isRecovered(page) && j && group > 40 ? `1–${j + 1}` : `${j + 1}`;
      node(area.svg, "text", { x: middle, y: area.bottom + 18, "text-anchor": "middle" }, name);
    });
    legend(area.svg, area.left, 14, [["sparse", "var(--c0)"], ...(plain.length ? [["PCA, all features", "var(--pca)"]] : [])]);
  },
});

"use strict";

const MOST_CELLS = 12;
// Colour of a correlation of one: words stay readable on it, in both themes.
const FULL_COLOUR = 0.4;

addPanel({
  name: "correlations", order: 12, section: "components", title: "Scores beside those of PCA",
  needs: ({ summary }) => Boolean(summary.pca) && summary.components.length > 1,
  caption: "Correlation of the scores of each component with those of each principal component.",
  draw(holder, { summary }) {
    const rows = summary.pca.correlation.slice(0, MOST_CELLS).map((row) => row.slice(0, MOST_CELLS));
    const left = 106;
    const wide = Math.min((widthOf(holder) - left - 4) / rows[0].length, 90);
    const tall = Math.min(Math.max(22, 200 / rows.length), 52);
    const { svg } = canvas(holder, 26 + tall * rows.length, `Correlations with PCA: ${summary.pca.followed.map((f, j) => `component ${j + 1} with PCA ${f.component} ${f.correlation.toFixed(2)}`).join("; ")}`);
    rows[0].forEach((_, l) => node(svg, "text", { x: left + (l + 0.5) * wide, y: 16, "text-anchor": "middle", class: "soft" }, wide > 52 ? `PCA ${l + 1}` : `${l + 1}`));
    rows.forEach((row, j) => {
      const y = 24 + j * tall;
      node(svg, "text", { x: left - 8, y: y + tall / 2 + 4, "text-anchor": "end" }, `component ${j + 1}`);
      row.forEach((r, l) => {
        mark(svg, "rect", { x: left + l * wide, y, width: wide - 2, height: tall - 2, rx: 3, fill: colour(j), "fill-opacity": (0.04 + (FULL_COLOUR - 0.04) * Math.abs(r)).toFixed(3) }, `Component ${j + 1} with PCA ${l + 1}: r = ${r.toFixed(3)}`);
        if (wide > 34) node(svg, "text", { x: left + (l + 0.5) * wide - 1, y: y + tall / 2 + 4, "text-anchor": "middle" }, r.toFixed(2));
      });
    });
  },
});

"use strict";

const hexOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map((hex) => parseInt(hex, 16));

// Pixels as a picture; `paint` gives the colour of a value between -1 and 1.
function pixelImage(values, width, height, paint) {
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [width, height];
  const pen = sheet.getContext("2d");
  const image = pen.createImageData(width, height);
  values.forEach((v, i) => image.data.set([...paint(v), 255], 4 * i));
  pen.putImageData(image, 0, 0);
  return sheet.toDataURL();
}

function twoSided() {
  const [zero, up, down] = ["--zero", "--c0", "--c1"].map(hexOf);
  return (share) => {
    const to = share < 0 ? down : up;
    // A root, so that small loadings are not lost beside large ones.
    const part = Math.sqrt(Math.min(Math.abs(share), 1));
    return zero.map((v, i) => Math.round(v + part * (to[i] - v)));
  };
}

function drawImages(chart, pictures, { width, height }, label) {
  const gap = 10;
  const room = widthOf(chart);
  const wide = Math.min((room - gap * (pictures.length - 1)) / pictures.length, 220);
  const tall = (wide * height) / width;
  const { svg } = canvas(chart, tall + 22, label);
  pictures.forEach(({ title, values, most, paint }, at) => {
    const left = at * (wide + gap);
    node(svg, "text", { x: left, y: 14, class: "soft" }, title);
    const made = mark(svg, "image", { x: left, y: 20, width: wide, height: tall, href: pixelImage(values.map((v) => v / (most || 1)), width, height, paint), style: "image-rendering: pixelated", preserveAspectRatio: "none" }, title);
    node(svg, "rect", { x: left, y: 20, width: wide, height: tall, fill: "none", stroke: "var(--line)" });
    made.addEventListener("pointermove", (event) => {
      const box = made.getBoundingClientRect();
      const column = Math.min(width - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * width)));
      const row = Math.min(height - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * height)));
      made.setAttribute("data-tip", `${title}, row ${row + 1}, column ${column + 1}: ${asNumber(values[row * width + column])}`);
      showTip(made);
    });
  });
}

addPanel({
  name: "images", order: 32, section: "pictures", title: "Components as images", cards: true, wide: true,
  needs: (page) => Boolean(page.data.images), uses: ["shown"],
  caption: ({ data }) => `Blue pixels enter with a positive loading, orange ones with a negative one, others not at all.${data.images.n_left_out ? ` ${plural(data.images.n_left_out, "component")} more.` : ""}`,
  draw(holder, page) {
    const { images } = page.data;
    const both = twoSided();
    const entries = images.sparse.map((one, j) => {
      const pictures = [{ title: "sparse", values: unpacked(one), paint: both }];
      if (images.plain) pictures.push({ title: `PCA ${images.follows[j]}`, values: unpacked(images.plain[j]), paint: both });
      pictures.forEach((picture) => { picture.most = largest(picture.values); });
      return { title: `Component ${j + 1}`, dot: j, draw: (chart) => drawImages(chart, pictures, images, `Component ${j + 1} as an image${images.plain ? " beside PCA" : ""}`) };
    }).filter((_, j) => page.state.shown.has(j));
    if (images.mean) {
      const { middle, half } = images.mean;
      const [dark, light] = ["--ink", "--paper"].map(hexOf);
      const [from, to] = dark[0] < light[0] ? [dark, light] : [light, dark];
      const paint = (v) => { const share = (v - middle + half) / (2 * half || 1); return from.map((c, i) => Math.round(c + share * (to[i] - c))); };
      entries.unshift({ title: "Mean", draw: (chart) => drawImages(chart, [{ title: "mean of the samples", values: unpacked(images.mean), most: 1, paint }], images, "Mean of the samples as an image") });
    }
    cards(holder, entries);
  },
});

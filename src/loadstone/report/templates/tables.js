"use strict";

// A table that sorts by its headings, filters by a search box and copies what it shows.
function sortableTable(table, columns, rows) {
  let sorted = { column: null, down: false };
  let wanted = "";
  let visible = rows;
  const head = node(node(table, "thead"), "tr");
  const body = node(table, "tbody");
  const headings = columns.map((column, i) => {
    const th = node(head, "th", { scope: "col", class: column.number ? "num" : "" });
    const button = node(th, "button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      sorted = { column: i, down: sorted.column === i ? !sorted.down : Boolean(column.number) };
      draw();
    });
    return th;
  });
  function order(a, b) {
    const { key, number } = columns[sorted.column];
    const way = sorted.down ? -1 : 1;
    if (number) return way * (a[key] - b[key]);
    return way * String(a[key]).localeCompare(String(b[key]), undefined, { numeric: true });
  }
  const matches = (text) => text.toLowerCase().includes(wanted);
  function draw() {
    visible = rows.filter((row) => row.shown() && (matches(row.feature) || matches(row.group || "")));
    if (sorted.column !== null) visible = [...visible].sort(order);
    headings.forEach((th, i) => {
      const now = sorted.column === i;
      th.setAttribute("aria-sort", now ? (sorted.down ? "descending" : "ascending") : "none");
      th.firstChild.textContent = columns[i].title + (now ? (sorted.down ? " ↓" : " ↑") : "");
    });
    const made = document.createDocumentFragment();
    for (const row of visible) {
      const tr = node(null, "tr");
      for (const column of columns) {
        node(tr, "td", column.number ? { class: "num" } : {}, column.write ? column.write(row[column.key]) : `${row[column.key]}`);
      }
      made.appendChild(tr);
    }
    body.replaceChildren(made);
    return visible.length;
  }
  return {
    draw,
    filter(text) { wanted = text.trim().toLowerCase(); return draw(); },
    asText() {
      const cell = (value) => String(value).replace(/[\t\r\n]+/g, " ");
      const lines = [columns.map((c) => c.title), ...visible.map((row) => columns.map((c) => cell(row[c.key])))];
      return lines.map((line) => line.join("\t")).join("\n");
    },
  };
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages opened from a file may not use the clipboard directly.
    const area = node(document.body, "textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

"use strict";

const written = (column, row) => (column.write ? column.write(row[column.key]) : `${row[column.key]}`);

// A table that sorts by its headings; `wanted` says which rows are shown.
// Columns: { title, key, number, write, act }; an entry with `act` is a button.
function sortableTable(table, columns, rows, wanted) {
  let sorted = { column: null, down: false };
  let visible = rows;
  const head = node(node(table, "thead"), "tr");
  const body = node(table, "tbody");
  const headings = columns.map((column, i) => {
    const th = node(head, "th", { scope: "col", class: column.number ? "num" : "" });
    button(th, column.title, () => {
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
  function cell(tr, column, row) {
    const td = node(tr, "td", { "data-title": column.title, ...(column.number ? { class: "num" } : {}) });
    if (column.act) button(td, written(column, row), () => column.act(row), { class: "link" });
    else td.textContent = written(column, row);
  }
  function draw() {
    visible = rows.filter(wanted);
    if (sorted.column !== null) visible = [...visible].sort(order);
    headings.forEach((th, i) => {
      const now = sorted.column === i;
      th.setAttribute("aria-sort", now ? (sorted.down ? "descending" : "ascending") : "none");
      th.firstChild.textContent = columns[i].title + (now ? (sorted.down ? " ↓" : " ↑") : "");
    });
    const made = document.createDocumentFragment();
    for (const row of visible) {
      const tr = node(made, "tr");
      columns.forEach((column) => cell(tr, column, row));
    }
    body.replaceChildren(made);
    return visible.length;
  }
  return { draw, lines: () => [columns.map((c) => c.title), ...visible.map((row) => columns.map((c) => row[c.key]))] };
}

// What a table of the page itself says, for its buttons.
function linesOf(table) {
  return [...table.rows].map((row) => [...row.cells].map((one) => one.textContent.trim()));
}

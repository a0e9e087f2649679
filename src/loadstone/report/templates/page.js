"use strict";
(() => {
  const page = makePage(JSON.parse(byId("data").textContent));
  if (page.summary.components.length) {
    PANELS.sort((a, b) => a.order - b.order).filter((panel) => panel.needs(page)).forEach((panel) => makePanel(page, panel));
  }
  document.querySelectorAll("table.saved").forEach((table) => tableTools(byId(`tools-${table.id}`), () => linesOf(table), table.id));
  const convergence = byId("section-convergence");
  convergence.addEventListener("toggle", () => page.change({ convergence: convergence.open }));

  const root = document.documentElement;
  const theme = byId("theme");
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const tell = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Switch to ${theme.textContent.toLowerCase()} colours`); };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; tell(); page.drawAll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { tell(); page.drawAll(); });
  tell();

  page.drawAll();
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; page.drawAll(); } });
  // Paper has a width of its own: drawn for it, then for the screen again.
  addEventListener("beforeprint", () => { root.classList.add("printing"); page.drawAll(); });
  addEventListener("afterprint", () => { root.classList.remove("printing"); page.drawAll(); });
  root.dataset.ready = "yes";
})();

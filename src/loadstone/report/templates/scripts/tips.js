"use strict";

const tip = byId("tip");
function showTip(made) {
  const box = made.getBoundingClientRect();
  tip.textContent = made.getAttribute("data-tip");
  tip.hidden = false;
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
  const above = box.top - tip.offsetHeight - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 4 ? above : box.bottom + 8}px`;
}
function hideTip() { tip.hidden = true; }
function say(text) { byId("live").textContent = text; }

// One tab stop per chart; arrow keys walk through its marks and say what they are.
function walkable(svg) {
  let at = -1;
  const marks = () => [...svg.querySelectorAll(".mark")];
  const choose = (next) => {
    const all = marks();
    if (!all.length) return;
    all.forEach((made) => made.classList.remove("on"));
    at = (next + all.length) % all.length;
    all[at].classList.add("on");
    showTip(all[at]);
    say(all[at].getAttribute("data-tip") + (all[at].act ? ". Press Enter to choose it" : ""));
  };
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight" || event.key === "ArrowDown") { choose(at + 1); event.preventDefault(); }
    if (event.key === "ArrowLeft" || event.key === "ArrowUp") { choose(at - 1); event.preventDefault(); }
    if (event.key === "Escape") hideTip();
    const made = marks()[at];
    if ((event.key === "Enter" || event.key === " ") && made && made.act) { event.preventDefault(); made.act(); }
  });
  svg.addEventListener("click", (event) => { if (event.target.act) event.target.act(); });
  svg.addEventListener("blur", () => { marks().forEach((made) => made.classList.remove("on")); hideTip(); });
  svg.addEventListener("pointerover", (event) => {
    if (event.target.classList.contains("mark")) showTip(event.target); else hideTip();
  });
  svg.addEventListener("pointerleave", hideTip);
}

"use strict";
// Values under the pointer, arms switched by the legend, zoom by dragging; a double click shows all again.
for (const figure of document.querySelectorAll("figure")) {
  const chart = figure.querySelector(".chart"), area = figure.querySelector(".area");
  if (!area) continue;
  const W = +area.getAttribute("width"), H = +area.getAttribute("height"), left = +area.getAttribute("x");
  const end = +area.dataset.end, lo = +area.dataset.lo, hi = +area.dataset.hi, unit = area.dataset.unit;
  const make = (name, attributes, parent) => {
    const e = document.createElementNS(area.namespaceURI, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    return parent.appendChild(e);
  };
  const arms = [...area.querySelectorAll(".arm")].map(g => ({
    g, name: g.dataset.arm,
    points: [...g.querySelectorAll(".mean")].flatMap(l => l.getAttribute("points").split(" ").map(p => p.split(",").map(Number))),
  }));
  // What is transparent still has to catch the pointer.
  make("rect", {x: 0, y: 0, width: W, height: H, fill: "none", "pointer-events": "all"}, area);
  const cross = make("line", {class: "cross", y1: 0, y2: H, visibility: "hidden", "vector-effect": "non-scaling-stroke"}, area);
  const box = make("rect", {class: "zoom", y: 0, height: H, visibility: "hidden"}, area);
  const tip = document.createElement("div");
  tip.className = "tip"; tip.hidden = true; figure.append(tip);
  let from = 0, to = W, start = null;
  const number = v => { const a = Math.abs(v); return a === 0 ? "0" : a >= 100 ? v.toFixed(0) : v.toPrecision(3); };
  const seconds = x => { const t = x / W * end; return t < 180 ? number(t) + " s" : Math.floor(t / 60) + " min " + Math.round(t % 60) + " s"; };
  const place = e => { // in units of the area
    const r = chart.getBoundingClientRect(), x = (e.clientX - r.left) / r.width * chart.viewBox.baseVal.width - left;
    return from + Math.min(Math.max(x, 0), W) / W * (to - from);
  };
  const ticks = () => {
    const clock = chart.querySelector(".clock"), y = clock.firstElementChild.getAttribute("y");
    const size = end > 10800 ? 3600 : end > 180 ? 60 : 1, a = from / W * end / size, b = to / W * end / size;
    const raw = (b - a) / 6, p = 10 ** Math.floor(Math.log10(raw)), step = p * [1, 2, 5, 10].find(m => raw <= m * p);
    clock.replaceChildren();
    for (let k = Math.ceil(a / step - 1e-9); k * step <= b + 1e-9; k++) {
      make("text", {x: left + (k * step - a) / (b - a) * W, y, "text-anchor": "middle"}, clock).textContent = +(k * step).toPrecision(6);
    }
  };
  const zoom = (a, b) => { [from, to] = [a, b]; area.setAttribute("viewBox", `${a} 0 ${b - a} ${H}`); ticks(); };
  const show = e => {
    const x = place(e), rows = [];
    let at = null;
    for (const arm of arms) {
      if (arm.g.classList.contains("off") || !arm.points.length) continue;
      const near = arm.points.reduce((p, q) => Math.abs(q[0] - x) < Math.abs(p[0] - x) ? q : p);
      at ??= near[0];
      const row = document.createElement("div"), mark = document.createElement("i");
      mark.className = arm.g.classList[1];
      row.append(mark, `${arm.name}: ${number(lo + (H - near[1]) / H * (hi - lo))}${unit ? " " + unit : ""}`);
      rows.push(row);
    }
    if (at === null) return hide();
    const head = document.createElement("div");
    head.textContent = seconds(at);
    tip.replaceChildren(head, ...rows);
    tip.hidden = false;
    cross.setAttribute("x1", at); cross.setAttribute("x2", at); cross.setAttribute("visibility", "visible");
    const r = figure.getBoundingClientRect(), right = e.clientX - r.left > r.width / 2;
    tip.style.left = right ? "" : e.clientX - r.left + 14 + "px";
    tip.style.right = right ? r.right - e.clientX + 14 + "px" : "";
    tip.style.top = e.clientY - r.top + 10 + "px";
    if (start !== null) {
      box.setAttribute("x", Math.min(start, x)); box.setAttribute("width", Math.abs(x - start)); box.setAttribute("visibility", "visible");
    }
  };
  const hide = () => { tip.hidden = true; cross.setAttribute("visibility", "hidden"); };
  area.addEventListener("pointermove", show);
  area.addEventListener("pointerleave", () => { hide(); start = null; box.setAttribute("visibility", "hidden"); });
  area.addEventListener("pointerdown", e => { start = place(e); e.preventDefault(); });
  area.addEventListener("pointerup", e => {
    const x = place(e), a = Math.min(start ?? x, x), b = Math.max(start ?? x, x);
    start = null; box.setAttribute("visibility", "hidden");
    if (b - a > (to - from) / 50) zoom(a, b);
  });
  area.addEventListener("dblclick", () => zoom(0, W));
  chart.querySelector(".title").addEventListener("click", () => figure.classList.toggle("big"));
  for (const key of chart.querySelectorAll("[data-key]")) {
    const toggle = () => { key.classList.toggle("off"); arms[+key.dataset.key].g.classList.toggle("off"); };
    key.addEventListener("click", toggle);
    key.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); toggle(); } });
  }
}

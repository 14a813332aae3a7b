"use strict";
// Graphs: values under the pointer or at the keyboard's mark, arms switched by the legend, zoom by dragging or by keys. Graphs of one
// clock (one test on one database) show the same stretch of it. Tables: a click on a heading sorts them.
const clocks = {};
const make = (name, attributes, parent) => {
  const e = document.createElementNS(parent.namespaceURI, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  return parent.appendChild(e);
};
const pairs = text => text.split(" ").map(p => p.split(",").map(Number));

for (const figure of document.querySelectorAll("figure[data-clock]")) {
  const chart = figure.querySelector(".chart"), area = figure.querySelector(".area");
  if (!area) continue;
  const W = +area.getAttribute("width"), H = +area.getAttribute("height"), left = +area.getAttribute("x");
  const end = +area.dataset.end, lo = +area.dataset.lo, hi = +area.dataset.hi, unit = area.dataset.unit ? " " + area.dataset.unit : "";
  const clock = clocks[figure.dataset.clock] ??= {end: 0, graphs: []};
  clock.end = Math.max(clock.end, end);
  const arms = [...area.querySelectorAll(".arm")].map(g => ({
    g, name: g.dataset.arm, color: g.classList[1],
    points: [...g.querySelectorAll(".mean")].flatMap(l => pairs(l.getAttribute("points"))),
    band: new Map([...g.querySelectorAll(".band")].flatMap(p => {
      const [top, bottom] = p.getAttribute("d").slice(1, -1).split("L").map(pairs);
      return top.map((q, i) => [q[0], [bottom[bottom.length - 1 - i][1], q[1]]]);
    })),
  }));
  // What is transparent still has to catch the pointer, beyond the curves' ends too.
  make("rect", {x: -W, y: 0, width: 3 * W, height: H, fill: "none", "pointer-events": "all"}, area);
  const cross = make("line", {class: "cross", y1: 0, y2: H, visibility: "hidden", "vector-effect": "non-scaling-stroke"}, area);
  const box = make("rect", {class: "zoom", y: 0, height: H, visibility: "hidden"}, area);
  const tip = document.createElement("div"), reset = document.createElement("button");
  tip.className = "tip"; tip.hidden = true; tip.setAttribute("role", "status"); figure.append(tip);
  reset.type = "button"; reset.className = "reset"; reset.textContent = "show all"; reset.hidden = true;
  figure.querySelector("figcaption").append(reset);
  let from = 0, to = end, start = null, mark = null; // in seconds
  // Coordinates have one decimal: values have no more digits than that carries.
  const digits = Math.min(6, Math.max(0, -Math.ceil(Math.log10((hi - lo) / H / 10))));
  const value = y => (lo + (H - y) / H * (hi - lo)).toFixed(digits);
  const seconds = t => t < 180 ? t.toFixed(1) + " s" : Math.floor(t / 60) + " min " + Math.floor(t % 60) + " s";
  const place = e => {
    const r = chart.getBoundingClientRect(), x = (e.clientX - r.left) / r.width * chart.viewBox.baseVal.width - left;
    return from + Math.min(Math.max(x, 0), W) / W * (to - from);
  };
  const ticks = () => {
    const labels = chart.querySelector(".clock"), y = labels.firstElementChild.getAttribute("y");
    const size = end > 10800 ? 3600 : end > 180 ? 60 : 1, a = from / size, b = to / size;
    const raw = (b - a) / 6, p = 10 ** Math.floor(Math.log10(raw)), step = p * [1, 2, 5, 10].find(m => raw <= m * p * 1.0001);
    labels.replaceChildren();
    for (let k = Math.ceil(a / step - 1e-9); k * step <= b + 1e-9; k++) {
      make("text", {x: left + (k * step - a) / (b - a) * W, y, "text-anchor": "middle"}, labels).textContent = +(k * step).toPrecision(6);
    }
  };
  const view = (a, b) => {
    [from, to] = [a, b];
    area.setAttribute("viewBox", `${a / end * W} 0 ${(b - a) / end * W} ${H}`);
    reset.hidden = a === 0 && b === end;
    hide(); ticks();
  };
  const zoom = (a, b) => {
    const least = clock.end / 500, span = Math.max(b - a, least);
    a = Math.min(Math.max(a, 0), clock.end - span);
    if (span >= clock.end) return all();
    for (const g of clock.graphs) g.view(a, a + span);
  };
  const all = () => { for (const g of clock.graphs) g.view(0, g.end); };
  const show = (t, top) => {
    const rows = [], x = t / end * W;
    let at = null;
    for (const arm of arms) {
      if (arm.g.classList.contains("off") || !arm.points.length) continue;
      const near = arm.points.reduce((p, q) => Math.abs(q[0] - x) < Math.abs(p[0] - x) ? q : p);
      if (Math.abs(near[0] - x) > W / 30) continue; // there is no data
      at ??= near[0];
      const row = document.createElement("div"), color = document.createElement("i"), range = arm.band.get(near[0]);
      color.className = arm.color;
      row.append(color, `${arm.name}: ${value(near[1])}${unit}` + (range ? ` (${value(range[0])} to ${value(range[1])})` : ""));
      rows.push(row);
    }
    mark = t;
    if (at === null) return hide();
    const head = document.createElement("div");
    head.textContent = seconds(at / W * end);
    tip.replaceChildren(head, ...rows);
    tip.hidden = false;
    for (const k of ["x1", "x2"]) cross.setAttribute(k, at);
    cross.setAttribute("visibility", "visible");
    const f = figure.getBoundingClientRect(), r = chart.getBoundingClientRect(), width = chart.viewBox.baseVal.width;
    const px = r.left - f.left + (left + (t - from) / (to - from) * W) / width * r.width;
    const side = px > f.width / 2 ? px - 14 - tip.offsetWidth : px + 14;
    tip.style.left = Math.min(Math.max(side, 4), Math.max(f.width - tip.offsetWidth - 6, 4)) + "px";
    tip.style.top = (top ?? r.top - f.top + 16) + "px";
  };
  const hide = () => { tip.hidden = true; cross.setAttribute("visibility", "hidden"); };
  const drop = () => { start = null; box.setAttribute("visibility", "hidden"); };
  area.addEventListener("pointermove", e => {
    const t = place(e);
    show(t, e.clientY - figure.getBoundingClientRect().top + 10);
    if (start === null) return;
    box.setAttribute("x", Math.min(start, t) / end * W); box.setAttribute("width", Math.abs(t - start) / end * W);
    box.setAttribute("visibility", "visible");
  });
  area.addEventListener("pointerleave", () => { hide(); drop(); });
  area.addEventListener("pointercancel", drop);
  area.addEventListener("pointerdown", e => {
    start = place(e); area.setPointerCapture(e.pointerId); e.preventDefault(); chart.focus({preventScroll: true});
  });
  area.addEventListener("pointerup", e => {
    const t = place(e), a = Math.min(start ?? t, t), b = Math.max(start ?? t, t);
    drop();
    if (b - a > (to - from) / 50) zoom(a, b);
  });
  area.addEventListener("dblclick", all);
  reset.addEventListener("click", () => { all(); chart.focus(); });
  chart.tabIndex = 0;
  chart.addEventListener("keydown", e => {
    const span = to - from, middle = mark ?? (from + to) / 2, way = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    if (way && e.shiftKey) zoom(from + way * span / 4, to + way * span / 4);
    else if (way) show(Math.min(Math.max(middle + way * span / 50, from), to));
    else if (e.key === "Home") show(from);
    else if (e.key === "End") show(to);
    else if (e.key === "+" || e.key === "=") zoom(middle - span / 4, middle + span / 4);
    else if (e.key === "-") zoom(middle - span, middle + span);
    else if (e.key === "0" || e.key === "Escape") all();
    else return;
    e.preventDefault();
  });
  chart.addEventListener("blur", hide);
  const title = figure.querySelector("figcaption .title");
  title.addEventListener("click", () => title.setAttribute("aria-expanded", figure.classList.toggle("big")));
  for (const key of figure.querySelectorAll("[data-arm][aria-pressed]")) {
    key.addEventListener("click", () => {
      const off = arms[+key.dataset.arm].g.classList.toggle("off");
      key.setAttribute("aria-pressed", !off);
    });
  }
  clock.graphs.push({view, end});
}

// A number of a cell: its first one, in one unit; what is not known is NaN.
const number = text => {
  const m = /([-+]?\d+(?:\.\d+)?)\s*(ms|s|min|h)?(?![a-z])/.exec(text);
  return m ? +m[1] * ({s: 1e3, min: 6e4, h: 36e5}[m[2]] ?? 1) : NaN;
};
// A table that is wider than its place can be scrolled by keys. One in a closed fold has no width yet.
const reach = () => {
  for (const s of document.querySelectorAll(".scroll")) if (s.scrollWidth > s.clientWidth) s.tabIndex = 0;
};
reach();
for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", reach);
// A link into a fold opens it, and paper has all folds open.
const unfold = () => { for (let e = document.querySelector(location.hash || "html"); e; e = e.parentElement) if (e.localName === "details") e.open = true; };
for (const b of document.querySelectorAll(".unfold")) {
  b.addEventListener("click", () => { for (const fold of document.querySelectorAll(".fold")) fold.open = true; });
}
addEventListener("hashchange", unfold);
unfold();
addEventListener("beforeprint", () => { for (const fold of document.querySelectorAll("details")) fold.open = true; });
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  if (rows.length < 3) continue;
  heads.forEach((th, column) => {
    const button = document.createElement("button"), text = r => r.cells[column].textContent;
    button.type = "button"; button.textContent = th.textContent; th.replaceChildren(button);
    button.addEventListener("click", () => {
      const now = {ascending: "descending", descending: ""}[th.getAttribute("aria-sort")] ?? "ascending";
      for (const h of heads) h.removeAttribute("aria-sort");
      const sorted = [...rows], sign = now === "descending" ? -1 : 1;
      if (now) {
        th.setAttribute("aria-sort", now);
        sorted.sort((p, q) => {
          if (!th.classList.contains("r")) return sign * text(p).localeCompare(text(q), "en", {numeric: true});
          const a = number(text(p)), b = number(text(q));
          return isNaN(a) || isNaN(b) ? isNaN(a) - isNaN(b) : sign * (a - b);
        });
      }
      body.append(...sorted);
    });
  });
}

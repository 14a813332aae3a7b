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

// Flame graphs: cells are laid out in pixels, so that text has one size at any width. Arrows move, Enter zooms, Escape shows all, / searches.
const head = /^([+-] ?[\d.]+ % |\+ new |- gone )?(\S*\)\.|[\w-]+\.)(.)/; // a change, package and receiver
for (const figure of document.querySelectorAll("figure.flames")) {
  const chart = figure.querySelector(".chart"), box = chart.viewBox.baseVal, top = box.y, height = box.height;
  const cells = [...chart.querySelectorAll(".cell")].map(g => {
    const [x, w, depth] = g.dataset.at.split(" ").map(Number), title = g.querySelector("title"), text = title.textContent;
    title.remove(); // the tip has it
    return {g, x, w, depth, text, name: text.split(" · ")[0], rect: g.querySelector("rect"), label: g.querySelector("text")};
  });
  const within = (a, b) => a.depth > b.depth && a.x >= b.x - 1e-5 && a.x + a.w <= b.x + b.w + 1e-5;
  const tip = document.createElement("div"), reset = document.createElement("button"), search = document.createElement("input");
  const found = document.createElement("span"), caption = figure.querySelector("figcaption");
  tip.className = "tip"; tip.hidden = true; tip.setAttribute("role", "status"); figure.append(tip);
  search.type = "search"; search.placeholder = "search functions"; search.setAttribute("aria-label", "Search functions");
  found.className = "note"; found.setAttribute("role", "status");
  reset.type = "button"; reset.className = "reset"; reset.textContent = "show all"; reset.hidden = true;
  caption.append(search, found, reset);
  let view = cells[0], at = cells[0], wide = 0;
  const shown = c => c === view || within(c, view) || within(view, c);
  const draw = () => {
    const width = chart.clientWidth;
    if (!width) return; // in a closed fold
    wide = width;
    chart.setAttribute("viewBox", `0 ${top} ${width} ${height}`);
    for (const c of cells) {
      const over = within(view, c), x = over ? 0 : (c.x - view.x) / view.w * width, w = over ? width : c.w / view.w * width;
      c.g.classList.toggle("off", !shown(c) || w < 0.5); c.g.classList.toggle("over", over);
      c.rect.setAttribute("x", x + 0.3); c.rect.setAttribute("width", Math.max(w - 0.6, 0.5));
      c.label.setAttribute("x", x + 4);
      const fits = Math.floor((w - 8) / 6.6), name = c.name.length <= fits ? c.name : c.name.replace(head, "$1$3");
      c.label.textContent = fits < 3 ? "" : name.length <= fits ? name : name.slice(0, fits - 1) + "…";
    }
  };
  new ResizeObserver(() => { if (chart.clientWidth !== wide) draw(); }).observe(figure);
  const show = c => {
    at.g.classList.remove("at"); at = c; c.g.classList.add("at");
    tip.textContent = c.text; tip.hidden = false;
    const f = figure.getBoundingClientRect(), r = c.rect.getBoundingClientRect();
    tip.style.left = Math.min(Math.max(r.left - f.left, 4), Math.max(f.width - tip.offsetWidth - 6, 4)) + "px";
    tip.style.top = r.bottom - f.top + 6 + "px";
  };
  const hide = () => { tip.hidden = true; at.g.classList.remove("at"); };
  const zoom = c => { view = c; reset.hidden = c === cells[0]; draw(); show(c); };
  const near = way => { // in the row, among those that are shown
    const row = cells.filter(c => c.depth === at.depth && shown(c)).sort((a, b) => a.x - b.x);
    return row[row.indexOf(at) + way];
  };
  for (const c of cells) {
    c.g.addEventListener("pointerenter", () => show(c));
    c.g.addEventListener("click", () => { zoom(c); chart.focus({preventScroll: true}); });
  }
  chart.addEventListener("pointerleave", hide);
  reset.addEventListener("click", () => { zoom(cells[0]); chart.focus(); });
  chart.tabIndex = 0;
  chart.addEventListener("focus", () => show(at));
  chart.addEventListener("blur", hide);
  chart.addEventListener("keydown", e => {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const to = {
      ArrowUp: () => cells.findLast(c => c.depth === at.depth - 1 && within(at, c)),
      ArrowDown: () => cells.find(c => c.depth === at.depth + 1 && within(c, at)),
      ArrowLeft: () => near(-1), ArrowRight: () => near(1), Home: () => view,
    }[e.key];
    if (to) { const c = to(); if (c && shown(c)) show(c); }
    else if (e.key === "Enter") zoom(at);
    else if (e.key === "Escape") { const c = at; zoom(cells[0]); show(c); }
    else if (e.key === "/") search.focus();
    else return;
    e.preventDefault();
  });
  const seek = () => {
    const what = search.value.trim().toLowerCase(), hits = what ? cells.filter(c => c.name.toLowerCase().includes(what)) : [];
    chart.classList.toggle("searching", what !== "");
    for (const c of cells) c.g.classList.toggle("hit", hits.includes(c));
    const outer = hits.filter(c => !hits.some(o => within(c, o))).reduce((sum, c) => sum + c.w, 0);
    found.textContent = what && `${hits.length} of ${cells.length} places, ${(100 * outer).toFixed(1)} % of the width`;
    return hits;
  };
  search.addEventListener("input", seek);
  search.addEventListener("keydown", e => {
    if (e.key === "Escape") { search.value = ""; seek(); chart.focus(); e.preventDefault(); }
    if (e.key !== "Enter") return;
    const hits = seek(), next = hits[(hits.indexOf(at) + 1) % hits.length];
    if (next) { if (!shown(next)) zoom(cells[0]); show(next); }
  });
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

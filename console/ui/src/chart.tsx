// A chart over the run's clock: lines, spreads, phases, limits and marks. All charts of a group share the cursor and
// the stretch of time that is shown. It changes in place: new points move the canvas, nothing is built anew.

import { useEffect, useRef } from "preact/hooks";
import { useSignalEffect, type Signal } from "@preact/signals";
import uPlot from "uplot";
import type { Phase } from "./api";
import type { Column } from "./columns";
import { Gates, type Believed } from "./believe";
import { apart, num, span } from "./text";
import { painted, shown } from "./state";

export interface Line {
  name: string;
  label: string;
  color: string;
  dash?: boolean;
  fill?: boolean;
  steps?: boolean;
}
export interface Limit {
  value: number;
  label: string;
  broken?: boolean;
}
export interface Mark {
  at: number;
  value: number;
  kind: "held" | "broken" | "unsound" | "undecided";
}
export interface Series {
  t: number[];
  by: Map<string, Column>;
  step: number;
}

export interface ChartProps {
  title: string;
  unit: string;
  lines: Line[];
  series: () => Series;
  version: Signal<number>;
  phases?: Signal<Phase[]>;
  limits?: () => Limit[];
  marks?: () => Mark[];
  believed?: Believed;
  group?: string;
  tall?: boolean;
  names?: boolean; // print the names of the phases
  over?: boolean; // nothing more comes: values are printed of the cursor's time alone
  format?: (v: number | null | undefined) => string;
  axis?: (v: number, more: number) => string; // of the values, with so many more decimals; num without it
  until?: () => number; // seconds that the axis of time reaches at least
  band?: [number, number]; // lines, counted from 1, between which the chart is shaded: upper, lower
  note?: string;
}

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faint = (color: string, alpha: number) =>
  color +
  Math.round(alpha * 255)
    .toString(16)
    .padStart(2, "0");
const font = () => `12px ${css("--type")}`;

// move puts the cursor somewhere, in all charts of the group: the third argument publishes it (untyped in uPlot).
const move = (u: uPlot, left: number, top: number) =>
  (u.setCursor as (at: { left: number; top: number }, fire: boolean, publish: boolean) => void)(
    { left, top },
    true,
    true,
  );

// clock prints seconds of the run's clock at the width that an axis has.
const clock = (s: number) => {
  const two = (n: number) => String(n).padStart(2, "0");
  const v = Math.round(s * 10) / 10;
  return v < 60
    ? String(v)
    : v < 3600
      ? `${Math.floor(v / 60)}:${two(Math.floor(v % 60))}`
      : `${Math.floor(v / 3600)}:${two(Math.floor((v % 3600) / 60))}:${two(Math.floor(v % 60))}`;
};

export function Chart(p: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const keys = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const latest = useRef(p);
  latest.current = p;
  const format = p.format ?? num;
  const identity = p.lines.map(l => l.name + l.color + l.label).join("|");

  // values prints the readings under the cursor, or the newest, into the keys: text nodes, no rendering.
  const values = (u: uPlot) => {
    const i = u.cursor.idx;
    const out = keys.current?.querySelectorAll("output") ?? [];
    const { t } = latest.current.series();
    const over = i == null && latest.current.over; // the last reading is of no more interest than another
    latest.current.lines.forEach((_, k) => {
      const column = u.data[k + 1];
      let at = i ?? t.length - 1;
      if (i == null) while (at > 0 && column?.[at] == null && at > t.length - 6) at--;
      const node = out[k];
      const text = over ? "" : format(column?.[at]);
      if (node && node.textContent !== text) node.textContent = text;
    });
    const moment = keys.current?.querySelector("time");
    const text = i == null ? "" : `at ${span(u.data[0][i])}`;
    if (moment && moment.textContent !== text) moment.textContent = text;
  };

  useEffect(() => {
    const element = host.current!;
    const group = uPlot.sync(p.group ?? "run");
    const height = () =>
      p.tall ? Math.min(320, Math.max(220, innerHeight * 0.32)) : Math.min(280, Math.max(170, innerHeight * 0.2));
    const line = (l: Line): uPlot.Series => ({
      label: l.label,
      stroke: () => css(l.color),
      width: 1.75,
      ...(l.dash ? { dash: [5, 4] } : {}),
      ...(l.fill ? { fill: () => faint(css(l.color), 0.12) } : {}),
      ...(l.steps ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
      points: { show: u => u.data[0].length < 3, size: 5 },
      spanGaps: false,
    });
    const axis = (): uPlot.Axis => ({
      stroke: () => css("--soft"),
      font: font(),
      grid: { stroke: () => css("--line"), width: 1 },
      ticks: { show: false },
      gap: 4,
    });
    const options: uPlot.Options = {
      width: Math.max(200, element.clientWidth),
      height: height(),
      legend: { show: false },
      padding: [p.names ? 18 : 8, 22, 0, 0],
      scales: {
        x: {
          time: false,
          range: u => {
            const t = u.data[0],
              end = Math.max(t.at(-1) ?? 1, latest.current.until?.() ?? 0);
            return (
              shown.peek() ?? [Math.min(0, t[0] ?? 0) === 0 && (t[0] ?? 0) < end / 3 ? 0 : t[0]!, Math.max(end, 10)]
            );
          },
        },
        y: {
          range: (_u, _lo, hi) => {
            let top = hi ?? 0;
            const limits = (latest.current.limits?.() ?? []).map(l => l.value);
            top = Math.max(top, ...limits.filter(l => !top || l <= 2.5 * top));
            return [0, top > 0 ? top * 1.08 : 1];
          },
        },
      },
      cursor: {
        sync: { key: group.key, scales: ["x", null] },
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { size: 6 },
      },
      series: [{}, ...p.lines.map(line)],
      ...(p.band ? { bands: [{ series: p.band, fill: () => faint(css("--a4"), 0.13) }] } : {}),
      axes: [
        { ...axis(), size: 24, space: 60, values: (_u, ticks) => ticks.map(clock) },
        {
          ...axis(),
          size: 52,
          space: 30,
          values: (_u, ticks) =>
            apart(ticks, p.axis ?? ((v, more) => (v >= 10_000 ? `${v / 1000}k` : num(v, more)))),
        },
      ],
      hooks: {
        drawClear: [u => backdrop(u, latest.current)],
        draw: [u => marks(u, latest.current)],
        setCursor: [values],
        setSelect: [
          u => {
            if (u.select.width > 8) {
              shown.value = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
            }
            if (u.select.width > 0) u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    };
    const u = new uPlot(options, data(latest.current), element);
    chart.current = u;
    group.sub(u);
    u.over.addEventListener("dblclick", () => {
      shown.value = null;
    });
    values(u);
    const sized = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && width !== u.width) u.setSize({ width, height: height() });
    });
    sized.observe(element);
    return () => {
      sized.disconnect();
      group.unsub(u);
      u.destroy();
      chart.current = null;
    };
  }, [identity, p.tall]);

  // update draws with the next picture of the screen: a burst of points is drawn once, a hidden tab draws nothing.
  const waiting = useRef(0);
  const update = () => {
    waiting.current ||= requestAnimationFrame(() => {
      waiting.current = 0;
      const u = chart.current;
      if (!u) return;
      u.setData(data(latest.current));
      values(u);
    });
  };
  useSignalEffect(() => {
    void p.version.value;
    void shown.value;
    void p.phases?.value;
    update();
  });
  useSignalEffect(() => {
    void painted.value;
    queueMicrotask(() => chart.current?.redraw(false, true));
  });
  useEffect(update);

  const press = (e: KeyboardEvent) => {
    const u = chart.current;
    if (!u) return;
    const t = u.data[0],
      i = u.cursor.idx ?? t.length - 1;
    const step = e.shiftKey ? 10 : 1;
    const to = { ArrowLeft: i - step, ArrowRight: i + step, Home: 0, End: t.length - 1 }[e.key];
    if (to != null) {
      const at = t[Math.min(Math.max(to, 0), t.length - 1)] ?? 0;
      move(u, u.valToPos(at, "x"), 20);
    } else if (e.key === "Escape" || e.key === "0") {
      shown.value = null;
      move(u, -10, -10);
    } else if (e.key === "+" || e.key === "-") {
      const [lo, hi] = [u.scales.x!.min ?? 0, u.scales.x!.max ?? 1],
        at = t[i] ?? hi;
      const half = (hi - lo) * (e.key === "+" ? 0.25 : 1);
      const end = t.at(-1) ?? hi;
      shown.value = half * 2 >= end ? null : [Math.max(0, at - half), Math.min(end, at + half)];
    } else return;
    e.preventDefault();
  };

  return (
    <figure class={p.tall ? "tall" : ""} data-chart={p.title}>
      <figcaption>
        <div class="head">
          <span class="title">{p.title}</span>
          <span class="soft unit">{p.unit}</span>
          {p.believed && <Gates {...p.believed} />}
        </div>
        <div class="legend" ref={keys}>
          {p.lines.map(l => (
            <span class="key" key={l.name}>
              <Swatch color={l.color} dash={l.dash} />
              {l.label} <output>–</output>
            </span>
          ))}
          <LimitKeys p={p} top={() => chart.current?.scales.y?.max ?? Infinity} />
          <time class="soft" />
        </div>
      </figcaption>
      <div
        class="plot"
        ref={host}
        tabIndex={0}
        role="group"
        onKeyDown={press}
        aria-label={`${p.title}, ${p.unit}, over time. Left and right move the cursor, + and - zoom, 0 shows all.`}
      />
      {p.note && <p class="note">{p.note}</p>}
    </figure>
  );
}

export const Swatch = ({ color, dash }: { color: string; dash?: boolean | undefined }) => (
  <i class={`swatch ${color.slice(2)}${dash ? " dashed" : ""}`} aria-hidden="true" />
);

// LimitKeys names the limits, also those that lie above what is drawn.
function LimitKeys({ p, top }: { p: ChartProps; top: () => number }) {
  void p.version.value;
  return (
    <>
      {(p.limits?.() ?? []).map(l => (
        <span class="key limit" key={l.label}>
          <i class="swatch worse dashed" aria-hidden="true" />
          {l.label}
          {l.value > top() && <span class="soft"> (above the chart)</span>}
          {l.broken && <b> broken</b>}
        </span>
      ))}
    </>
  );
}

function data(p: ChartProps): uPlot.AlignedData {
  const s = p.series();
  const none: null[] = [];
  return [s.t, ...p.lines.map(l => s.by.get(l.name)?.mean ?? ((none.length = s.t.length), none))] as uPlot.AlignedData;
}

// backdrop draws behind the lines: every other phase shaded, their names, and the spread of merged points.
function backdrop(u: uPlot, p: ChartProps): void {
  const c = u.ctx,
    { left, top, width, height } = u.bbox,
    px = devicePixelRatio;
  const phases = p.phases?.value ?? [];
  const x = (t: number) => Math.min(left + width, Math.max(left, u.valToPos(t, "x", true)));
  c.save();
  phases.forEach((phase, i) => {
    const from = x(phase.from),
      to = phase.to == null ? left + width : x(phase.to);
    if (i % 2 === 1) {
      c.fillStyle = css("--panel");
      c.fillRect(from, top, to - from, height);
    }
    if (phase.from > 0 && from > left && from < left + width) {
      c.fillStyle = css("--soft");
      c.globalAlpha = 0.6;
      c.fillRect(from, top, px, height);
      c.globalAlpha = 1;
    }
    if (!p.names) return;
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.font = `${12 * px}px ${css("--type")}`;
    c.fillStyle = css("--soft");
    if (to - from > c.measureText(phase.name).width + 6 * px) c.fillText(phase.name, from + 3 * px, top - 5 * px);
  });
  const s = p.series();
  if (s.step > 1) {
    c.beginPath();
    c.rect(left, top, width, height);
    c.clip();
    for (const l of p.lines) {
      const column = s.by.get(l.name);
      if (!column) continue;
      c.fillStyle = faint(css(l.color), 0.18);
      const half = s.step / 2;
      s.t.forEach((t, i) => {
        const lo = column.min[i],
          hi = column.max[i];
        if (lo == null || hi == null || hi <= lo) return;
        const a = u.valToPos(t - half, "x", true),
          b = u.valToPos(t + half, "x", true);
        if (b < left || a > left + width) return;
        const y = u.valToPos(hi, "y", true);
        c.fillRect(a, y, Math.max(b - a, 1), u.valToPos(lo, "y", true) - y);
      });
    }
  }
  c.restore();
}

// marks draws over the lines: limits, and the windows of a search by shape and color.
function marks(u: uPlot, p: ChartProps): void {
  const c = u.ctx,
    { left, top, width, height } = u.bbox,
    px = devicePixelRatio;
  c.save();
  c.beginPath();
  c.rect(left, top - 5 * px, width + 6 * px, height + 5 * px);
  c.clip();
  c.lineWidth = 1.3 * px;
  c.strokeStyle = css("--worse");
  c.setLineDash([5 * px, 4 * px]);
  for (const l of p.limits?.() ?? []) {
    const y = u.valToPos(l.value, "y", true);
    c.beginPath();
    c.moveTo(left, y);
    c.lineTo(left + width, y);
    c.stroke();
  }
  c.setLineDash([]);
  const all = p.marks?.() ?? [],
    reach = u.valToPos(all.at(-1)?.at ?? 0, "x", true) - u.valToPos(all[0]?.at ?? 0, "x", true);
  const r = Math.min(4 * px, Math.max(2 * px, (0.6 * reach) / Math.max(1, all.length))); // smaller where they are many
  c.lineWidth = r < 3 * px ? px : 1.8 * px;
  for (const m of all) {
    const x = u.valToPos(m.at, "x", true),
      y = u.valToPos(m.value, "y", true);
    if (x < left || x > left + width) continue;
    c.strokeStyle = c.fillStyle = css(
      { held: "--better", broken: "--worse", unsound: "--invalid", undecided: "--soft" }[m.kind],
    );
    c.beginPath();
    if (m.kind === "broken") {
      c.moveTo(x - r, y - r);
      c.lineTo(x + r, y + r);
      c.moveTo(x - r, y + r);
      c.lineTo(x + r, y - r);
      c.stroke();
    } else if (m.kind === "unsound") {
      c.rect(x - r * 0.8, y - r * 0.8, 1.6 * r, 1.6 * r);
      c.stroke();
    } else {
      c.arc(x, y, m.kind === "held" ? r : r * 0.7, 0, 2 * Math.PI);
      if (m.kind === "held") c.fill();
      else c.stroke();
    }
  }
  c.restore();
}

// A drawing in real pixels: its letters are as large on a telephone as on a wall.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { apart, type Print } from "./text";

export function Sized({ draw, caption }: { draw: (width: number) => ComponentChildren; caption?: string }) {
  const host = useRef<HTMLDivElement>(null);
  const [width, set] = useState(0);
  useEffect(() => {
    const e = host.current!;
    const sized = new ResizeObserver(() => set(Math.floor(e.clientWidth)));
    sized.observe(e);
    set(Math.floor(e.clientWidth));
    return () => sized.disconnect();
  }, []);
  return (
    <div class="sized" ref={host}>
      {caption && <p class="caption">{caption}</p>}
      {width > 0 && draw(width)}
    </div>
  );
}

// Grid draws a line and a label for each value of a vertical axis.
export function Grid(p: { at: number[]; print: Print; y: (v: number) => number; left: number; right: number }) {
  const labels = apart(p.at, p.print);
  return p.at.map((v, i) => (
    <g key={v}>
      <line class={v === 0 ? "axis" : "grid"} x1={p.left} x2={p.right} y1={p.y(v)} y2={p.y(v)} />
      <text x={p.left - 6} y={p.y(v) + 4} text-anchor="end">
        {labels[i]}
      </text>
    </g>
  ));
}

// ticks returns about n round numbers from lo to hi.
export function ticks(lo: number, hi: number, n: number): number[] {
  const raw = (hi - lo) / Math.max(1, n);
  if (!(raw > 0)) return [lo];
  const p = 10 ** Math.floor(Math.log10(raw)),
    step = p * [1, 2, 5, 10].find(m => raw <= m * p * 1.0001)!;
  const out: number[] = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++) out.push(+(k * step).toPrecision(10));
  return out;
}

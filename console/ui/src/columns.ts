// Columns: series on one axis of time, at most `limit` points each. When they are full, neighbors are merged: a point
// spans twice the time, as the server does it: a reload draws the same curves.

import type { Past, Value } from "./api";

export const limit = 3600;

export interface Column {
  mean: Value[];
  min: Value[];
  max: Value[];
}

export class Columns {
  step = 1;
  t: number[] = [];
  readonly by = new Map<string, Column>();
  private open = 1; // readings in the last point

  // take replaces or continues what is there.
  take(past: Past): void {
    if (past.replace !== false) {
      this.step = past.step || 1;
      this.t = [];
      this.by.clear();
    }
    this.open = Math.max(1, Math.round(this.step));
    const after = this.t.at(-1) ?? -Infinity;
    const fresh: number[] = [];
    past.t.forEach((t, i) => {
      if (t > after) fresh.push(i);
    });
    for (const name of Object.keys(past.series)) this.column(name);
    for (const i of fresh) this.t.push(past.t[i]!);
    for (const [name, column] of this.by) {
      const from = past.series[name];
      for (const i of fresh) {
        const mean = from?.mean[i] ?? null;
        column.mean.push(mean);
        column.min.push(from?.min?.[i] ?? mean);
        column.max.push(from?.max?.[i] ?? mean);
      }
    }
    while (this.t.length > limit) this.halve();
  }

  // add appends the readings of one second, or merges them into the last point where that spans more.
  add(at: number, values: Record<string, Value | undefined>): void {
    const last = this.t.at(-1) ?? -Infinity;
    const end = this.step > 1 ? Math.ceil(at / this.step) * this.step : at;
    if (at <= last && this.step === 1) return;
    for (const name in values) if (values[name] != null) this.column(name);
    if (end <= last) {
      for (const [name, c] of this.by) merge(c, this.t.length - 1, values[name] ?? null, this.open);
      this.open++;
      return;
    }
    this.t.push(end);
    this.open = 1;
    for (const [name, c] of this.by) {
      const v = values[name] ?? null;
      c.mean.push(v);
      c.min.push(v);
      c.max.push(v);
    }
    if (this.t.length > limit) this.halve();
  }

  private column(name: string): Column {
    let c = this.by.get(name);
    if (!c) {
      const none = (): Value[] => new Array<Value>(this.t.length).fill(null);
      c = { mean: none(), min: none(), max: none() };
      this.by.set(name, c);
    }
    return c;
  }

  private halve(): void {
    this.step *= 2;
    const groups: number[][] = [];
    const ends: number[] = [];
    this.t.forEach((t, i) => {
      const end = Math.ceil(t / this.step) * this.step;
      if (ends.at(-1) === end) groups.at(-1)!.push(i);
      else {
        ends.push(end);
        groups.push([i]);
      }
    });
    this.t = ends;
    this.open = Math.max(1, ((groups.at(-1)?.length ?? 1) * this.step) / 2);
    const fold = (from: Value[], f: (values: number[]) => number) =>
      groups.map(g => {
        const there = g.map(i => from[i]).filter((v): v is number => v != null);
        return there.length ? f(there) : null;
      });
    for (const c of this.by.values()) {
      c.mean = fold(c.mean, v => v.reduce((a, b) => a + b, 0) / v.length);
      c.min = fold(c.min, v => Math.min(...v));
      c.max = fold(c.max, v => Math.max(...v));
    }
  }
}

function merge(c: Column, i: number, v: Value, n: number): void {
  if (v == null) return;
  const mean = c.mean[i],
    min = c.min[i],
    max = c.max[i];
  c.mean[i] = mean == null ? v : (mean * n + v) / (n + 1);
  c.min[i] = min == null ? v : Math.min(min, v);
  c.max[i] = max == null ? v : Math.max(max, v);
}

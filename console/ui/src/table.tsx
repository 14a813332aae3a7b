// A table that can be sorted by its headings and filtered by words. It is sorted anew whenever its rows change.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Field } from "./asked";

export interface ColumnOf<T> {
  name: string;
  title?: string; // what the heading means
  number?: boolean;
  wide?: boolean;
  by?: (row: T) => string | number | undefined; // for sorting; without it the column cannot be sorted
  cell: (row: T) => ComponentChildren;
  kind?: (row: T) => string; // class of the cell
}

export interface TableProps<T> {
  caption: string;
  rows: T[];
  columns: ColumnOf<T>[];
  id: (row: T) => string | number;
  filter?: (row: T) => string; // the text that the filter searches
  before?: ComponentChildren; // stands before the filter
  sort?: [string, 1 | -1];
  empty: string;
  chosen?: (row: T) => boolean;
}

export function Table<T>(p: TableProps<T>) {
  const order = useSignal<[string, 1 | -1] | null>(p.sort ?? null);
  const words = useSignal("");
  let rows = p.rows;
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (p.filter && wanted.length) {
    rows = rows.filter(r => {
      const text = p.filter!(r).toLowerCase();
      return wanted.every(w => text.includes(w));
    });
  }
  const [name, way] = order.value ?? ["", 1];
  const by = p.columns.find(c => c.name === name)?.by;
  if (by) {
    rows = [...rows].sort((a, b) => {
      const x = by(a),
        y = by(b);
      if (x == null || y == null) return x == null ? (y == null ? 0 : 1) : -1;
      return way * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)));
    });
  }
  const click = (c: ColumnOf<T>) => {
    const first: 1 | -1 = c.number ? -1 : 1;
    order.value = name !== c.name ? [c.name, first] : way === first ? [c.name, first === 1 ? -1 : 1] : (p.sort ?? null);
  };
  return (
    <div class="table">
      {p.filter && (
        <p class="bar">
          {p.before}
          <Field label="Filter" value={words} type="search" placeholder="words" />
        </p>
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label={p.caption}>
        <table>
          <caption class="hidden">{p.caption}</caption>
          <thead>
            <tr>
              {p.columns.map(c => (
                <th
                  key={c.name}
                  scope="col"
                  class={c.number ? "r" : ""}
                  title={c.title}
                  aria-sort={name === c.name && by ? (way === 1 ? "ascending" : "descending") : undefined}>
                  {c.by ? (
                    <button type="button" onClick={() => click(c)}>
                      {c.name}
                    </button>
                  ) : (
                    c.name
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(r => (
              <tr key={p.id(r)} class={p.chosen?.(r) ? "chosen" : ""}>
                {p.columns.map(c => (
                  <td
                    key={c.name}
                    class={[c.number ? "r" : "", c.wide ? "wide" : "", c.kind?.(r) ?? ""].filter(Boolean).join(" ")}>
                    {c.cell(r)}
                  </td>
                ))}
              </tr>
            ))}
            {!rows.length && (
              <tr>
                <td colSpan={p.columns.length} class="soft">
                  {p.rows.length ? "No row has these words." : p.empty}
                </td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </div>
  );
}

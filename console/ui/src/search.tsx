// The search for capacity: level over time, the reading of each window, the interval of the estimate closing in.

import { useComputed } from "@preact/signals";
import type { SearchWindow } from "./api";
import { about } from "./believe";
import { Chart, type Mark } from "./chart";
import { Columns } from "./columns";
import type { RunModel } from "./model";
import { WindowKeys } from "./now";
import { Table } from "./table";
import { capacity, count, num, plural, span } from "./text";

export function SearchView({ model: m }: { model: RunModel }) {
  const s = m.search.value,
    windows = m.windows.value,
    gates = m.gates.value;
  // The ratios of the windows, as a series of its own.
  const ratios = useComputed(() => {
    const c = new Columns(),
      w = m.windows.value.filter(w => w.ratio != null);
    c.take({ step: 1, t: w.map(w => w.at), series: { ratio: { mean: w.map(w => w.ratio!) } } });
    return c;
  });
  const version = useComputed(() => m.version.value + ratios.value.t.length / 1e6);
  const at = (value: (w: SearchWindow) => number | undefined) => (): Mark[] =>
    m.windows.value.flatMap(w => {
      const v = value(w);
      return v == null ? [] : [{ at: w.at, value: v, kind: w.reading }];
    });
  const over = m.link.value === "stored" || m.link.value === "over";
  if (!s && !windows.length && !m.columns.by.has("search.level")) {
    return (
      <p class="soft">
        This run {m.link.value === "stored" || m.link.value === "over" ? "has no" : "has not begun a"} search for
        capacity.
      </p>
    );
  }
  return (
    <>
      {s && (
        <dl class="figures">
          <div>
            <dt>{s.result ? "result" : "estimate"}</dt>
            <dd>
              <b>{capacity(s.result) || (s.estimate == null ? "none yet" : `${count(s.estimate)} users`)}</b>{" "}
              {s.lo != null && !s.result && (
                <span class="soft">
                  interval so far {count(s.lo)} to {count(s.hi)}
                </span>
              )}
            </dd>
          </div>
          {!over && (
            <div>
              <dt>level</dt>
              <dd>
                <b>{count(s.level)}</b> <span class="soft">users wanted</span>
              </dd>
            </div>
          )}
          {s.bound != null && (
            <div>
              <dt>held</dt>
              <dd>
                <b>{count(s.bound)}</b> <span class="soft">users, at least</span>
              </dd>
            </div>
          )}
          {s.step && (
            <div class="long">
              <dt>{over ? "at its end" : "now"}</dt>
              <dd>
                <b>{s.step}</b> <span class="soft">{s.why}</span>
              </dd>
            </div>
          )}
          {s.forecast && (
            <div class="long">
              <dt>forecast</dt>
              <dd>
                <span>{s.forecast}</span>
              </dd>
            </div>
          )}
        </dl>
      )}
      <p class="note">
        The search sets a level of users, reads windows of time against the rules, and goes up where all rules held and
        down where one was broken. The shaded band is the interval of the estimate: the search ends when it is narrow
        enough.
      </p>
      <div class="charts one">
        <Chart
          title="Search"
          over={over}
          unit="simulated users"
          tall
          names
          band={[1, 2]}
          series={() => m.columns}
          version={m.version}
          phases={m.phases}
          format={count}
          believed={{ gates, about: null }}
          marks={at(w => w.users)}
          lines={[
            { name: "search.hi", label: "interval, upper end", color: "--a4", steps: true },
            { name: "search.lo", label: "interval, lower end", color: "--a2", steps: true },
            { name: "users.wanted", label: "level", color: "--soft", dash: true, steps: true },
            { name: "users.active", label: "active", color: "--a0" },
          ]}
        />
        {ratios.value.t.length > 0 && (
          <Chart
            title="Readings"
            over={over}
            unit="nearest rule, of its limit"
            series={() => ratios.value}
            version={version}
            phases={m.phases}
            format={num}
            believed={{ gates, about: about.response }}
            marks={at(w => w.ratio)}
            until={() => m.columns.t.at(-1) ?? 0}
            limits={() => [{ value: 1, label: "the limit" }]}
            lines={[{ name: "ratio", label: "value / limit", color: "--a0" }]}
          />
        )}
      </div>
      <WindowKeys />
      <details class="fold">
        <summary>{plural(windows.length, "window")}, newest first</summary>
        <Table<SearchWindow>
          caption="Windows of the search, newest first"
          rows={[...windows].reverse()}
          id={w => w.n}
          filter={w => `${w.reading} ${w.rule ?? ""}`}
          empty="No window has been read yet."
          columns={[
            { name: "window", number: true, by: w => w.n, cell: w => w.n },
            { name: "at", number: true, by: w => w.at, cell: w => span(w.at) },
            { name: "users", number: true, by: w => w.users, cell: w => count(w.users) },
            {
              name: "reading",
              by: w => w.reading,
              cell: w => (
                <span class="tab">
                  <i class={`mark ${w.reading}`} aria-hidden="true" /> {w.reading}
                </span>
              ),
            },
            { name: "of the limit", number: true, by: w => w.ratio, cell: w => num(w.ratio) },
            { name: "rule nearest to its limit", by: w => w.rule, cell: w => (w.rule ? <code>{w.rule}</code> : "–") },
          ]}
        />
      </details>
    </>
  );
}

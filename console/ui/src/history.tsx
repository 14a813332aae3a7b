// History: the store's runs, comparisons and sizings; two runs over each other; the trend over releases.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import {
  get,
  type History as HistoryOf,
  type HistoryItem,
  type Past,
  runOf,
  type StoredRun,
  type Trend as TrendOf,
} from "./api";
import { Choice, Field, useAsked, useGet, Waiting } from "./asked";
import { Chart, type Line } from "./chart";
import { Columns, type Column } from "./columns";
import { Grid, Sized, ticks } from "./sized";
import { href, live, wholeOf } from "./state";
import { type ColumnOf, Table } from "./table";
import { count, num, percent, signed, when } from "./text";

const page = 100;
const shares = (v: number | null | undefined) => percent(v);
const places: Record<HistoryItem["kind"], string> = { run: "run", comparison: "comparison", sizing: "sizing" };
export const placeOf = (i: { kind: HistoryItem["kind"]; id: string }) => {
  const goesOn = live.value.some(l => l.id === i.id && (l.state === "running" || l.state === "silent"));
  return href(goesOn ? "live" : places[i.kind], i.id, "now");
};

export function History() {
  const kind = useSignal(""),
    words = useSignal(""),
    parts = useSignal(false),
    from = useSignal(0);
  const chosen = useSignal<string[]>([]);
  useEffect(() => {
    from.value = 0;
  }, [kind.value, words.value, parts.value]);
  const q = new URLSearchParams({ limit: String(page), offset: String(from.value) });
  if (kind.value) q.set("kind", kind.value);
  if (words.value.trim()) q.set("q", words.value.trim());
  if (parts.value) q.set("parts", "1");
  const under = live.value.map(i => i.id + i.state).join();
  const { value: h, trouble } = useAsked(() => get<HistoryOf>(`/api/history?${q}`), [`${q}`, under], { wait: 150 });
  const choose = (id: string) => {
    chosen.value = chosen.value.includes(id) ? chosen.value.filter(c => c !== id) : [...chosen.value, id].slice(-2);
  };
  const [a, b] = chosen.value;
  return (
    <>
      <h1 class="first">History</h1>
      <div class="bar">
        <Choice
          label="Kind"
          value={kind}
          options={[
            { value: "", text: "all" },
            { value: "run", text: "runs" },
            { value: "comparison", text: "comparisons" },
            { value: "sizing", text: "sizings" },
          ]}
        />
        <Field label="Filter" value={words} type="search" placeholder="plan, arm, database, verdict" />
        <label class="check">
          <input
            type="checkbox"
            checked={parts.value}
            onChange={e => {
              parts.value = e.currentTarget.checked;
            }}
          />{" "}
          runs of comparisons too
        </label>
        {a && b ? (
          <a class="button" href={href("over", a, b)}>
            Lay the two over each other
          </a>
        ) : (
          <span class="soft">{a ? "Choose one more run." : "Choose two runs to lay them over each other."}</span>
        )}
      </div>
      {trouble && <p class="alert">History: {trouble}.</p>}
      {h?.warnings?.map(w => (
        <p class="alert" key={w}>
          {w}
        </p>
      ))}
      {h && (
        <>
          <Table<HistoryItem>
            caption="History"
            rows={h.items}
            id={i => i.id}
            chosen={i => chosen.value.includes(i.id)}
            empty={
              kind.value || words.value ? "Nothing in the store has these words." : "The store is empty: start a run."
            }
            columns={[
              {
                name: "overlay",
                cell: i =>
                  i.kind === "run" ? (
                    <input
                      type="checkbox"
                      aria-label={`Choose ${i.id}`}
                      checked={chosen.value.includes(i.id)}
                      onChange={() => choose(i.id)}
                    />
                  ) : (
                    ""
                  ),
              },
              { name: "began", by: i => i.began, cell: i => <span class="tab">{when(i.began)}</span> },
              { name: "kind", by: i => i.kind, cell: i => i.kind },
              { name: "plan", by: i => i.plan, cell: i => <a href={placeOf(i)}>{i.plan}</a> },
              { name: "arm", by: i => i.arm, cell: i => i.arm ?? "–" },
              { name: "database", by: i => i.engine, cell: i => i.engine ?? "–" },
              {
                name: "state",
                by: i => i.state,
                cell: i => <State item={i} />,
                kind: i => (i.state === "died" ? "bad" : ""),
              },
              { name: "result", by: i => i.result, wide: true, cell: i => <Result text={i.result ?? "–"} /> },
              { name: "runs", number: true, by: i => i.runs, cell: i => (i.runs == null ? "" : count(i.runs)) },
              ...(parts.value ? [partOf] : []),
              { name: "id", by: i => i.id, cell: i => <code class="id">{i.id}</code> },
            ]}
          />
          {h.total > page && (
            <p class="bar">
              <button
                type="button"
                disabled={from.value === 0}
                onClick={() => {
                  from.value = Math.max(0, from.value - page);
                }}>
                Newer
              </button>
              <span class="soft">
                {count(from.value + 1)} to {count(Math.min(h.total, from.value + page))} of {count(h.total)}
              </span>
              <button
                type="button"
                disabled={from.value + page >= h.total}
                onClick={() => {
                  from.value += page;
                }}>
                Older
              </button>
            </p>
          )}
        </>
      )}
      <h2>Trend over releases</h2>
      <p class="note">
        Supported users of each release against the first of its chain, by ratios within comparisons that share a
        release, as plimsoll report trend has them; the bar is the interval. A diamond: the level is another from there
        on.
      </p>
      <Trend />
    </>
  );
}

// Result prints verdicts in their colors, as the report does; everything else as it stands.
const verdicts = /\b(worse|better|same|inconclusive|indicative|invalid)\b/;
const Result = ({ text }: { text: string }) => (
  <>
    {text.split(verdicts).map((word, i) =>
      i % 2 ? (
        <b key={i} class={`verdict-word k-${word}`}>
          {word}
        </b>
      ) : (
        word
      ),
    )}
  </>
);

const partOf: ColumnOf<HistoryItem> = {
  name: "part of",
  by: i => (i.of ?? "") + (i.block ?? 0),
  cell: i => i.of && <a href={wholeOf(i.of)}>{i.block ? `block ${i.block}` : i.of}</a>,
};

function State({ item: i }: { item: HistoryItem }) {
  const word = i.state === "sealed" ? (i.valid === false ? "invalid" : "done") : i.state;
  return (
    <>
      {word}
      {i.exploratory && (
        <span title={i.exploratory}>
          , <b>exploratory</b>
        </span>
      )}
    </>
  );
}

// Over draws two runs on one axis: the time since each began.
export function Over({ a, b }: { a: string; b: string }) {
  const version = useSignal(0);
  const one = async (id: string) => {
    const [run, past] = await Promise.all([get<StoredRun>(runOf(id)), get<Past>(`${runOf(id)}/series`)]);
    return { name: [run.arm, run.engine, when(run.began)].filter(Boolean).join(", "), past, base: run.arm === "base" };
  };
  const { value: both, trouble } = useAsked(() => Promise.all([one(a), one(b)]), [a, b]);
  if (!both) return <Waiting what="The two runs" trouble={trouble} asking="Reading both runs…" />;
  both.sort((x, y) => Number(y.base) - Number(x.base)); // the base has the first color, here too
  const merged = overlay(both.map(v => v.past));
  const lines = (name: string): Line[] =>
    both
      .map((v, i) => ({
        name: `${i} ${name}`,
        label: v.name || `run ${i + 1}`,
        color: `--a${i}`,
        dash: i === 1,
      }))
      .filter(l => merged.by.has(l.name));
  const charts: [string, string, string][] = [
    ["users.active", "Users", "active"],
    ["ops", "Operations", "per second"],
    ["p50", "p50 of response", "ms"],
    ["p95", "p95 of response", "ms"],
    ["p99", "p99 of response", "ms"],
    ["delivery.p95", "p95 of delivery", "ms"],
    ["errors", "Errors", "per second"],
    ["cpu.app", "CPU of app", "share of its cores"],
    ["cpu.database", "CPU of database", "share of its cores"],
    ["cpu.generator", "CPU of generator", "share of its cores"],
  ];
  return (
    <>
      <h1 class="first">Two runs</h1>
      <p class="lead">
        Two runs over each other, each from its own beginning. This is a look, not a comparison: one run of each says
        nothing about the next. <a href={href("run", a, "now")}>{a}</a> and <a href={href("run", b, "now")}>{b}</a>
      </p>
      <div class="charts">
        {charts.map(
          ([name, title, unit]) =>
            lines(name).length > 0 && (
              <Chart
                key={name}
                title={title}
                unit={unit}
                lines={lines(name)}
                series={() => merged}
                version={version}
                group="over"
                over
                {...(name.startsWith("cpu.") ? { format: shares, axis: percent } : {})}
              />
            ),
        )}
      </div>
    </>
  );
}

// overlay puts series of several runs on one axis; points of one run are empty where only another has a reading.
function overlay(pasts: Past[]): { t: number[]; by: Map<string, Column>; step: number } {
  const step = Math.max(...pasts.map(p => p.step), 1);
  const bin = (t: number) => Math.round(t / step) * step;
  const t = [...new Set(pasts.flatMap(p => p.t.map(bin)))].sort((x, y) => x - y);
  const at = new Map(t.map((v, i) => [v, i]));
  const by = new Map<string, Column>();
  pasts.forEach((p, k) => {
    const c = new Columns();
    c.take({ ...p, replace: true });
    for (const [name, column] of c.by) {
      const mean = new Array<number | null>(t.length).fill(null);
      c.t.forEach((v, i) => {
        mean[at.get(bin(v))!] = column.mean[i] ?? null;
      });
      by.set(`${k} ${name}`, { mean, min: mean, max: mean });
    }
  });
  return { t, by, step: 1 };
}

// Trend is a line for each plan, database and endpoint.
export function Trend() {
  const { value: found, trouble } = useGet<TrendOf>("/api/trend");
  if (!found) return <Waiting what="The trend" trouble={trouble} asking="Reading the comparisons…" />;
  const lines = found.lines.filter(l => l.points.length > 0);
  const warnings = found.warnings?.map(w => (
    <p class="note" key={w}>
      {w}
    </p>
  ));
  if (!lines.length)
    return (
      <>
        <p class="soft">A trend needs comparisons of releases that are done and have searches for capacity.</p>
        {warnings}
      </>
    );
  return (
    <>
      {warnings}
      <div class="endpoints trend">
        {lines.map(l => (
          <section
            class="panel"
            key={`${l.plan} ${l.engine} ${l.endpoint}`}
            aria-label={`Trend of ${l.endpoint}, ${l.plan} ${l.engine ?? ""}`}>
            <div class="head">
              <h3>
                {l.endpoint} <span class="soft">{[l.plan, l.engine].filter(Boolean).join(" on ")}</span>
              </h3>
              <span class="soft">{l.unit}</span>
            </div>
            <Sized draw={w => <TrendGraph width={w} line={l} />} />
            <ul class="words">
              {l.points
                .filter(p => p.change != null)
                .map(p => (
                  <li key={p.at}>
                    From {p.version} on the level is another: {signed(p.change!, true)} {l.unit}.
                  </li>
                ))}
            </ul>
          </section>
        ))}
      </div>
    </>
  );
}

function TrendGraph({ width, line: l }: { width: number; line: TrendOf["lines"][number] }) {
  const height = 190,
    left = 54,
    right = 16,
    top = 12,
    bottom = 42;
  const values = l.points.flatMap(p => [p.value, p.lo, p.hi]).filter((v): v is number => v != null);
  let lo = Math.min(...values),
    hi = Math.max(...values);
  const pad = (hi - lo || Math.abs(hi) * 0.1 || 1) * 0.12;
  lo -= pad;
  hi += pad;
  const n = l.points.length,
    room = width - left - right;
  const x = (i: number) => left + (n === 1 ? 0.5 : (i + 0.5) / n) * room;
  const y = (v: number) => top + ((hi - v) / (hi - lo)) * (height - top - bottom);
  const every = Math.max(1, Math.ceil((n * 74) / room));
  return (
    <svg
      class="drawn"
      width={width}
      height={height}
      role="img"
      aria-label={`${l.endpoint}: ${l.points.map(p => `${p.version ?? when(p.at)} ${num(p.value)}`).join(", ")}`}>
      <Grid
        at={ticks(lo, hi, 4)}
        print={(v, more) => (v === 0 ? "0" : signed(v, true, more))}
        y={y}
        left={left}
        right={width - right}
      />
      <g class="a0">
        <polyline class="trace" points={l.points.map((p, i) => `${x(i)},${y(p.value)}`).join(" ")} />
        {l.points.map((p, i) => (
          <g key={i}>
            {p.lo != null && p.hi != null && <line class="whisker" x1={x(i)} x2={x(i)} y1={y(p.lo)} y2={y(p.hi)} />}
            {p.change == null ? (
              <circle class="glyph a0" cx={x(i)} cy={y(p.value)} r="4" />
            ) : (
              <path class="glyph a1" d={`M${x(i)} ${y(p.value) - 7}l6 7l-6 7l-6 -7Z`} />
            )}
            {i % every === 0 && (
              <>
                <text x={x(i)} y={height - 24} text-anchor="middle">
                  {(p.version ?? "").slice(0, 11)}
                </text>
                <text class="soft" x={x(i)} y={height - 8} text-anchor="middle">
                  {p.at.slice(2, 10)}
                </text>
              </>
            )}
          </g>
        ))}
      </g>
    </svg>
  );
}

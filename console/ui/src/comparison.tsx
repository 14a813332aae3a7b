// A comparison, drawn: a dot per block and arm when its run has ended, the paired differences with interval and margin,
// and what is still possible.

import type { ComponentChildren } from "preact";
import type { ComparisonFrame, Difference, Endpoint, Judged, RunNow } from "./api";
import { Documents } from "./documents";
import { Grid, Sized, ticks } from "./sized";
import { href } from "./state";
import { Table } from "./table";
import { apart, count, ms, num, percent, plural, signed, span } from "./text";

const color = (i: number) => `a${i % 8}`;
const drawn = 160; // pixels that a drawing is high

export function Comparison({
  judged: j,
  frame: f,
  live,
}: {
  judged: Judged | null;
  frame: ComparisonFrame | null;
  live: boolean;
}) {
  if (!j)
    return (
      <>
        {f && <UnderWay frame={f} live={live} />}
        <p class="soft">No block has been judged yet.</p>
      </>
    );
  const engines = j.engines?.length ? j.engines : [...new Set(j.dots.map(d => d.engine))];
  return (
    <>
      <section aria-label="Verdicts so far">
        {j.exploratory && (
          <p class="alert">
            This comparison is <b>exploratory</b> ({j.exploratory}): it gets no verdict.
          </p>
        )}
        {j.verdicts.map(v => (
          <p key={v.engine + v.arm} class={`verdict k-${v.kind}`}>
            <span class="badge">{v.kind}</span> <b>{v.arm}</b> on {v.engine}
            {v.indicative && <span class="soft"> (indicative)</span>}
            {v.text && <>: {v.text}</>}
            {v.why?.map(t => <span key={t} class="because">{t}</span>)}
          </p>
        ))}
        <p class="blocks">
          <Blocks done={j.done ?? 0} of={j.blocks ?? 0} now={live ? (f?.block ?? 0) : 0} /> {count(j.done)} of{" "}
          {plural(j.blocks ?? 0, "block")} {j.state === "running" ? "done" : "judged"}
          {j.by_cost != null && `, ${j.by_cost} by cost alone`}
          {live && j.left != null && `, ${span(f?.left ?? j.left)} left at most`}
        </p>
        {j.outlook && j.outlook.length > 0 && (
          <p class="outlook">
            {live && <b>Still possible: </b>}
            {j.outlook.join(" ")}
          </p>
        )}
      </section>
      {f && live && <UnderWay frame={f} live={live} />}
      {j.endpoints.length > 0 && (
        <p class="note">
          On the left a mark for each block and arm. On the right what the arm changes against {j.arms[0]}: small marks
          are blocks, the thick line is their mean, the thin bar its interval, and the gray band the margin. The same
          is a difference whose whole interval lies in the band; better or worse is one whose interval leaves out 0 and
          reaches past the band, also if its mean does not.{live && " Hollow marks are of the newest block."}
        </p>
      )}
      {live && j.endpoints.length === 0 && (
        <p class="soft">Marks and differences appear here when the first whole block has ended.</p>
      )}
      <div class="endpoints">
        {j.endpoints.map(e =>
          engines.map(engine => <Panel key={engine + e.name} judged={j} endpoint={e} engine={engine} live={live} />),
        )}
      </div>
      {j.limiters && j.limiters.length > 0 && <Limiters of={j.limiters} />}
      <Runs judged={j} />
      <Documents documents={j.documents ?? []} />
    </>
  );
}

// Arms is the key of the arms: the marks and colors of the report.
const Arms = ({ arms }: { arms: string[] }) => (
  <span class="legend arms">
    {arms.map((a, i) => (
      <span key={a} class="key">
        <svg width="14" height="12" aria-hidden="true">
          <Glyph x={7} y={6} i={i} />
        </svg>{" "}
        {a}
      </span>
    ))}
  </span>
);

function Blocks({ done, of, now }: { done: number; of: number; now: number }) {
  return (
    <svg class="steps" width={of * 16} height="14" role="img" aria-label={`${done} of ${of} blocks`}>
      {Array.from({ length: of }, (_, i) => (
        <rect
          key={i}
          x={i * 16 + 1}
          y="1"
          width="12"
          height="12"
          rx="3"
          class={i < done ? "done" : i + 1 === now ? "now" : ""}
        />
      ))}
    </svg>
  );
}

// UnderWay is the present of a comparison: the step, and the runs that are up.
export function UnderWay({ frame: f, live }: { frame: ComparisonFrame; live: boolean }) {
  return (
    <section class="panel" aria-label="Under way">
      <p class="lead">
        {live ? "Now" : "Last"}: <b>{f.step}</b>
        {f.block ? ` of ${f.kind === "sizing" ? "step" : "block"} ${f.block}${f.blocks ? ` of ${f.blocks}` : ""}` : ""}
        {f.again && " (again)"}
        {live && f.left != null && <span class="soft">, {span(f.left)} left at most</span>}
      </p>
      {f.runs && f.runs.length > 0 && (
        <Table<RunNow>
          caption="Runs under way"
          rows={f.runs}
          id={r => (r.engine ?? "") + r.arm + (r.id ?? "")}
          empty=""
          columns={[
            { name: "arm", cell: r => (r.id ? <a href={href("live", r.id, "now")}>{r.arm}</a> : r.arm) },
            { name: "database", cell: r => r.engine ?? "–" },
            { name: "phase", cell: r => <>{r.phase ?? "waiting"}{r.turn && <b class="turn"> its turn</b>}</> },
            { name: "users", number: true, cell: r => count(r.active) },
            { name: "ops/s", number: true, cell: r => num(r.ops) },
            { name: "p95", number: true, cell: r => ms(r.p95) },
            { name: "errors", number: true, cell: r => count(r.errors), kind: r => (r.errors ? "bad" : "") },
          ]}
        />
      )}
    </section>
  );
}

type PanelOf = { judged: Judged; endpoint: Endpoint; engine: string; live: boolean };

function Panel({ judged: j, endpoint: e, engine, live }: PanelOf) {
  const rows = j.arms.map((arm, i) => ({
    arm,
    i,
    values: j.dots.find(d => d.endpoint === e.name && d.engine === engine && d.arm === arm)?.values ?? [],
  }));
  const differences = j.differences.filter(d => d.endpoint === e.name && d.engine === engine);
  if (!rows.some(r => r.values.length) && !differences.length) return null;
  const better = e.better ? `${e.better} is better` : "";
  return (
    <section class="panel endpoint" aria-label={`${e.name} on ${engine}`}>
      <div class="head">
        <h2>
          {e.name}{" "}
          <span class="soft">
            on {engine}
            {e.primary === false && ", secondary"}
          </span>
        </h2>
        <Arms arms={j.arms} />
      </div>
      <div class="two">
        <Sized
          caption={["each block", e.unit, better].filter(Boolean).join(", ")}
          draw={w => (
            <DotGraph
              width={w}
              rows={rows}
              live={live}
              blocks={Math.max(j.blocks ?? 0, ...rows.flatMap(r => r.values.map(v => v[0])))}
              label={`${e.name} of each block and arm`}
            />
          )}
        />
        <Sized
          caption={`difference from ${j.arms[0]}, ${unitOf(differences[0], e)}`}
          draw={w => (
            <Differences
              width={w}
              rows={differences}
              live={live}
              arms={j.arms}
              label={`Differences in ${e.name} against ${j.arms[0]}`}
            />
          )}
        />
      </div>
      <ul class="words">
        {differences.map(d => (
          <li key={d.arm} class={`k-${d.kind}`}>
            <b class="kind">{live ? "open" : d.kind}</b> {d.arm}:{" "}
            {live
              ? `${sentence(d)}; after ${plural(d.n, "block")}, judged when the plan says.`
              : (d.text ?? sentence(d))}
            {d.finds != null && !d.text?.includes("could find") && (
              <span class="soft">
                {" "}
                {d.n} {d.n === 1 ? "pair finds" : "pairs find"} a difference of{" "}
                {d.absolute ? `${num(d.finds)} ${e.unit ?? ""}` : percent(d.finds)} or more.
              </span>
            )}
            {!live && d.needs != null && <span class="soft"> A verdict takes about {plural(d.needs, "minute")}.</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

const unitOf = (d: Difference | undefined, e: Endpoint) =>
  !d?.absolute ? "% of it" : e.unit === "%" ? "percentage points" : e.unit || "in its unit";

const sentence = (d: Difference) =>
  d.effect == null
    ? `no difference from ${plural(d.n, "pair")}`
    : signed(d.effect, d.absolute) +
      (d.lo != null && d.hi != null ? ` (${signed(d.lo, d.absolute)} to ${signed(d.hi, d.absolute)}${d.level != null ? ` at ${percent(d.level, 2)}` : ""})`
      : "") +
      (d.margin != null ? `; margin ${d.absolute ? num(d.margin) : percent(d.margin)}` : "");

// A Glyph has a shape for each arm beside its color.
function Glyph({ x, y, i, hollow, r = 4.5 }: { x: number; y: number; i: number; hollow?: boolean; r?: number }) {
  const name = `glyph ${color(i)}${hollow ? " hollow" : ""}`;
  switch (i % 4) {
    case 0:
      return <circle class={name} cx={x} cy={y} r={r} />;
    case 1:
      return (
        <path class={name} d={`M${x} ${y - r * 1.2}L${x + r * 1.2} ${y}L${x} ${y + r * 1.2}L${x - r * 1.2} ${y}Z`} />
      );
    case 2:
      return <path class={name} d={`M${x} ${y - r * 1.15}L${x + r * 1.1} ${y + r * 0.85}H${x - r * 1.1}Z`} />;
    default:
      return <rect class={name} x={x - r * 0.9} y={y - r * 0.9} width={r * 1.8} height={r * 1.8} />;
  }
}

interface Row {
  arm: string;
  i: number;
  values: [number, number][];
}

function DotGraph({
  width,
  rows,
  blocks,
  label,
  live,
}: {
  live: boolean;
  width: number;
  rows: Row[];
  blocks: number;
  label: string;
}) {
  const left = 54,
    right = 10,
    top = 10,
    bottom = 32;
  const all = rows.flatMap(r => r.values.map(v => v[1]));
  if (!all.length) return <Empty width={width} height={drawn} text="No run of it has ended yet." />;
  let lo = Math.min(...all),
    hi = Math.max(...all);
  const pad = (hi - lo || Math.abs(hi) * 0.1 || 1) * 0.15;
  lo = lo >= 0 ? Math.max(0, lo - pad) : lo - pad; // none of the endpoints is below 0
  hi += pad;
  const x = (block: number, i: number) =>
    left +
    ((block - 0.5) / Math.max(1, blocks)) * (width - left - right) +
    (i - (rows.length - 1) / 2) * Math.min(14, (width - left - right) / Math.max(1, blocks) / (rows.length + 1));
  const y = (v: number) => top + ((hi - v) / (hi - lo)) * (drawn - top - bottom);
  const newest = Math.max(...rows.flatMap(r => r.values.map(v => v[0])));
  return (
    <svg
      class="drawn"
      width={width}
      height={drawn}
      role="img"
      aria-label={`${label}: ${rows
        .map(r => `${r.arm} ${r.values.map(v => num(v[1])).join(", ") || "none"}`)
        .join("; ")}`}>
      <Grid at={ticks(lo, hi, 4)} print={num} y={y} left={left} right={width - right} />
      {Array.from({ length: blocks }, (_, b) => (
        <text key={b} x={x(b + 1, (rows.length - 1) / 2)} y={drawn - 10} text-anchor="middle">
          {b + 1}
        </text>
      ))}
      <text class="soft" x={left - 6} y={drawn - 10} text-anchor="end">
        block
      </text>
      {rows.map(r =>
        r.values.map(([b, v]) => (
          <Glyph key={`${r.arm} ${b}`} x={x(b, r.i)} y={y(v)} i={r.i} hollow={live && b === newest} />
        )),
      )}
    </svg>
  );
}

function Differences({
  width,
  rows,
  arms,
  label,
  live,
}: {
  live: boolean;
  width: number;
  rows: Difference[];
  arms: string[];
  label: string;
}) {
  const left = rows.length > 1 ? 64 : 10, // room for the names of the arms
    right = 14,
    top = 12,
    bottom = 34,
    each = 50;
  const height = Math.max(drawn, top + bottom + each * rows.length);
  if (!rows.length) return <Empty width={width} height={drawn} text="A difference needs a whole block." />;
  // Blocks, means and margins decide the scale. An interval of two blocks may be a hundred times as wide: it ends in an
  // arrow where the drawing does.
  const inside = rows.flatMap(d => [d.effect ?? 0, d.margin ?? 0, -(d.margin ?? 0), ...(d.pairs ?? []).map(p => p[1])]);
  const most = 3 * Math.max(...inside.map(Math.abs), 1e-9);
  const edges = [...inside, ...rows.flatMap(d => [Math.max(d.lo ?? 0, -most), Math.min(d.hi ?? 0, most)])];
  const lo = Math.min(...edges) * 1.12,
    hi = Math.max(...edges) * 1.12;
  const x = (v: number) => left + ((v - lo) / (hi - lo || 1)) * (width - left - right);
  const clip = (v: number) => Math.min(Math.max(x(v), left), width - right);
  const lane = (height - top - bottom) / rows.length;
  const at = ticks(lo, hi, Math.max(2, width / 64));
  const labels = apart(at, (v, more) => (v === 0 ? "0" : signed(v, rows[0]!.absolute, more)));
  return (
    <svg
      class="drawn"
      width={width}
      height={height}
      role="img"
      aria-label={`${label}: ${rows.map(d => `${d.arm} ${sentence(d)}`).join("; ")}`}>
      {at.map((v, i) => (
        <g key={v}>
          <line class={v === 0 ? "axis" : "grid"} x1={x(v)} x2={x(v)} y1={top} y2={height - bottom} />
          <text x={Math.min(Math.max(x(v), 22), width - 24)} y={height - 18} text-anchor="middle">
            {labels[i]}
          </text>
        </g>
      ))}
      {rows.map((d, k) => {
        const y = top + lane * (k + 0.55),
          i = arms.indexOf(d.arm);
        return (
          <g key={d.arm} class={color(i)}>
            {d.margin != null && (
              <rect
                class="margin"
                x={clip(-d.margin)}
                width={Math.max(1, clip(d.margin) - clip(-d.margin))}
                y={y - lane * 0.42}
                height={lane * 0.84}
              />
            )}
            {rows.length > 1 && (
              <text class="strong" x={2} y={y + 4}>
                {d.arm.length > 9 ? `${d.arm.slice(0, 8)}…` : d.arm}
              </text>
            )}
            {d.lo != null && d.hi != null && (
              <>
                <line class="span" x1={clip(d.lo)} x2={clip(d.hi)} y1={y} y2={y} />
                {[d.lo, d.hi].map((v, k) => (
                  <path
                    key={k}
                    class="span"
                    d={`M${clip(v)} ${y}${v < lo ? "l6 -5m-6 5l6 5" : v > hi ? "l-6 -5m6 5l-6 5" : "v-5v10"}`}
                  />
                ))}
              </>
            )}
            {d.effect != null && <line class="effect" x1={clip(d.effect)} x2={clip(d.effect)} y1={y - 8} y2={y + 8} />}
            {(d.pairs ?? []).map(([b, v]) => (
              <Glyph key={b} x={clip(v)} y={y + 13} i={i} r={3.4} hollow={live && b === d.pairs!.at(-1)![0]} />
            ))}
          </g>
        );
      })}
    </svg>
  );
}

const Empty = ({ width, height, text }: { width: number; height: number; text: ComponentChildren }) => (
  <svg class="drawn" width={width} height={height} role="img" aria-label={String(text)}>
    <text class="soft" x={width / 2} y={height / 2} text-anchor="middle">
      {text}
    </text>
  </svg>
);

type LimiterOf = NonNullable<Judged["limiters"]>[number];
const counts = (list: LimiterOf["named"]) => list.map(c => `${c.name} (${c.n})`).join(", ") || "–";

// Limiters says what stopped the searches of each arm.
const Limiters = ({ of }: { of: LimiterOf[] }) => (
  <>
    <h2>Limiters</h2>
    <Table<LimiterOf>
      caption="Limiters of the searches"
      rows={of}
      id={l => l.engine + l.arm}
      empty=""
      columns={[
        { name: "arm", cell: l => l.arm },
        { name: "database", cell: l => l.engine },
        { name: "searches", number: true, cell: l => count(l.searches) },
        { name: "limiter (runs)", cell: l => <b>{counts(l.named)}</b> },
        { name: "rule that stopped them (runs)", cell: l => counts(l.rules) },
        { name: "evidence of the first", wide: true, cell: l => l.text ?? "" },
      ]}
    />
  </>
);

type RunOf = NonNullable<Judged["runs"]>[number];

function Runs({ judged: j }: { judged: Judged }) {
  if (!j.runs?.length) return null;
  const bad = j.runs.filter(r => !r.valid || r.dropped).length;
  return (
    <details class="fold">
      <summary>
        {plural(j.runs.length, "run")}
        {bad > 0 && <b class="bad"> {bad} of them invalid or dropped</b>}
      </summary>
      <Table<RunOf>
        caption="Runs of the comparison"
        rows={j.runs}
        id={r => r.run}
        empty=""
        filter={r => `${r.run} ${r.arm} ${r.engine} ${r.why ?? ""}`}
        columns={[
          { name: "block", number: true, by: r => r.block, cell: r => (r.pilot ? "pilot" : r.block) },
          { name: "order", number: true, by: r => r.order, cell: r => r.order ?? "–" },
          { name: "arm", by: r => r.arm, cell: r => r.arm },
          { name: "database", by: r => r.engine, cell: r => r.engine },
          { name: "run", by: r => r.run, cell: r => <a href={href("run", r.run, "now")}>{r.run}</a> },
          {
            name: "valid",
            by: r => String(r.valid),
            cell: r => (r.valid ? (r.dropped ? "dropped" : "yes") : "no"),
            kind: r => (r.valid && !r.dropped ? "" : "bad"),
          },
          { name: "why", wide: true, cell: r => r.why ?? "" },
        ]}
      />
    </details>
  );
}

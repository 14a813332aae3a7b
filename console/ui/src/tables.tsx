// The tables of a run: operations, errors, log, agents, rules.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Agent, Failure, LogLine, Operation, Past, Rule } from "./api";
import { get, reason, runOf } from "./api";
import { Choice } from "./asked";
import { about } from "./believe";
import { Chart, type Limit } from "./chart";
import { Columns } from "./columns";
import type { RunModel } from "./model";
import { quantiles } from "./now";
import { Table } from "./table";
import { count, measured, ms, num, percent, span } from "./text";

export function Operations({ model: m }: { model: RunModel }) {
  const chosen = useSignal("");
  const name = (o: Operation) => (
    <button
      type="button"
      class="link"
      aria-expanded={chosen.value === o.name}
      onClick={() => {
        chosen.value = chosen.value === o.name ? "" : o.name;
      }}>
      {o.name}
    </button>
  );
  return (
    <>
      {chosen.value && (
        <OperationCharts
          key={chosen.value}
          model={m}
          name={chosen.value}
          close={() => {
            chosen.value = "";
          }}
        />
      )}
      <p class="note">
        A click on an operation shows its charts. Of a run under way, count and errors are since the start, rate and
        percentiles of response of the last ten seconds; of one that is over, all are of the measured phase or search.
        {m.more.value > 0 && ` ${count(m.more.value)} more operations found no place in the frame.`}
      </p>
      <Table<Operation>
        caption="Operations"
        rows={m.operations.value}
        id={o => o.name}
        filter={o => o.name}
        sort={["count", -1]}
        empty="No operation has ended yet."
        chosen={o => o.name === chosen.value}
        columns={[
          { name: "operation", by: o => o.name, cell: name },
          { name: "count", number: true, by: o => o.count, cell: o => count(o.count) },
          {
            name: "rate/s",
            title: "per second, over the last ten",
            number: true,
            by: o => o.rate,
            cell: o => num(o.rate),
          },
          {
            name: "errors",
            number: true,
            by: o => o.errors ?? 0,
            cell: o => count(o.errors ?? 0),
            kind: o => (o.errors ? "bad" : ""),
          },
          {
            name: "errors %",
            number: true,
            by: o => (o.errors ?? 0) / Math.max(1, o.count),
            cell: o => percent((o.errors ?? 0) / Math.max(1, o.count), 3),
          },
          {
            name: "p50",
            title: "response in ms, over the last ten seconds",
            number: true,
            by: o => o.p50,
            cell: o => ms(o.p50),
          },
          { name: "p95", number: true, by: o => o.p95, cell: o => ms(o.p95) },
          { name: "p99", number: true, by: o => o.p99, cell: o => ms(o.p99) },
          {
            name: "asked",
            title: "share of all actions in the plan's mix",
            number: true,
            by: o => o.asked,
            cell: o => percent(o.asked),
          },
          {
            name: "done",
            title: "share of all actions so far",
            number: true,
            by: o => o.done,
            cell: o => percent(o.done),
          },
        ]}
      />
    </>
  );
}

function OperationCharts({ model: m, name, close }: { model: RunModel; name: string; close: () => void }) {
  const trouble = useSignal("");
  const version = useComputed(() => m.version.value + past.value);
  const past = useSignal(0);
  let columns = m.watched.get(name);
  if (!columns) m.watched.set(name, (columns = new Columns()));
  useEffect(() => {
    let gone = false;
    get<Past>(`${runOf(m.id)}/series?op=${encodeURIComponent(name)}`).then(
      p => {
        if (gone) return;
        columns.take({ ...p, replace: true });
        past.value++;
      },
      e => {
        trouble.value = reason(e);
      },
    );
    return () => {
      gone = true;
      m.watched.delete(name);
    };
  }, []);
  const shared = { series: () => columns, version, phases: m.phases };
  const gates = m.gates.value;
  return (
    <section class="panel" aria-label={`Charts of ${name}`}>
      <div class="head">
        <h2>{name}</h2>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      {trouble.value && <p class="note">The past of this operation: {trouble.value}.</p>}
      <div class="charts">
        <Chart
          {...shared}
          title={`Response of ${name}`}
          unit="ms"
          lines={quantiles()}
          believed={{ gates, about: about.response }}
        />
        <Chart
          {...shared}
          title={`Rate of ${name}`}
          unit="per second"
          believed={{ gates, about: about.ops }}
          lines={[
            { name: "rate", label: "operations", color: "--a0", fill: true },
            { name: "errors", label: "errors", color: "--a1" },
          ]}
        />
      </div>
    </section>
  );
}

export function Errors({ model: m }: { model: RunModel }) {
  return (
    <Table<Failure>
      caption="Errors"
      rows={m.failures.value}
      id={f => `${f.class} ${f.op} ${f.text ?? ""}`}
      filter={f => `${f.class} ${f.op} ${f.text ?? ""}`}
      sort={["count", -1]}
      empty="No operation has failed."
      columns={[
        { name: "class", by: f => f.class, cell: f => <b>{f.class}</b> },
        { name: "operation", by: f => f.op, cell: f => f.op },
        { name: "text", wide: true, by: f => f.text ?? "", cell: f => f.text ?? "–" },
        { name: "count", number: true, by: f => f.count, cell: f => count(f.count) },
        { name: "first", title: "on the run's clock", number: true, by: f => f.first, cell: f => span(f.first) },
        { name: "last", title: "on the run's clock", number: true, by: f => f.last, cell: f => span(f.last) },
      ]}
    />
  );
}

export function Log({ lines }: { lines: LogLine[] }) {
  const kinds = useSignal("");
  const all = [...new Set(lines.map(l => l.kind))].sort();
  const rows = (kinds.value ? lines.filter(l => l.kind === kinds.value) : lines).slice(-400).reverse();
  return (
    <>
      <Table<LogLine>
        caption="Log, newest first"
        before={
          <Choice
            label="Kind"
            value={kinds}
            options={[{ value: "", text: "all" }, ...all.map(k => ({ value: k, text: k }))]}
          />
        }
        rows={rows}
        id={l => l.n}
        filter={l => `${l.kind} ${l.text}`}
        empty="Nothing has been logged."
        columns={[
          { name: "at", number: true, cell: l => span(l.at) },
          {
            name: "kind",
            cell: l => (
              <span class={l.level ? `level ${l.level}` : ""}>
                {l.kind}
                {l.level && `, ${l.level}`}
              </span>
            ),
          },
          { name: "text", wide: true, cell: l => l.text },
        ]}
      />
    </>
  );
}

export function Agents({ model: m }: { model: RunModel }) {
  const rows = m.agents.value,
    lost = rows.filter(a => a.state === "lost"),
    silent = rows.filter(a => a.state === "silent");
  const here = rows.filter(a => a.state === "here" || !a.state);
  return (
    <>
      <p class="lead">
        {here.length} of {rows.length} here, with {count(here.reduce((n, a) => n + (a.users ?? 0), 0))} users.
        {lost.length > 0 && <b class="bad"> Lost: {lost.map(a => a.name).join(", ")}. Their users are not counted.</b>}
        {silent.length > 0 && <b class="bad"> Silent: {silent.map(a => a.name).join(", ")}. The run waits for them.</b>}
      </p>
      <Table<Agent>
        caption="Agents"
        rows={rows}
        id={a => a.name}
        empty="This run names no agents."
        columns={[
          { name: "agent", by: a => a.name, cell: a => a.name },
          {
            name: "state",
            title: "silent: no report for 3 s, it may come back; ended: its users were stopped",
            by: a => a.state ?? "",
            cell: a => a.state ?? "here",
            kind: a => (a.state === "lost" ? "bad" : a.state === "silent" ? "level amber" : ""),
          },
          {
            name: "users",
            number: true,
            by: a => (a.state === "lost" ? 0 : a.users),
            cell: a => (a.state === "lost" ? "–" : count(a.users)),
          },
          {
            name: "lag",
            title: "the longest of the last one to two seconds",
            number: true,
            by: a => a.lag,
            cell: a => ms(a.lag),
          },
          { name: "CPU, cores", title: "1 is one core", number: true, by: a => a.cpu, cell: a => num(a.cpu) },
          {
            name: "clock",
            title: "ahead of the coordinator's",
            number: true,
            by: a => a.clock,
            cell: a => ms(a.clock),
          },
          {
            name: "last heard",
            number: true,
            by: a => a.heard,
            cell: a => (a.heard == null ? "–" : a.heard < 1.5 ? "now" : `${span(a.heard)} ago`),
          },
        ]}
      />
    </>
  );
}

export function Rules({ model: m }: { model: RunModel }) {
  const rules = m.rules.value;
  if (!rules.length) return <p class="soft">The plan has no rules, or the run has kept no value of them.</p>;
  return (
    <>
      <p class="note">
        A rule is at its limit at 100 % of it. Undecided: it has seen fewer operations than its minimum. A broken rule
        moves a search down, and in a bounded test it breaks the SLO.
      </p>
      <Table<Rule & { i: number }>
        caption="Rules"
        rows={rules.map((r, i) => ({ ...r, i }))}
        id={r => r.i}
        empty=""
        columns={[
          { name: "rule", by: r => r.rule, cell: r => <code>{r.rule}</code> },
          { name: "value", number: true, cell: r => measured(r.value, r.unit) },
          { name: "limit", number: true, cell: r => `${r.less ? "below" : "above"} ${measured(r.limit, r.unit)}` },
          { name: "of the limit", number: true, by: r => share(r), cell: r => percent(share(r), 0) },
          {
            name: "state",
            by: r => r.status,
            cell: r => (r.warning ? `${r.status} (a warning)` : r.status),
            kind: r => (r.status === "broken" ? "bad" : r.status === "holds" ? "good" : ""),
          },
          {
            name: "broken for",
            number: true,
            by: r => r.broken_for,
            cell: r => (r.broken_for == null ? "–" : `${num(r.broken_for)} s`),
          },
        ]}
      />
      <div class="charts small">
        {rules.map((r, i) => (
          <Chart
            key={r.rule + i}
            title={r.rule}
            unit={r.unit === "s" ? "time" : r.unit === "share" ? "share" : "value"}
            series={() => m.columns}
            version={m.version}
            phases={m.phases}
            format={v => measured(v ?? undefined, r.unit)}
            axis={v => measured(v, r.unit)}
            lines={[{ name: `rule.${i}`, label: "value", color: "--a0" }]}
            limits={(): Limit[] => [
              {
                value: r.limit,
                label: `limit ${measured(r.limit, r.unit)}`,
                broken: m.rules.value[i]?.status === "broken",
              },
            ]}
          />
        ))}
      </div>
    </>
  );
}

const share = (r: Rule) =>
  r.value == null || !r.limit ? undefined : r.less ? r.value / r.limit : r.limit / Math.max(r.value, 1e-12);

// Now: every chart of a run on one axis of time.

import { useComputed } from "@preact/signals";
import { about, Believe } from "./believe";
import { Chart, type Limit, type Line, type Mark } from "./chart";
import type { Rule } from "./api";
import type { RunModel } from "./model";
import { count, ms, num, percent, plural, span } from "./text";

const users: Line[] = [
  { name: "users.wanted", label: "wanted", color: "--soft", dash: true, steps: true },
  { name: "users.active", label: "active", color: "--a0" },
];
const ops: Line[] = [{ name: "ops", label: "operations", color: "--a0", fill: true }];
export const quantiles = (prefix = ""): Line[] => [
  { name: prefix + "p50", label: "p50", color: "--a2" },
  { name: prefix + "p95", label: "p95", color: "--a0" },
  { name: prefix + "p99", label: "p99", color: "--a1" },
];
const cpu: Line[] = [
  { name: "cpu.generator", label: "generator", color: "--a3" },
  { name: "cpu.app", label: "app itself", color: "--a0" },
  { name: "cpu.database", label: "database itself", color: "--a2" },
];

// limitsOf returns the rules that can be drawn on a chart, in the chart's unit.
function limitsOf(rules: Rule[], which: RegExp, unit: string, scale: number): Limit[] {
  return rules
    .filter(r => (r.unit ?? "") === unit && which.test(r.rule))
    .map(r => ({ value: r.limit * scale, label: r.rule, broken: r.status === "broken" }));
}
// cores are what rules on CPU read: how busy the role's cores are, by whomever.
const cores = (rules: Rule[]): Line[] =>
  rules.flatMap((r, i) =>
    /^\s*cpu\(/.test(r.rule)
      ? [{ name: `rule.${i}`, label: `${r.rule.split("<")[0]!.trim()}, with all others`, color: "--a4", dash: true }]
      : [],
  );
const latency = /^\s*(service\.)?(p[\d.]+|mean|max)\(/i;

export function Now({ model: m }: { model: RunModel }) {
  const classes = useComputed(() => {
    void m.version.value;
    return [...m.columns.by.keys()]
      .filter(n => n.startsWith("errors."))
      .sort()
      .join(" ");
  });
  const has = useComputed(() => {
    void m.version.value;
    return ["users.wanted", "users.active", "delivery.p50", "cpu.generator", "cpu.app", "cpu.database"]
      .filter(n => m.columns.by.has(n))
      .join(" ");
  });
  const names = classes.value ? classes.value.split(" ") : [];
  const palette = ["--a1", "--a0", "--a3", "--a2", "--a4", "--a5", "--a6", "--a7"];
  const errors: Line[] = names.length
    ? names.map((n, i) => ({ name: n, label: n.slice(7), color: palette[i % palette.length]! }))
    : [{ name: "errors", label: "all classes", color: "--a1" }];
  const over = m.link.value === "stored" || m.link.value === "over";
  const shared = { series: () => m.columns, version: m.version, phases: m.phases, over };
  const gates = m.gates.value;
  const rules = () => m.rules.value;
  const windows = (): Mark[] => m.windows.value.map(w => ({ at: w.at, value: w.users, kind: w.reading }));
  return (
    <>
      <Believe believe={m.believe.value} gates={gates} />
      <Figures model={m} />
      <p class="note">
        Time is the run's clock: seconds, from a minute on min:s. Bands are phases, red dashes the limits of rules. Drag
        to zoom, double click for all; with keys ← and → read values, + and - zoom, 0 shows all.
      </p>
      <div class="charts">
        <Chart
          {...shared}
          title="Users"
          unit="simulated users"
          lines={users.filter(l => has.value.includes(l.name) || m.link.value !== "stored")}
          names
          marks={windows}
          format={count}
          believed={{ gates, about: about.users }}
        />
        <Chart
          {...shared}
          title="Operations"
          unit="per second"
          lines={ops}
          names
          believed={{ gates, about: about.ops }}
        />
        <Chart
          {...shared}
          title="Response"
          unit="ms"
          lines={quantiles()}
          limits={() => limitsOf(rules(), latency, "s", 1000).filter(l => !/\(delivery\b/.test(l.label))}
          believed={{ gates, about: about.response }}
        />
        {has.value.includes("delivery") && (
          <Chart
            {...shared}
            title="Delivery"
            unit="ms, post sent to event received"
            lines={quantiles("delivery.")}
            limits={() => limitsOf(rules(), /\(delivery\b/, "s", 1000)}
            believed={{ gates, about: about.delivery }}
          />
        )}
        <Chart
          {...shared}
          title="Errors"
          unit="per second, by class"
          lines={errors}
          believed={{ gates, about: about.errors }}
        />
        {has.value.includes("cpu") && (
          <Chart
            {...shared}
            title="CPU"
            unit="share of the role's cores"
            lines={[...cpu.filter(l => has.value.includes(l.name)), ...cores(rules())]}
            format={v => percent(v)}
            axis={percent}
            limits={() => limitsOf(rules(), /^\s*cpu\(/, "share", 1)}
            believed={{ gates, about: about.cpu }}
          />
        )}
      </div>
      {m.windows.value.length > 0 && <WindowKeys />}
    </>
  );
}

// Figures are the present in numbers.
function Figures({ model: m }: { model: RunModel }) {
  const f = m.frame.value;
  if (!f) return null;
  const broken = m.rules.value.filter(r => r.status === "broken" && !r.warning);
  return (
    <dl class="figures">
      <Figure
        name="users"
        value={count(f.users.active)}
        of={`of ${count(f.users.wanted)} wanted${f.users.failed ? `, ${count(f.users.failed)} failed` : ""}`}
      />
      <Figure name="operations" value={num(f.ops)} of="/s" />
      <Figure name="response" value={ms(f.response?.p95)} of={`p95; p99 ${ms(f.response?.p99)}`} />
      {f.delivery && <Figure name="delivery" value={ms(f.delivery.p95)} of={`p95; ${num(f.delivery.rate)}/s`} />}
      <Figure name="errors" value={count(f.errors.total)} of={`${num(f.errors.rate)}/s`} />
      <Figure
        name="rules"
        value={broken.length ? `${broken.length} broken` : "none broken"}
        bad={broken.length > 0}
        of={broken[0]?.rule ?? `of ${plural(m.rules.value.length, "rule")}`}
      />
      {f.left != null && <Figure name="time left" value={span(f.left)} of="at most" />}
    </dl>
  );
}

const Figure = ({ name, value, of, bad }: { name: string; value: string; of: string; bad?: boolean }) => (
  <div class={bad ? "bad" : ""}>
    <dt>{name}</dt>
    <dd>
      <b>{value}</b> <span class="soft">{of}</span>
    </dd>
  </div>
);

export const WindowKeys = () => (
  <p class="note windows-key">
    Windows of the search: <i class="mark held" aria-hidden="true" /> held, <i class="mark broken" aria-hidden="true" />{" "}
    a rule was broken, <i class="mark unsound" aria-hidden="true" /> the generator was at its limit,{" "}
    <i class="mark undecided" aria-hidden="true" /> undecided.
  </p>
);

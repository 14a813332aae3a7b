// The page of one run, comparison or sizing, live or stored: its head, its views, and its state in plain words.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import {
  type End,
  type Failure,
  get,
  type Judged,
  type LogLine,
  type Operation,
  type Past,
  runOf,
  type Sizing,
  type StoredRun,
} from "./api";
import { useAsked, useGet, Waiting } from "./asked";
import { Comparison, UnderWay } from "./comparison";
import { Documents } from "./documents";
import { follow, staleFor } from "./follow";
import { Limiter } from "./limiter";
import { ComparisonModel, type Followed, RunModel } from "./model";
import { Now } from "./now";
import { SearchView } from "./search";
import { href, live, now, operator, shown, wholeOf } from "./state";
import { Steer, Stop } from "./steer";
import { Table } from "./table";
import { Agents, Errors, Log, Operations, Rules } from "./tables";
import { capacity, count, plural, span, when } from "./text";

// LivePage follows a run, comparison or sizing that serve knows.
export function LivePage({ id, view, kind }: { id: string; view: string; kind: string }) {
  const m = useMemo(() => (kind === "run" ? new RunModel(id) : new ComparisonModel(id)), [id, kind]);
  useEffect(() => {
    shown.value = null;
    return follow(m);
  }, [m]);
  if (m instanceof RunModel) return <RunPage model={m} view={view} page="live" />;
  return <ComparisonPage model={m} view={view} />;
}

function RunPage({
  model: m,
  view,
  page,
  more,
  stored,
}: {
  model: RunModel;
  view: string;
  page: "live" | "run";
  more?: ComponentChildren;
  stored?: StoredRun | null;
}) {
  const f = m.frame.value;
  const item = live.value.find(i => i.id === m.id);
  const what = f ?? stored ?? item;
  const alive = page === "live" && m.link.value !== "over";
  const views: [string, string][] = [["now", alive ? "Now" : "Charts"]];
  void m.version.value;
  if (f ? f.mode !== "fixed" : m.windows.value.length > 0 || m.columns.by.has("search.level"))
    views.push(["search", "Search"]);
  const failures = m.failures.value.reduce((n, f) => n + f.count, 0),
    lost = m.agents.value.filter(a => a.state === "lost").length,
    silent = m.agents.value.filter(a => a.state === "silent").length;
  const broken = m.rules.value.filter(r => r.status === "broken" && !r.warning).length;
  views.push(
    ["operations", "Operations"],
    ["errors", `Errors${failures ? ` (${count(failures)})` : ""}`],
    ["log", "Log"],
  );
  if (page === "live")
    views.push(["agents", `Agents${lost ? ` (${lost} lost)` : silent ? ` (${silent} silent)` : ""}`]);
  views.push(
    ["rules", `Rules${broken ? ` (${broken} broken)` : ""}`],
    ["limiter", alive ? "Limiter so far" : "Limiter"],
  );
  if (more || m.end.value?.documents?.length) views.push(["documents", "Documents"]);
  if (alive && operator.value) views.push(["steer", "Steer"]);
  const at = views.some(([v]) => v === view) ? view : "now";
  const of = f?.of?.id ?? stored?.of ?? item?.of;
  const exploratory = f?.exploratory ?? stored?.exploratory;
  return (
    <>
      <Head
        title={what?.plan || m.id}
        model={m}
        stored={stored ?? null}
        sub={[
          f?.verb ?? item?.verb,
          [what?.arm, what?.engine].filter(Boolean).join(" on "),
          f && `${f.phase}, ${span(f.at)} in`,
          what?.began && `began ${when(what.began)}`,
        ]}>
        {of && (
          <a href={wholeOf(of)}>
            part of {of}
            {f?.of?.block ? `, block ${f.of.block}` : ""}
          </a>
        )}
      </Head>
      {exploratory && (
        <p class="alert">
          This run is <b>exploratory</b> ({exploratory}): it was steered by hand and gets no verdict.
        </p>
      )}
      <Tabs views={views} at={at} page={page} id={m.id} />
      <div class="view">
        {at === "now" && <Now model={m} />}
        {at === "search" && <SearchView model={m} />}
        {at === "operations" && <Operations model={m} />}
        {at === "errors" && <Errors model={m} />}
        {at === "log" && <Log lines={m.log.value} />}
        {at === "agents" && <Agents model={m} />}
        {at === "rules" && <Rules model={m} />}
        {at === "limiter" && <Limiter id={m.id} live={alive} />}
        {at === "documents" && (
          <>
            {more}
            <Documents documents={m.end.value?.documents ?? []} />
          </>
        )}
        {at === "steer" && <Steer model={m} />}
      </div>
    </>
  );
}

function ComparisonPage({ model: m, view }: { model: ComparisonModel; view: string }) {
  const f = m.frame.value,
    item = live.value.find(i => i.id === m.id);
  const alive = m.link.value !== "over";
  // What is judged in the end comes with the report, a moment after the last run.
  const last = useAsked(
    async () => (alive || f?.kind === "sizing" ? null : get<Judged>(`/api/comparisons/${encodeURIComponent(m.id)}`)),
    [m.id, alive],
    { every: 1500, until: j => !j || (j.state !== "running" && (j.state !== "sealed" || !!j.documents?.length)) },
  ).value;
  const j = last ?? m.judged.value;
  const sizing = (f?.kind ?? item?.kind) === "sizing";
  const views: [string, string][] = [
    ["now", sizing ? "Sizing" : "Comparison"],
    ["log", "Log"],
  ];
  if (alive && operator.value) views.push(["steer", "Steer"]);
  const at = views.some(([v]) => v === view) ? view : "now";
  return (
    <>
      <Head
        title={j?.plan ?? f?.plan ?? m.id}
        model={m}
        stored={null}
        sub={[
          f?.verb ?? item?.verb,
          f?.mode,
          f && f.block ? `${sizing ? "step" : "block"} ${f.block} of ${f.blocks ?? "?"}` : "",
          item && `began ${when(item.began)}`,
        ]}
      />
      <Tabs views={views} at={at} page="live" id={m.id} />
      <div class="view">
        {at === "now" &&
          (sizing ? (
            <>
              {f && alive && <UnderWay frame={f} live />}
              <SizingSteps id={m.id} moment={`${f?.block} ${alive}`} />
            </>
          ) : (
            <Comparison judged={j} frame={f} live={alive} />
          ))}
        {at === "now" && m.end.value?.documents && !j?.documents?.length && (
          <Documents documents={m.end.value.documents} />
        )}
        {at === "log" && <Log lines={m.log.value} />}
        {at === "steer" && (
          <div class="controls">
            <Stop model={m} kind={sizing ? "sizing" : "comparison"} />
          </div>
        )}
      </div>
    </>
  );
}

function Head({
  title,
  model: m,
  sub,
  stored,
  children,
}: {
  title: string;
  model: Followed;
  sub: (string | false | null | undefined)[];
  stored: StoredRun | null;
  children?: ComponentChildren;
}) {
  return (
    <div class="page-head">
      <h1>{title}</h1>
      <State model={m} stored={stored} />
      <p class="sub soft">
        {sub.filter(Boolean).join(" · ")} {children}
      </p>
    </div>
  );
}

const ends: Record<End["state"], [string, string]> = {
  ended: ["ended", "It has ended; everything below is its last state."],
  interrupted: ["interrupted", "It was stopped before its end."],
  died: ["died", "Its process is gone and it was not sealed; everything below is the last that was heard."],
};

const because = (text: string, why?: string) => (why ? `${text.slice(0, -1)} (${why.replace(/\.$/, "")}).` : text);

// State says in words whether the page shows the present.
function State({ model: m, stored }: { model: Followed; stored: StoredRun | null }) {
  const stale = staleFor(m, now.value),
    end = m.end.value;
  const item = live.value.find(i => i.id === m.id);
  const resume = m instanceof ComparisonModel && m.frame.value?.kind !== "sizing" && end?.state !== "ended" && (
    <>
      <code>plimsoll compare -resume {m.id}</code> goes on with it.
    </>
  );
  if (end) {
    const [word, text] = ends[end.state];
    return (
      <p class={`state ${end.state}`} role="status">
        <b class="badge">{word}</b>{" "}
        {because(end.state === "ended" && end.valid === false ? "It has ended and is not valid." : text, end.why)}{" "}
        {resume}
      </p>
    );
  }
  if (m.link.value === "stored") {
    const valid = stored?.valid;
    return stored ? (
      <p
        class={`state ${stored.state === "died" ? "died" : stored.state !== "sealed" ? "interrupted" : valid === false ? "invalid" : "ended"}`}
        role="status">
        <b class="badge">{stored.state === "sealed" ? (valid === false ? "not valid" : "done") : stored.state}</b>{" "}
        {stored.result !== "invalid" && capacity(stored.result)} {stored.why}
        {stored.state === "died" &&
          " Its process is gone and it was not sealed; everything below is what it had written."}
      </p>
    ) : null;
  }
  if (item?.state === "died")
    return (
      <p class="state died" role="status">
        <b class="badge">died</b> {because(ends.died[1], item.why)} {resume}
      </p>
    );
  if (m.link.value === "trying") {
    return m.heard.value ? (
      <p class="state stale" role="status">
        <b class="badge">no connection</b> Last heard {span((now.value - m.heard.value) / 1000)} ago. The run goes on by
        itself; the page tries again.
      </p>
    ) : (
      <p class="state" role="status">
        <b class="badge">asking</b>
      </p>
    );
  }
  if (stale)
    return (
      <p class="state stale" role="status">
        <b class="badge">stale</b> Last heard {span(stale)} ago.
      </p>
    );
  return (
    <p class="state live" role="status">
      <b class="badge">live</b>
    </p>
  );
}

function Tabs({ views, at, page, id }: { views: [string, string][]; at: string; page: string; id: string }) {
  return (
    <nav class="tabs" aria-label="Views">
      {views.map(([v, name]) => (
        <a key={v} href={href(page, id, v)} aria-current={v === at ? "page" : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

// StoredPage is a run of the history: the same views, fed by requests.
export function StoredPage({ id, view }: { id: string; view: string }) {
  const m = useMemo(() => new RunModel(id), [id]);
  const { value: r, trouble } = useAsked(async () => {
    shown.value = null;
    m.link.value = "stored";
    const [r, past, ops, failures, events] = await Promise.all([
      get<StoredRun>(runOf(id)),
      get<Past>(`${runOf(id)}/series`),
      get<{ operations: Operation[] }>(`${runOf(id)}/operations`),
      get<{ failures: Failure[] }>(`${runOf(id)}/errors`),
      get<{ log: LogLine[] }>(`${runOf(id)}/events`),
    ]);
    m.past({ ...past, replace: true, phases: past.phases ?? r.phases ?? [] });
    m.gates.value = r.gates ?? [];
    m.believe.value = r.believe ?? null;
    m.operations.value = ops.operations;
    m.failures.value = failures.failures;
    m.addLog(events.log);
    return r;
  }, [m]);
  if (!r) return <Waiting what={`The run ${id}`} trouble={trouble} asking="Reading the run…" />;
  return (
    <RunPage
      model={m}
      view={view}
      page="run"
      stored={r}
      more={
        <>
          <Documents documents={r.documents ?? []} />
          {r.findings?.length ? (
            <>
              <h2>{plural(r.findings.length, "finding")}</h2>
              <ul>
                {r.findings.map(f => (
                  <li key={f.gate + f.text}>
                    <b class={`level ${f.level}`}>{f.level}</b> <b>{f.gate}</b>: {f.text}
                  </li>
                ))}
              </ul>
            </>
          ) : null}
          {r.plan_text && (
            <details class="fold">
              <summary>The plan</summary>
              <pre tabIndex={0}>{r.plan_text}</pre>
            </details>
          )}
        </>
      }
    />
  );
}

export function StoredComparison({ id }: { id: string }) {
  const { value: j, trouble } = useGet<Judged>(`/api/comparisons/${encodeURIComponent(id)}`);
  if (!j) return <Waiting what={`The comparison ${id}`} trouble={trouble} asking="Reading the comparison…" />;
  return (
    <>
      <div class="page-head">
        <h1>{j.plan}</h1>
        <p class={`state ${j.state === "sealed" ? "ended" : j.state}`}>
          <b class="badge">{j.state === "sealed" ? "done" : j.state}</b> {j.why}
        </p>
        <p class="sub soft">
          {["comparison", j.mode, j.began && `began ${when(j.began)}`, id].filter(Boolean).join(" · ")}
        </p>
      </div>
      <Comparison judged={j} frame={null} live={false} />
    </>
  );
}

type Step = Sizing["steps"][number];

export function SizingSteps({ id, moment, head }: { id: string; moment: string; head?: boolean }) {
  const { value: s, trouble } = useGet<Sizing>(`/api/sizings/${encodeURIComponent(id)}`, moment);
  if (!s) return <Waiting what="The sizing" trouble={trouble} asking="Reading the sizing…" />;
  return (
    <>
      {head && (
        <div class="page-head">
          <h1>{s.plan}</h1>
          <p class={`state ${s.state === "sealed" ? "ended" : s.state}`}>
            <b class="badge">{s.state === "sealed" ? "done" : s.state}</b>
          </p>
          <p class="sub soft">{["sizing", s.began && `began ${when(s.began)}`, id].filter(Boolean).join(" · ")}</p>
        </div>
      )}
      <p class="note">
        A step is one run of as many users. Its grade is by response times: the report has the rule, and the advice.
      </p>
      <Table<Step>
        caption="Steps"
        rows={s.steps}
        id={s => s.run}
        empty="No step has ended yet."
        columns={[
          { name: "users", number: true, by: s => s.users, cell: s => count(s.users) },
          { name: "grade", by: s => s.grade, cell: s => <b class={`grade k-${s.grade ?? ""}`}>{s.grade ?? "–"}</b> },
          { name: "valid", cell: s => (s.valid === false ? "no" : "yes"), kind: s => (s.valid === false ? "bad" : "") },
          { name: "lost", number: true, cell: s => s.lost ?? "", kind: s => (s.lost ? "bad" : "") },
          { name: "text", wide: true, cell: s => s.text ?? "" },
          { name: "run", cell: s => <a href={href("run", s.run, "now")}>{s.run}</a> },
        ]}
      />
      <Documents documents={s.documents ?? []} />
    </>
  );
}

export const StoredSizing = ({ id }: { id: string }) => <SizingSteps id={id} moment="" head />;

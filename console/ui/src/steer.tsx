// Steering: for operators only. Whoever changes the load by hand makes the run exploratory, and the page says so before.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Choice, Field, useGet, Waiting } from "./asked";
import { liveOf, type PlanFile, post, type Process, reason } from "./api";
import type { Followed, RunModel } from "./model";
import { look, session } from "./state";
import { count, plural, span, when } from "./text";

// Act is a form that asks the server to do something, and shows the sentence that comes of it.
function Act({
  title,
  button,
  act,
  danger,
  ready = true,
  wide,
  children,
}: {
  title: string;
  button: string;
  act: () => Promise<string>;
  danger?: boolean;
  ready?: boolean;
  wide?: boolean;
  children: ComponentChildren;
}) {
  const said = useSignal(""),
    failed = useSignal(false),
    busy = useSignal(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    busy.value = true;
    try {
      said.value = await act();
      failed.value = false;
    } catch (e) {
      said.value = reason(e);
      failed.value = true;
    }
    busy.value = false;
  };
  return (
    <form class={`control${wide ? " wide" : ""}`} onSubmit={submit} aria-label={danger ? undefined : title}>
      {!wide && <h2>{title}</h2>}
      {children}
      {ready && (
        <button type="submit" class={danger ? "danger" : ""} disabled={busy.value}>
          {button}
        </button>
      )}
      <p class={failed.value ? "said bad" : "said"} role="status">
        {said.value}
      </p>
    </form>
  );
}

const ask = async (m: Followed, what: string, body: unknown) =>
  (await post<{ done: string }>(`${liveOf(m.id)}/${what}`, body)).done;

const seconds = { type: "number" as const, required: true, min: "0", max: "600" };

// Stop ends a run, comparison or sizing in order; it asks once more.
export function Stop({ model: m, kind }: { model: Followed; kind: string }) {
  const sure = useSignal(false);
  const stop = async () => {
    sure.value = !sure.value;
    return sure.value ? "" : ask(m, "stop", {});
  };
  return (
    <section aria-label="Stop">
      <Act title="Stop" button={sure.value ? `Stop this ${kind}` : "Stop…"} danger act={stop}>
        <p class="note">The {kind} ends in order, as with ctrl-C: records are sealed, and it counts as interrupted.</p>
        {sure.value && (
          <p>
            <button
              type="button"
              onClick={() => {
                sure.value = false;
              }}>
              Let it run
            </button>
          </p>
        )}
      </Act>
    </section>
  );
}

export function Steer({ model: m }: { model: RunModel }) {
  const f = m.frame.value;
  return (
    <>
      {!f?.exploratory && (
        <p class="alert">
          Whatever is done here makes this run <b>exploratory</b>: it is marked so, and gets no verdict. It cannot be
          undone.
        </p>
      )}
      <div class="controls">
        <SetUsers model={m} />
        {f?.storms && f.storms.length > 0 && <Storm model={m} kinds={f.storms} />}
        <Stop model={m} kind="run" />
      </div>
    </>
  );
}

function SetUsers({ model: m }: { model: RunModel }) {
  const users = useSignal(""),
    over = useSignal("10");
  const f = m.frame.value,
    wanted = f?.users.wanted;
  const act = () => ask(m, "users", { users: Number(users.value), over: Number(over.value) });
  return (
    <Act title="Set users" button="Set users" act={act}>
      <Field
        label="Users"
        value={users}
        type="number"
        required
        min="0"
        max="1000000"
        placeholder={String(wanted ?? "")}
      />
      <Field label="over seconds" value={over} {...seconds} />
      <p class="note">
        {count(wanted)} are wanted now.{f && f.mode !== "fixed" && " A search for capacity sets its users itself."}
      </p>
    </Act>
  );
}

function Storm({ model: m, kinds }: { model: RunModel; kinds: string[] }) {
  const kind = useSignal(kinds[0]!),
    share = useSignal("20"),
    over = useSignal("5");
  const act = () => ask(m, "storm", { kind: kind.value, share: Number(share.value) / 100, over: Number(over.value) });
  return (
    <Act title="Inject a storm" button="Inject the storm" act={act}>
      <Choice label="Kind" value={kind} options={kinds.map(k => ({ value: k, text: k }))} />
      <Field label="% of the users" value={share} type="number" required min="1" max="100" />
      <Field label="over seconds" value={over} {...seconds} />
    </Act>
  );
}

// Start starts a plan in a process of its own, and lists those that were started here.
export function Start() {
  const file = useSignal(""),
    verb = useSignal(""),
    database = useSignal(""),
    arm = useSignal(""),
    begun = useSignal(0);
  const { value: found, trouble } = useGet<{ plans: PlanFile[] }>("/api/plans");
  const started = useGet<{ processes: Process[] }>("/api/started", begun.value, 3000).value?.processes ?? [];
  const plans = found?.plans ?? [];
  const p = plans.find(p => p.file === file.value);
  const chosen = p?.verbs.includes(verb.value) ? verb.value : (p?.verbs[0] ?? "");
  const single = chosen === "run" || chosen === "capacity";
  const act = async () => {
    const body = {
      plan: file.value,
      verb: chosen,
      ...(single && database.value ? { database: database.value } : {}),
      ...(single && arm.value ? { arm: arm.value } : {}),
    };
    const { pid } = await post<{ pid: number }>("/api/start", body);
    begun.value++;
    await look();
    return `Process ${pid} has started. It stands in the list above as soon as it has begun.`;
  };
  const pick = (label: string, value: typeof arm, from: string[] = []) =>
    single &&
    from.length > 1 && (
      <Choice
        label={label}
        value={value}
        options={[{ value: "", text: `${from[0]} (the first)` }, ...from.slice(1).map(v => ({ value: v, text: v }))]}
      />
    );
  return (
    <>
      <h1 class="first">Start a plan</h1>
      {!found && <Waiting what="The plans" trouble={trouble} asking="Reading the plans…" />}
      {found && (
        <Act title="Start a plan" button="Start" act={act} ready={!!p} wide>
          {!plans.length && (
            <p class="soft">
              {session.value?.plans
                ? "The directory of -plans has no file of the type .yaml or .yml."
                : "This server was started without a directory of plans: plimsoll serve -steer -plans DIR."}
            </p>
          )}
          {plans.length > 0 && (
            <Choice
              label="Plan"
              value={file}
              required
              options={[
                { value: "", text: "choose a plan", disabled: true },
                ...plans.map(p => ({
                  value: p.file,
                  text: `${p.file}: ${p.problem ?? p.name}`,
                  disabled: !!p.problem,
                })),
              ]}
            />
          )}
          {p && <Choice label="Verb" value={verb} at={chosen} options={p.verbs.map(v => ({ value: v, text: v }))} />}
          {pick("Database", database, p?.engines)}
          {pick("Arm", arm, p?.arms)}
          {p?.length != null && <p class="note">It takes {span(p.length)} at most.</p>}
          <p class="note">A plan that is started here gets its verdict, unless somebody steers it.</p>
        </Act>
      )}
      {started.length > 0 && (
        <section aria-label="Started here">
          <h2>Started here: {plural(started.length, "process", "processes")}</h2>
          {started.map(s => (
            <details class="fold" key={s.pid}>
              <summary>
                {s.verb} {s.plan}{" "}
                <span class="soft">
                  process {s.pid}, {when(s.began)},{" "}
                  {s.running ? "running" : `ended with status ${s.status ?? "unknown"}`}
                </span>
              </summary>
              <pre tabIndex={0}>{s.output || "It has printed nothing."}</pre>
            </details>
          ))}
        </section>
      )}
    </>
  );
}

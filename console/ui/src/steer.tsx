// Steering: for operators only. Whoever changes the load by hand makes the run exploratory, and the controls say so.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, liveOf, type PlanFile, post, type Process, reason } from "./api";
import type { Followed, RunModel } from "./model";
import { look, now, session } from "./state";
import { count, plural, span, when } from "./text";

// doing carries out a request and shows its sentence.
function useDoing() {
  const said = useSignal(""),
    failed = useSignal(false),
    busy = useSignal(false);
  const go = async (f: () => Promise<string>) => {
    busy.value = true;
    try {
      said.value = await f();
      failed.value = false;
    } catch (e) {
      said.value = reason(e);
      failed.value = true;
    }
    busy.value = false;
  };
  const line = (
    <p class={failed.value ? "said bad" : "said"} role="status">
      {said.value}
    </p>
  );
  return { go, line, busy: busy.value };
}

const Exploratory = () => (
  <p class="note">
    <b>exploratory</b>: a run that is steered by hand is marked so, and gets no verdict. It cannot be undone.
  </p>
);

// Stop ends a run, comparison or sizing in order; it asks once more.
export function Stop({ model: m, kind }: { model: Followed; kind: string }) {
  const sure = useSignal(false);
  const { go, line, busy } = useDoing();
  if (m.link.value === "over") return null;
  const stop = () =>
    go(async () => {
      sure.value = false;
      return (await post<{ done: string }>(`${liveOf(m.id)}/stop`, {})).done;
    });
  return (
    <section class="control" aria-label="Stop">
      <h2>Stop</h2>
      <p class="note">The {kind} ends in order, as with ctrl-C: records are sealed, and it counts as interrupted.</p>
      {sure.value ? (
        <p class="bar">
          <button type="button" class="danger" disabled={busy} onClick={stop}>
            Stop this {kind}
          </button>
          <button
            type="button"
            onClick={() => {
              sure.value = false;
            }}>
            Let it run
          </button>
        </p>
      ) : (
        <button
          type="button"
          class="danger"
          onClick={() => {
            sure.value = true;
          }}>
          Stop…
        </button>
      )}
      {line}
    </section>
  );
}

export function Steer({ model: m }: { model: RunModel }) {
  const f = m.frame.value;
  if (m.link.value === "over") return <p class="soft">The run is over: there is nothing to steer.</p>;
  return (
    <>
      {f?.exploratory ? (
        <p class="alert">
          This run is <b>exploratory</b> ({f.exploratory}): it gets no verdict.
        </p>
      ) : (
        <p class="alert">
          To set users or to inject a storm makes this run <b>exploratory</b>: it is marked so, and gets no verdict.
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
  const { go, line, busy } = useDoing();
  const wanted = m.frame.value?.users.wanted;
  const submit = (e: Event) => {
    e.preventDefault();
    void go(
      async () =>
        (
          await post<{ done: string }>(`${liveOf(m.id)}/users`, {
            users: Number(users.value),
            over: Number(over.value),
          })
        ).done,
    );
  };
  return (
    <form class="control" onSubmit={submit} aria-label="Set users">
      <h2>Set users</h2>
      <label>
        Users{" "}
        <input
          type="number"
          required
          min="0"
          max="1000000"
          step="1"
          value={users.value}
          placeholder={String(wanted ?? "")}
          onInput={e => {
            users.value = e.currentTarget.value;
          }}
        />
      </label>
      <label>
        over seconds{" "}
        <input
          type="number"
          required
          min="0"
          max="600"
          value={over.value}
          onInput={e => {
            over.value = e.currentTarget.value;
          }}
        />
      </label>
      <button type="submit" disabled={busy}>
        Set users
      </button>
      <p class="note">{count(wanted)} are wanted now.</p>
      <Exploratory />
      {line}
    </form>
  );
}

function Storm({ model: m, kinds }: { model: RunModel; kinds: string[] }) {
  const kind = useSignal(kinds[0]!),
    share = useSignal("20"),
    over = useSignal("5");
  const { go, line, busy } = useDoing();
  const submit = (e: Event) => {
    e.preventDefault();
    void go(
      async () =>
        (
          await post<{ done: string }>(`${liveOf(m.id)}/storm`, {
            kind: kind.value,
            share: Number(share.value) / 100,
            over: Number(over.value),
          })
        ).done,
    );
  };
  return (
    <form class="control" onSubmit={submit} aria-label="Inject a storm">
      <h2>Inject a storm</h2>
      <label>
        Kind{" "}
        <select
          value={kind.value}
          onChange={e => {
            kind.value = e.currentTarget.value;
          }}>
          {kinds.map(k => (
            <option key={k}>{k}</option>
          ))}
        </select>
      </label>
      <label>
        % of the users{" "}
        <input
          type="number"
          required
          min="1"
          max="100"
          value={share.value}
          onInput={e => {
            share.value = e.currentTarget.value;
          }}
        />
      </label>
      <label>
        over seconds{" "}
        <input
          type="number"
          required
          min="0"
          max="600"
          value={over.value}
          onInput={e => {
            over.value = e.currentTarget.value;
          }}
        />
      </label>
      <button type="submit" disabled={busy}>
        Inject the storm
      </button>
      <Exploratory />
      {line}
    </form>
  );
}

// Start starts a plan in a process of its own, and lists those that were started here.
export function Start() {
  const plans = useSignal<PlanFile[] | null>(null),
    started = useSignal<Process[]>([]),
    trouble = useSignal("");
  const file = useSignal(""),
    verb = useSignal(""),
    database = useSignal(""),
    arm = useSignal("");
  const { go, line, busy } = useDoing();
  const list = async () => {
    started.value = (await get<{ processes: Process[] }>("/api/started")).processes;
  };
  useEffect(() => {
    get<{ plans: PlanFile[] }>("/api/plans").then(
      p => {
        plans.value = p.plans;
      },
      e => {
        trouble.value = reason(e);
      },
    );
  }, []);
  useEffect(() => {
    void list().catch(() => {});
  }, [Math.floor(now.value / 3000)]);
  const p = plans.value?.find(p => p.file === file.value);
  const chosen = p?.verbs.includes(verb.value) ? verb.value : (p?.verbs[0] ?? "");
  const single = chosen === "run" || chosen === "capacity";
  const submit = (e: Event) => {
    e.preventDefault();
    void go(async () => {
      const body = {
        plan: file.value,
        verb: chosen,
        ...(single && database.value ? { database: database.value } : {}),
        ...(single && arm.value ? { arm: arm.value } : {}),
      };
      const { pid } = await post<{ pid: number }>("/api/start", body);
      await Promise.all([list(), look()]);
      return `Process ${pid} has started. It stands in the list above as soon as it has begun.`;
    });
  };
  const pick = (name: string, value: { value: string }, from: string[] | undefined) =>
    single &&
    from &&
    from.length > 1 && (
      <label>
        {name}{" "}
        <select
          value={value.value}
          onChange={e => {
            value.value = e.currentTarget.value;
          }}>
          <option value="">first</option>
          {from.map(v => (
            <option key={v}>{v}</option>
          ))}
        </select>
      </label>
    );
  return (
    <>
      <h1 class="first">Start</h1>
      <form class="control wide" onSubmit={submit} aria-label="Start a plan">
        <h2>Start a plan</h2>
        {trouble.value && <p class="alert">{trouble.value}.</p>}
        {plans.value?.length === 0 && (
          <p class="soft">
            {session.value?.plans ? "The directory has no plans." : "This server was started without -plans."}
          </p>
        )}
        {plans.value && plans.value.length > 0 && (
          <>
            <label>
              Plan{" "}
              <select
                required
                value={file.value}
                onChange={e => {
                  file.value = e.currentTarget.value;
                }}>
                <option value="" disabled>
                  choose a plan
                </option>
                {plans.value.map(p => (
                  <option key={p.file} value={p.file} disabled={!!p.problem}>
                    {p.file}: {p.problem ?? p.name}
                  </option>
                ))}
              </select>
            </label>
            {p && (
              <label>
                Verb{" "}
                <select
                  value={chosen}
                  onChange={e => {
                    verb.value = e.currentTarget.value;
                  }}>
                  {p.verbs.map(v => (
                    <option key={v}>{v}</option>
                  ))}
                </select>
              </label>
            )}
            {pick("Database", database, p?.engines)}
            {pick("Arm", arm, p?.arms)}
            <button type="submit" disabled={busy || !p}>
              Start
            </button>
            {p?.length != null && <p class="note">It takes {span(p.length)} at most.</p>}
            <p class="note">
              A plan that is started here runs as the plan says: it gets its verdict, unless somebody steers it.
            </p>
          </>
        )}
        {line}
      </form>
      {started.value.length > 0 && (
        <section aria-label="Started here">
          <h2>Started here: {plural(started.value.length, "process", "processes")}</h2>
          {started.value.map(s => (
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

// The limiter so far: the indicators with their evidence, asked for again while the run is under way.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, type Limiter as LimiterOf, reason, runOf } from "./api";

const every = 10_000; // ms

export function Limiter({ id, live }: { id: string; live: boolean }) {
  const found = useSignal<LimiterOf | null>(null);
  const trouble = useSignal("");
  useEffect(() => {
    let gone = false,
      timer = 0;
    const ask = async () => {
      try {
        const l = await get<LimiterOf>(`${runOf(id)}/limiter`);
        if (!gone) {
          found.value = l;
          trouble.value = "";
        }
      } catch (e) {
        if (!gone) trouble.value = reason(e);
      }
      if (live && !gone) timer = window.setTimeout(ask, every);
    };
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [id, live]);
  const l = found.value;
  if (!l) return <p class="soft">{trouble.value ? `The limiter: ${trouble.value}.` : "Reading the evidence…"}</p>;
  const order = { named: 0, suspect: 1, cleared: 2 };
  return (
    <>
      <p class="lead">
        Limiter{l.so_far && " so far"}: <b>{l.name || "unknown"}</b>
        {l.text && `. ${l.text}`}
      </p>
      <ul class="indicators">
        {[...(l.indicators ?? [])]
          .sort((a, b) => order[a.state ?? "cleared"] - order[b.state ?? "cleared"])
          .map(i => (
            <li key={i.name} class={i.state ?? ""}>
              <span class="state">{i.state ?? "seen"}</span> <b>{i.name}</b> <span>{i.text}</span>
            </li>
          ))}
      </ul>
      {!l.indicators?.length && <p class="soft">No indicator has been read{l.so_far ? " yet" : ""}.</p>}
      {trouble.value && <p class="note">The last request failed: {trouble.value}.</p>}
    </>
  );
}

// The limiter so far: the indicators with their evidence, asked for again while the run is under way.

import { type Limiter as LimiterOf, runOf } from "./api";
import { useGet, Waiting } from "./asked";

const every = 10_000; // ms

export function Limiter({ id, live }: { id: string; live: boolean }) {
  const { value: l, trouble } = useGet<LimiterOf>(`${runOf(id)}/limiter`, live, live ? every : 0);
  if (!l) return <Waiting what="The limiter" trouble={trouble} asking="Reading the evidence…" />;
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
      {trouble && <p class="note">The last request failed: {trouble}.</p>}
    </>
  );
}

// The limiter so far: the indicators with their evidence, asked for again while the run is under way.

import { type Limiter as LimiterOf, runOf } from "./api";
import { useGet, Waiting } from "./asked";
import { plural } from "./text";

const every = 10_000; // ms

export function Limiter({ id, live }: { id: string; live: boolean }) {
  const { value: l, trouble } = useGet<LimiterOf>(`${runOf(id)}/limiter`, live, live ? every : 0);
  if (!l) return <Waiting what="The limiter" trouble={trouble} asking="Reading the evidence…" />;
  const all = l.indicators ?? [],
    cleared = all.filter(i => i.state === "cleared");
  const list = (of: typeof all) => (
    <ul class="indicators">
      {of.map(i => (
        <li key={i.name + i.text} class={i.state ?? ""}>
          <span class="state">{i.state ?? "seen"}</span> {!i.text.includes(i.name) && <b>{i.name} </b>}
          <span>{i.text}</span>
        </li>
      ))}
    </ul>
  );
  return (
    <>
      <p class="lead">
        Limiter{l.so_far && " so far"}: <b>{l.name || "unknown"}</b>
        {l.text && `. ${l.text}`}
      </p>
      {list(all.filter(i => i.state === "named"))}
      {list(all.filter(i => i.state !== "named" && i.state !== "cleared"))}
      {cleared.length > 0 && (
        <details class="fold">
          <summary>{plural(cleared.length, "indicator")} cleared: they were not at their limits</summary>
          {list(cleared)}
        </details>
      )}
      {!l.indicators?.length && <p class="soft">No indicator has been read{l.so_far ? " yet" : ""}.</p>}
      {trouble && <p class="note">The last request failed: {trouble}.</p>}
    </>
  );
}

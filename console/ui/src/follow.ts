// Following one run, comparison or sizing: an EventSource that comes back by itself, and with Last-Event-ID after the
// server has been away. A tab that nobody looks at lets its connection go after a minute: a browser has six per host.

import { liveOf, type ComparisonFrame, type End, type Frame, type Judged, type Past } from "./api";
import { ComparisonModel, type Followed, RunModel } from "./model";

const hiddenFor = 60_000; // ms
const retries = [500, 1000, 2000, 4000]; // ms; the last one again and again

// follow feeds a model until the function that it returns is called.
export function follow(m: RunModel | ComparisonModel): () => void {
  let source: EventSource | null = null,
    timer = 0,
    hiding = 0,
    tries = 0,
    over = false;

  const close = () => {
    source?.close();
    source = null;
    clearTimeout(timer);
  };
  const again = () => {
    if (over) return;
    clearTimeout(timer);
    timer = window.setTimeout(open, retries[Math.min(tries++, retries.length - 1)]!);
  };
  const open = () => {
    close();
    const last = m.lastSeq >= 0 ? `?last=${m.lastSeq}` : "";
    source = new EventSource(`${liveOf(m.id)}/stream${last}`);
    source.onopen = () => {
      tries = 0;
    };
    source.onerror = () => {
      m.link.value = "trying";
      close();
      again();
    };
    const on = <T>(name: string, f: (value: T, seq: number) => void) =>
      source!.addEventListener(name, e => {
        m.link.value = "live";
        const { data, lastEventId } = e as MessageEvent<string>;
        f(JSON.parse(data) as T, Number(lastEventId));
      });
    on<Past>("past", (p, seq) => {
      if (m instanceof RunModel) m.past(p, seq);
    });
    on<Judged>("judged", j => {
      if (m instanceof ComparisonModel) m.judged.value = j;
    });
    on<Frame & ComparisonFrame>("frame", f => {
      const at = performance.now();
      if (m.heard.value) m.every = 0.7 * m.every + 0.3 * Math.min(at - m.heard.value, 10_000);
      m.heard.value = at;
      m.take(f);
    });
    on<End>("end", e => {
      over = true;
      m.end.value = e;
      m.link.value = "over";
      close();
    });
  };
  const looked = () => {
    clearTimeout(hiding);
    if (over) return;
    if (document.hidden) hiding = window.setTimeout(close, hiddenFor);
    else if (!source) open();
  };
  document.addEventListener("visibilitychange", looked);
  open();
  return () => {
    over = true;
    close();
    clearTimeout(hiding);
    document.removeEventListener("visibilitychange", looked);
  };
}

// staleFor returns the seconds since the last frame when they are too many, else 0.
export function staleFor(m: Followed, now: number): number {
  if (m.link.value === "over" || m.link.value === "stored" || !m.heard.value) return 0;
  const s = (now - m.heard.value) / 1000;
  return s > Math.max(3, (3 * m.every) / 1000) ? s : 0;
}

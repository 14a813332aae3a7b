// A RunModel is one run as the page knows it, live or stored; its signals change, its columns grow in place and bump
// `version`. A ComparisonModel is the same for comparisons and sizings.

import { signal, type Signal } from "@preact/signals";
import type {
  Agent,
  ComparisonFrame,
  End,
  Failure,
  Frame,
  Gate,
  Judged,
  LogLine,
  Operation,
  Past,
  Phase,
  Rule,
  Search,
  SearchWindow,
  Value,
} from "./api";
import { Columns } from "./columns";

// A Link is the state of the stream: trying (no connection), live, over (it ended), stored (there is none), refused.
export type Link = "trying" | "live" | "over" | "stored" | "refused";

const logLimit = 1000;
const windowLimit = 1500;

export class Followed {
  readonly link: Signal<Link> = signal<Link>("trying");
  readonly heard = signal(0); // performance.now() of the last frame; 0 before it
  every = 0; // ms between frames, a mean: in a duet the seconds of a run are longer
  readonly end = signal<End | null>(null);
  readonly refusal = signal("");
  readonly log = signal<LogLine[]>([]);
  lastSeq = -1;

  constructor(readonly id: string) {}

  addLog(lines: LogLine[] | undefined): void {
    if (!lines?.length) return;
    const last = this.log.value.at(-1)?.n ?? 0;
    const fresh = lines.filter(l => l.n > last);
    if (fresh.length) this.log.value = [...this.log.value, ...fresh].slice(-logLimit);
  }
}

export class RunModel extends Followed {
  readonly columns = new Columns();
  readonly version = signal(0);
  readonly frame = signal<Frame | null>(null);
  readonly phases = signal<Phase[]>([]);
  readonly gates = signal<Gate[]>([]);
  readonly believe = signal<Gate | null>(null);
  readonly rules = signal<Rule[]>([]);
  readonly windows = signal<SearchWindow[]>([]);
  readonly search = signal<Search | null>(null);
  readonly operations = signal<Operation[]>([]);
  readonly more = signal(0);
  readonly failures = signal<Failure[]>([]);
  readonly agents = signal<Agent[]>([]);
  // Readings of one operation, by name; kept for those that were looked at.
  readonly watched = new Map<string, Columns>();
  private classes: Record<string, number> | null = null;

  // past takes what serve has kept up to a frame.
  past(p: Past, seq = -1): void {
    this.columns.take(p);
    this.lastSeq = Math.max(this.lastSeq, seq);
    this.classes = null;
    if (p.phases) this.phases.value = p.phases;
    if (p.rules && !this.rules.value.length) this.rules.value = p.rules;
    if (p.replace !== false) {
      this.windows.value = [];
      this.log.value = [];
    }
    if (p.search) this.search.value = p.search;
    this.addWindows(p.windows ?? p.search?.windows);
    this.addLog(p.log);
    this.version.value++;
  }

  take(f: Frame): void {
    const again = f.seq <= this.lastSeq;
    this.frame.value = f;
    this.lastSeq = f.seq;
    if (f.phases) this.phases.value = f.phases;
    this.gates.value = f.gates;
    this.believe.value = f.believe ?? null;
    this.rules.value = f.rules;
    this.search.value = f.search ?? null;
    this.addWindows(f.search?.windows);
    this.addLog(f.log);
    this.operations.value = f.operations ?? [];
    this.more.value = f.more_operations ?? 0;
    this.failures.value = f.failures ?? [];
    this.agents.value = f.agents ?? [];
    this.version.value++;
    if (again) { // a second that is known: the last of a past, or one in which the agents alone are new
      this.classes ??= f.errors.classes ?? {};
      return;
    }
    this.columns.add(f.at, this.readings(f));
    for (const [name, columns] of this.watched) {
      const o = f.operations?.find(o => o.name === name);
      if (o) columns.add(f.at, { rate: o.rate, p50: o.p50, p95: o.p95, p99: o.p99 });
    }
    this.version.value++;
  }

  private readings(f: Frame): Record<string, Value | undefined> {
    const out: Record<string, Value | undefined> = {
      "users.wanted": f.users.wanted,
      "users.active": f.users.active,
      ops: f.ops,
      p50: f.response?.p50,
      p95: f.response?.p95,
      p99: f.response?.p99,
      "delivery.p50": f.delivery?.p50,
      "delivery.p95": f.delivery?.p95,
      "delivery.p99": f.delivery?.p99,
      errors: f.errors.rate,
      "cpu.generator": f.cpu?.generator,
      "cpu.app": f.cpu?.app,
      "cpu.database": f.cpu?.database,
      "search.level": f.search?.level,
      "search.lo": f.search?.lo,
      "search.hi": f.search?.hi,
    };
    f.rules.forEach((r, i) => {
      out[`rule.${i}`] = r.value;
    });
    const before = this.classes,
      now = f.errors.classes ?? {};
    if (before) for (const c in now) out[`errors.${c}`] = Math.max(0, now[c]! - (before[c] ?? 0));
    this.classes = now;
    return out;
  }

  private addWindows(windows: SearchWindow[] | undefined): void {
    if (!windows?.length) return;
    const last = this.windows.value.at(-1)?.n ?? 0;
    const fresh = windows.filter(w => w.n > last);
    if (fresh.length) this.windows.value = [...this.windows.value, ...fresh].slice(-windowLimit);
  }
}

export class ComparisonModel extends Followed {
  readonly frame = signal<ComparisonFrame | null>(null);
  readonly judged = signal<Judged | null>(null);

  take(f: ComparisonFrame): void {
    this.frame.value = f;
    this.lastSeq = f.seq;
    this.addLog(f.log);
  }
}

// The wire: the shapes of console/openapi.yaml and the requests that the page makes. Nothing here computes.

export type Kind = "run" | "comparison" | "sizing";
export type Color = "green" | "amber" | "red" | "gray";

export interface Session { role: "none" | "viewer" | "operator"; login: boolean; plans?: boolean; version: string }
export interface LiveItem {
  kind: Kind; id: string; verb?: string; plan?: string; arm?: string; engine?: string; of?: string; pid?: number;
  state: "running" | "silent" | "ended" | "died"; why?: string; began: string; heard?: string; exploratory?: string;
}
export interface Quantiles { p50?: number; p95?: number; p99?: number }
export interface Phase { name: string; from: number; to?: number }
export interface Gate { name: string; color: Color; text: string }
export interface Rule {
  rule: string; value?: number; limit: number; less: boolean; unit?: string;
  status: "holds" | "broken" | "no data" | "undecided"; broken_for?: number; warning?: boolean;
}
export interface SearchWindow {
  n: number; at: number; users: number; reading: "held" | "broken" | "unsound" | "undecided"; ratio?: number;
  rule?: string;
}
export interface Search {
  level: number; step?: string; why?: string; estimate?: number; lo?: number; hi?: number; bound?: number;
  forecast?: string; windows: SearchWindow[]; result?: string;
}
export interface Operation {
  name: string; count: number; errors?: number; rate?: number; p50?: number; p95?: number; p99?: number;
  asked?: number; done?: number;
}
export interface Failure { class: string; op: string; text?: string; count: number; first: number; last: number }
export interface LogLine { n: number; at: number; kind: string; text: string; level?: "amber" | "red" }
export interface Agent {
  name: string; users?: number; lag?: number; cpu?: number; clock?: number; heard?: number;
  state?: "here" | "silent" | "lost" | "ended";
}
export interface Part {
  id: string; block?: number; blocks?: number; order?: number; pilot?: boolean; duet?: boolean; turn?: boolean;
}
export interface Frame {
  kind: "run"; id: string; seq: number; at: number; began: string; verb: string; plan: string; mode: string;
  arm?: string; engine?: string; of?: Part; exploratory?: string; phase: string; phases?: Phase[]; left?: number;
  users: { wanted: number; active: number; failed?: number }; ops: number;
  response?: Quantiles; delivery?: Quantiles & { rate?: number };
  errors: { total: number; rate: number; classes?: Record<string, number> };
  cpu?: { generator?: number; app?: number; database?: number };
  believe?: Gate; gates: Gate[]; rules: Rule[]; search?: Search; operations?: Operation[]; more_operations?: number;
  failures?: Failure[]; log?: LogLine[]; agents?: Agent[]; storms?: string[];
}
export interface RunNow {
  id?: string; arm: string; engine?: string; phase?: string; turn?: boolean; active?: number; ops?: number;
  p95?: number; errors?: number;
}
export interface ComparisonFrame {
  kind: "comparison" | "sizing"; id: string; seq: number; at: number; began: string; verb: string; plan: string;
  mode: string; exploratory?: string; step: string; text?: string; left?: number; block?: number; blocks?: number;
  again?: boolean; arms?: string[]; engines?: string[]; runs?: RunNow[]; log?: LogLine[];
}
export type Value = number | null;
export interface Points { mean: Value[]; min?: Value[]; max?: Value[] }
export interface Past {
  step: number; t: number[]; series: Record<string, Points>; phases?: Phase[]; rules?: Rule[];
  windows?: SearchWindow[]; search?: Search; log?: LogLine[]; replace?: boolean;
}
export interface Doc { name: string; href: string }
export interface End { state: "ended" | "interrupted" | "died"; why?: string; valid?: boolean; documents?: Doc[] }
export interface Endpoint {
  name: string; test: "bounded" | "unbounded"; unit?: string; better?: "lower" | "higher"; primary?: boolean;
}
export interface Dots { endpoint: string; engine: string; arm: string; values: [number, number][] }
export interface Difference {
  endpoint: string; engine: string; arm: string; n: number; pairs?: [number, number][]; effect?: number; lo?: number;
  hi?: number; margin?: number; absolute?: boolean; level?: number; kind: string; finds?: number; needs?: number;
  text?: string;
}
export interface Judged {
  id: string; plan: string; state: string; why?: string; mode?: string; exploratory?: string; arms: string[];
  engines?: string[]; blocks?: number; done?: number; by_cost?: number; began?: string; left?: number; endpoints: Endpoint[];
  dots: Dots[]; differences: Difference[];
  verdicts: { engine: string; arm: string; kind: string; text?: string; indicative?: boolean; why?: string[] }[];
  limiters?: {
    engine: string; arm: string; searches: number; named: { name: string; n: number }[];
    rules: { name: string; n: number }[]; text?: string;
  }[];
  outlook?: string[];
  runs?: {
    run: string; arm: string; engine: string; block: number; order?: number; pilot?: boolean; valid: boolean;
    dropped?: boolean; why?: string;
  }[];
  documents?: Doc[];
}
export interface HistoryItem {
  kind: Kind; id: string; plan: string; began: string; state: string; valid?: boolean; exploratory?: string;
  arm?: string; engine?: string; of?: string; block?: number; result?: string; runs?: number; digest?: string;
  documents?: Doc[];
}
export interface History { items: HistoryItem[]; total: number; warnings?: string[] }
export interface StoredRun extends HistoryItem {
  why?: string; length?: number; phases?: Phase[]; believe?: Gate; gates?: Gate[];
  findings?: { gate: string; level: "amber" | "red"; text: string }[]; plan_text?: string;
}
export interface Limiter {
  name: string; so_far?: boolean; text?: string;
  indicators?: { name: string; text: string; state?: "named" | "suspect" | "cleared" }[];
}
export interface Sizing {
  id: string; plan: string; state: string; began?: string;
  steps: { run: string; users: number; grade?: string; valid?: boolean; text?: string; lost?: number }[]; documents?: Doc[];
}
export interface Trend {
  lines: {
    plan: string; engine?: string; endpoint: string; unit?: string;
    points: { at: string; value: number; lo?: number; hi?: number; version?: string; id?: string; change?: number }[];
  }[];
  warnings?: string[];
}
export interface PlanFile {
  file: string; name: string; verbs: string[]; arms?: string[]; engines?: string[]; length?: number; problem?: string;
}
export interface Process {
  pid: number; verb: string; plan: string; began: string; running: boolean; status?: number; output?: string;
}

// A Refusal is an answer that is not 2xx: its status and the server's sentence.
export class Refusal extends Error {
  constructor(readonly status: number, message: string) { super(message); }
}

// onLogin is called when an answer shows that the session is over.
let onLogin = () => {};
export const whenLoggedOut = (f: () => void) => { onLogin = f; };

const deadline = 25_000; // ms; serve looks for a limiter for 20 s

async function ask<T>(path: string, init?: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, credentials: "same-origin", signal: AbortSignal.timeout(deadline) });
  } catch {
    throw new Refusal(0, "serve does not answer");
  }
  const body: unknown = await answer.json().catch(() => ({}));
  if (answer.ok) return body as T;
  if (answer.status === 401 && path !== "/api/login") onLogin();
  const text = (body as { error?: unknown }).error;
  throw new Refusal(answer.status, typeof text === "string" ? text : `status ${answer.status}`);
}

export const get = <T>(path: string): Promise<T> => ask<T>(path);
export const post = <T>(path: string, body: unknown): Promise<T> =>
  ask<T>(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const liveOf = (id: string) => `/api/live/${encodeURIComponent(id)}`;
export const runOf = (id: string) => `/api/runs/${encodeURIComponent(id)}`;
export const reason = (e: unknown) => e instanceof Error ? e.message : String(e);

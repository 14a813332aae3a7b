// Numbers and times as the report prints them.

const digits = (v: number) => {
  const a = Math.abs(v);
  return a === 0 || a >= 100 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : 3;
};

// count prints a whole number with thin groups: 20,411.
export const count = (v: number | undefined | null): string =>
  v == null ? "–" : Math.round(v).toLocaleString("en-US");

// num prints three to four significant digits, and more decimals where they are asked for.
export const num = (v: number | undefined | null, more = 0): string => v == null ? "–"
  : Math.abs(v) >= 1000 ? v.toLocaleString("en-US", { maximumFractionDigits: more }) : String(+v.toFixed(digits(v) + more));

// ms prints milliseconds, and seconds from ten on.
export const ms = (v: number | undefined | null): string =>
  v == null ? "–" : v >= 10_000 ? `${num(v / 1000)} s` : `${num(v)} ms`;

export const percent = (v: number | undefined | null, places = 1): string =>
  v == null ? "–" : v > 0 && 100 * v < 0.5 * 10 ** -places ? `< ${10 ** -places} %` : `${+(100 * v).toFixed(places)} %`;

export type Print = (v: number, more: number) => string;

// apart prints the values of an axis with the fewest more decimals by which no two labels are alike.
export const apart = (vs: number[], print: Print, more = 0): string[] => {
  const labels = vs.map(v => print(v, more));
  return more === 6 || new Set(labels).size === labels.length ? labels : apart(vs, print, more + 1);
};

// signed prints a difference with its sign.
export const signed = (v: number, absolute?: boolean, more = 0): string => {
  const text = absolute ? num(Math.abs(v), more) : percent(Math.abs(v), 1 + more);
  return (v < 0 ? "−" : v > 0 ? "+" : "") + text;
};

// span prints seconds as 41 s, 3 min 20 s, 1 h 5 min.
export const span = (s: number | undefined | null): string => {
  if (s == null) return "–";
  const v = Math.max(0, Math.round(s));
  if (v < 180) return `${v} s`;
  if (v < 10_800) return `${Math.floor(v / 60)} min${v % 60 ? ` ${v % 60} s` : ""}`;
  return `${Math.floor(v / 3600)} h ${Math.floor(v % 3600 / 60)} min`;
};

// when prints a time of day in the reader's zone, with the date unless it is today.
export const when = (iso: string | undefined): string => {
  const d = new Date(iso ?? NaN);
  if (Number.isNaN(+d)) return "–";
  const two = (n: number) => String(n).padStart(2, "0");
  const clock = `${two(d.getHours())}:${two(d.getMinutes())}`;
  const date = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  return d.toDateString() === new Date().toDateString() ? clock : `${date} ${clock}`;
};

// measured prints a rule's value or limit in its unit.
export const measured = (v: number | undefined, unit: string | undefined): string => v == null ? "–"
  : unit === "s" ? (Math.abs(v) < 1 ? `${num(v * 1000)} ms` : `${num(v)} s`)
  : unit === "share" ? percent(v, 3) : num(v);

// capacity prints the result of a search with its unit; one that is no number stands as it is.
export const capacity = (result: string | undefined): string =>
  /^[\d,.]+( \(.*\))?$/.test(result ?? "") ? `${result} users` : (result ?? "");

export const plural = (n: number, one: string, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

// "May this be believed?": the gates that bear on a chart, the worst of them first, with the sentence that says why.

import type { Color, Gate } from "./api";

export interface Believed {
  gates: Gate[];
  about: string[] | null;
}

const rank: Record<Color, number> = { red: 3, amber: 2, green: 1, gray: 0 };
const word: Record<Color, string> = { red: "red", amber: "amber", green: "green", gray: "not measured" };
export const byColor = (a: Gate, b: Gate) => rank[b.color] - rank[a.color];

// The gates of docs/validity.md that each chart depends on. Those of the host bear on every chart.
const host = ["steal", "target_steal", "others", "throttled", "memory"];
const generator = ["lag", "late", "cpu", "core", "sched", "pause", "gc", "drops", "headroom"];
export const about = {
  users: ["users", "rate", "shares", "fds", "fds_free", "ports", "headroom"],
  ops: ["rate", "lag", "late", "bursts", "little", "headroom"],
  response: [...generator, "wait", ...host],
  delivery: ["inbox", "clock", ...generator, ...host],
  errors: ["fds", "fds_free", "ports", "memory", "wait", "drops"],
  cpu: ["cpu", "core", ...host],
};

// bears reports whether a gate bears on a chart; one that no chart names bears on all.
const known = new Set(Object.values(about).flat());
const bears = (gate: string, about: string[] | null) => !about || about.includes(gate) || !known.has(gate);

// answer is the worst color of those gates, the sentence of the worst, and that of all that are not green.
function answer({ gates, about }: Believed): { color: Color; text: string; all?: string } {
  const mine = gates.filter(g => bears(g.name, about)).sort(byColor);
  const worst = mine[0];
  if (!worst || worst.color === "gray") return { color: "gray", text: "no gate that bears on this was measured" };
  const n = mine.filter(g => g.color === "green").length;
  if (worst.color === "green")
    return {
      color: "green",
      text: n === 1 ? `${worst.name}: ${worst.text}` : `all ${n} gates that bear on this are green`,
    };
  const bad = mine.filter(g => g.color === "amber" || g.color === "red");
  return {
    color: worst.color,
    text: worst.text + (bad.length > 1 ? `; and ${bad.length - 1} more` : ""),
    all: bad.map(g => g.text).join("; "),
  };
}

// Gates is the answer beside a chart.
export function Gates(p: Believed) {
  const a = answer(p);
  return (
    <span class={`believe ${a.color}`}>
      <Light color={a.color} />
      <span class="why" title={a.all}>
        {a.text}
      </span>
    </span>
  );
}

// A Light is told by its shape and its name, not by color alone.
export const Light = ({ color }: { color: Color }) => (
  <span class={`light ${color}`} role="img" aria-label={word[color]} />
);

// tally counts the gates of a color among those that were measured.
function tally(gates: Gate[], color: Color): string {
  const measured = gates.filter(g => g.color !== "gray").length,
    n = gates.filter(g => g.color === color).length;
  return color === "gray" || !n ? "" : `${n} of ${measured} gates ${n === 1 ? "is" : "are"} ${color}: `;
}

// Verdict is the answer for the run as a whole, with every gate in a fold.
export function Believe({ believe, gates }: { believe: Gate | null; gates: Gate[] }) {
  const sorted = [...gates].sort(byColor);
  const all = believe ?? sorted[0];
  if (!all)
    return (
      <p class="believe-all gray">
        <Light color="gray" /> <b>May this be believed?</b> No gate has been read yet.
      </p>
    );
  return (
    <details class={`believe-all ${all.color}`}>
      <summary>
        <Light color={all.color} /> <b>May this be believed?</b>{" "}
        <span>
          {all.name !== "all" && tally(gates, all.color)}
          {all.text}
        </span>
      </summary>
      <ul class="gates">
        {sorted.map(g => (
          <li key={g.name} class={g.color}>
            <Light color={g.color} /> <b>{g.name}</b> <span>{g.text}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

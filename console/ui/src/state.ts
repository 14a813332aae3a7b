// What all views share: the session, the list of live runs, the place (the hash), the theme, the clock.

import { computed, effect, signal } from "@preact/signals";
import { get, reason, type LiveItem, type Session, whenLoggedOut } from "./api";

export const session = signal<Session | null>(null);
export const live = signal<LiveItem[]>([]);
export const asked = signal(false); // the live list has come once
export const trouble = signal(""); // why serve cannot be asked
export const now = signal(performance.now()); // moves once a second
export const operator = computed(() => session.value?.role === "operator");

// A Place is #/live/ID/VIEW, #/run/ID/VIEW, #/comparison/ID, #/sizing/ID, #/over/A/B, #/history or #/start.
export interface Place {
  page: string;
  id: string;
  view: string;
}
const parse = (): Place => {
  const [page = "", id = "", view = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return { page, id, view };
};
export const place = signal<Place>(parse());
addEventListener("hashchange", () => {
  place.value = parse();
});
export const href = (...parts: string[]) => "#/" + parts.map(encodeURIComponent).join("/");

// wholeOf is the place of the comparison or sizing of a run: a run does not say which of the two it is a part of, and
// the page of what is live finds in the store what no longer is.
export const wholeOf = (id: string) => href("live", id, "now");

// The theme is the system's until somebody chooses another; the choice is kept where the browser lets it.
export type Theme = "auto" | "light" | "dark";
const key = "plimsoll.theme";
const kept = (): Theme => {
  try {
    const t = localStorage.getItem(key);
    return t === "light" || t === "dark" ? t : "auto";
  } catch {
    return "auto";
  }
};
export const theme = signal<Theme>(kept());
export const painted = signal(0); // changes when colors do
effect(() => {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  try {
    localStorage.setItem(key, theme.value);
  } catch {
    /* not kept */
  }
  painted.value = painted.peek() + 1;
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  painted.value++;
});

// shown is the stretch of time that all charts of a run show; null: all of it, and what comes.
export const shown = signal<[number, number] | null>(null);

export async function begin(): Promise<void> {
  whenLoggedOut(() => {
    if (session.value) session.value = { ...session.value, role: "none" };
  });
  setInterval(() => {
    now.value = performance.now();
  }, 1000);
  await whoAmI();
  await look();
  setInterval(() => {
    void (session.value ? look() : whoAmI());
  }, 2000);
}

async function whoAmI(): Promise<void> {
  try {
    session.value = await get<Session>("/api/session");
    trouble.value = "";
  } catch (e) {
    trouble.value = reason(e);
  }
}

// look asks for the live list. It is asked again and again, and not streamed: a stream in each tab would use up the
// browser's connections to this server.
export async function look(): Promise<void> {
  if (!session.value || session.value.role === "none" || document.hidden) return;
  try {
    const { items } = await get<{ items: LiveItem[] }>("/api/live");
    if (JSON.stringify(items) !== JSON.stringify(live.value)) live.value = items;
    asked.value = true;
    trouble.value = "";
  } catch (e) {
    trouble.value = reason(e);
  }
}

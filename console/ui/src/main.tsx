// The page: a bar with what is live, and one view below it.

import { render } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import "./page.css";
import { get, type History as HistoryOf, type LiveItem } from "./api";
import { History, Over, placeOf } from "./history";
import { Login, logout } from "./login";
import { LivePage, StoredComparison, StoredPage, StoredSizing } from "./pages";
import { asked, begin, href, live, look, now, operator, place, session, theme, type Theme, trouble } from "./state";
import { Start } from "./steer";
import { when } from "./text";

const lights: Record<LiveItem["state"], string> = { running: "green", silent: "amber", ended: "gray", died: "red" };
const nameOf = (i: LiveItem) => [i.plan || i.id, i.arm, i.engine].filter(Boolean).join(" ");

// main is the newest item that runs and is no part of another; the page opens with it.
const main = () => {
  const whole = live.value.filter(i => !i.of);
  return whole.find(i => i.state === "running") ?? whole[0] ?? live.value[0];
};

function Bar() {
  const at = place.value,
    current = at.page === "live" ? at.id : at.page === "" ? main()?.id : "",
    ended = live.value.find(i => !i.of && i.state !== "running"); // the newest
  const themes: Theme[] = ["auto", "light", "dark"];
  return (
    <header class="top">
      <a class="brand" href="#/">
        <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true">
          <circle cx="11" cy="11" r="7.5" />
          <line x1="0" x2="22" y1="11" y2="11" />
        </svg>
        Plimsoll
      </a>
      <nav aria-label="Runs">
        {live.value
          .filter(i => !i.of && (i.state === "running" || i.state === "silent" || i.id === current || i === ended))
          .slice(0, 6)
          .map(i => (
            <a
              key={i.id}
              class="live"
              href={href("live", i.id, "now")}
              aria-current={i.id === current ? "page" : undefined}
              title={`${i.id}, began ${when(i.began)}`}>
              <span class={`light ${lights[i.state]}`} role="img" aria-label={i.state} />
              {nameOf(i)} <span class="soft">{i.verb}</span>
            </a>
          ))}
        <a href="#/history" aria-current={at.page === "history" ? "page" : undefined}>
          History
        </a>
        {operator.value && (
          <a href="#/start" aria-current={at.page === "start" ? "page" : undefined}>
            Start
          </a>
        )}
      </nav>
      <span class="right">
        <label>
          <span class="hidden">Colors</span>
          <select
            value={theme.value}
            onChange={e => {
              theme.value = e.currentTarget.value as Theme;
            }}>
            {themes.map(t => (
              <option key={t} value={t}>
                {t === "auto" ? "system colors" : t}
              </option>
            ))}
          </select>
        </label>
        {session.value?.login && (
          <>
            <span class="soft">{session.value.role}</span>
            <button type="button" onClick={() => void logout()}>
              Log out
            </button>
          </>
        )}
      </span>
    </header>
  );
}

function View() {
  const { page, id, view } = place.value;
  if (page === "live" || page === "") {
    const item = page === "live" ? live.value.find(i => i.id === id) : main();
    const chosen = page === "live" ? id : item?.id;
    if (!chosen) return <Nothing />;
    if (!item) return asked.value ? <Elsewhere key={chosen} id={chosen} /> : <p class="soft">Asking for {id}…</p>;
    return <LivePage key={chosen} id={chosen} view={view || "now"} kind={item.kind} />;
  }
  switch (page) {
    case "run":
      return <StoredPage key={id} id={id} view={view || "now"} />;
    case "comparison":
      return <StoredComparison key={id} id={id} />;
    case "sizing":
      return <StoredSizing key={id} id={id} />;
    case "over":
      return <Over key={id + view} a={id} b={view} />;
    case "history":
      return <History />;
    case "start":
      return operator.value ? <Start /> : <p class="alert">Only operators start plans.</p>;
    default:
      return (
        <p class="alert">
          There is no such view. <a href="#/">To the present</a>
        </p>
      );
  }
}

// Elsewhere finds what is no longer live in the store. The list may be older than a run that has just begun: that one is
// waited for, since its stored page does not move.
function Elsewhere({ id }: { id: string }) {
  const missing = useSignal(false);
  useEffect(() => {
    let gone = false;
    const find = async () => {
      await look();
      const h = await get<HistoryOf>(`/api/history?parts=1&q=${encodeURIComponent(id)}`);
      const item = h.items.find(i => i.id === id);
      if (gone) return;
      missing.value = !item;
      if (item && !(item.kind === "run" && item.state === "running")) location.replace(placeOf(item));
    };
    find().catch(() => {
      if (!gone) missing.value = true;
    });
    return () => {
      gone = true;
    };
  }, [id, Math.floor(now.value / 2000)]);
  return (
    <p class={missing.value ? "alert" : "soft"}>
      {missing.value ? `Neither is ${id} live nor does the store have it.` : `Looking for ${id}…`}
    </p>
  );
}

const Nothing = () => (
  <section class="nothing">
    <h1>Nothing runs now</h1>
    <p>A run shows here as soon as it begins in this store:</p>
    <pre tabIndex={0}>plimsoll demo</pre>
    <p>
      Earlier ones are in the <a href="#/history">history</a>
      {operator.value && (
        <>
          ; <a href="#/start">start a plan</a> from here
        </>
      )}
      .
    </p>
  </section>
);

function App() {
  useEffect(() => {
    document.title = `${place.value.page === "history" ? "History" : (main()?.plan ?? "Console")} - Plimsoll`;
  });
  if (!session.value)
    return (
      <p class="soft asking" role="status">
        {trouble.value ? `${trouble.value}; the page tries again.` : "Asking serve…"}
      </p>
    );
  if (session.value.role === "none") return <Login />;
  return (
    <>
      <a
        class="skip"
        href="#view"
        onClick={e => {
          e.preventDefault();
          document.querySelector<HTMLElement>("main")?.focus();
        }}>
        To the view
      </a>
      <Bar />
      {trouble.value && (
        <p class="alert unreachable" role="status">
          {trouble.value}: the runs go on by themselves, and the page tries again.
        </p>
      )}
      <main id="view" tabIndex={-1}>
        <View />
      </main>
      <footer>
        plimsoll {session.value.version} · <a href="/licenses.txt">licenses of the page's libraries</a>
      </footer>
    </>
  );
}

render(<App />, document.getElementById("app")!);
void begin();

// The documents of a run or comparison: today's reports, in a frame whose scripts cannot reach this server.

import { useSignal } from "@preact/signals";
import type { Doc } from "./api";
import { Choice } from "./asked";

const safe = (d: Doc) => d.href.startsWith("/api/documents/");

// Pages of single runs lie in a folder, and there may be many: they are a list.
const title = (name: string) =>
  name
    .replace(/^.*\//, "")
    .replace(/\.html$/, "")
    .replaceAll("_", " ");

export function Documents({ documents }: { documents: Doc[] }) {
  const open = useSignal("");
  const shownHere = documents.filter(safe);
  if (!shownHere.length) return null;
  const chosen = shownHere.find(d => d.href === open.value),
    pages = shownHere.filter(d => d.name.includes("/"));
  return (
    <section class="documents" aria-label="Documents">
      <h2>Documents</h2>
      <p>
        {shownHere
          .filter(d => !pages.includes(d))
          .map(d => (
            <button
              type="button"
              key={d.href}
              aria-pressed={d.href === open.value}
              onClick={() => {
                open.value = open.value === d.href ? "" : d.href;
              }}>
              {d.name}
            </button>
          ))}
        {pages.length > 0 && (
          <Choice
            label="Pages of runs"
            value={open}
            at={pages.includes(chosen!) ? open.value : ""}
            options={[
              { value: "", text: `choose one of ${pages.length}` },
              ...pages.map(d => ({ value: d.href, text: title(d.name) })),
            ]}
          />
        )}
        {chosen && (
          <a href={chosen.href} target="_blank" rel="noopener">
            Open in a tab
          </a>
        )}
      </p>
      {chosen && <iframe title={chosen.name} src={chosen.href} sandbox="allow-scripts" />}
    </section>
  );
}

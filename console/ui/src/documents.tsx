// The documents of a run or comparison: today's reports, in a frame whose scripts cannot reach this server.

import { useSignal } from "@preact/signals";
import type { Doc } from "./api";

const safe = (d: Doc) => d.href.startsWith("/api/documents/");

export function Documents({ documents }: { documents: Doc[] }) {
  const open = useSignal("");
  const shownHere = documents.filter(safe);
  if (!shownHere.length) return null;
  const chosen = shownHere.find(d => d.href === open.value);
  return (
    <section class="documents" aria-label="Documents">
      <h2>Documents</h2>
      <p>
        {shownHere.map(d => (
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

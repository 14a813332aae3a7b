package evidence

import (
	"io"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/judge/limiter"
)

// limiterText writes the limiter of a run, its evidence and the exonerated causes; nothing for nil.
func limiterText(w io.Writer, l *limiter.Limiter) {
	if l == nil {
		return
	}
	plain.Fprintf(w, "\n%s\n", l.Sentence)
	if l.Confidence != "" {
		plain.Fprintf(w, "  confidence: %s", l.Confidence)
		if len(l.Doubts) > 0 {
			plain.Fprintf(w, " (%s)", strings.Join(l.Doubts, "; "))
		}
		plain.Fprintf(w, "\n")
	}
	if l.Failed != "" && l.Name != limiter.LimitUnknown { // whose sentence has it
		plain.Fprintf(w, "  failures: %s\n", l.Failed)
	}
	for i, e := range l.Evidence {
		if i > 0 {
			plain.Fprintf(w, "  evidence: %s\n", e.Text())
		}
	}
	for _, s := range l.Others {
		plain.Fprintf(w, "  also: %s, %s\n", s.Name, s.Why)
	}
	for _, e := range l.Exonerated {
		plain.Fprintf(w, "  exonerated: %s: %s\n", e.Limiter, e.Text())
	}
	if len(l.Unseen) > 0 {
		plain.Fprintf(w, "  not watched: %s (docs/probes.md)\n", strings.Join(l.Unseen, ", "))
	}
	if l.Advice != "" {
		plain.Fprintf(w, "  advice: %s\n", l.Advice)
	}
}

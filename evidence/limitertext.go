package evidence

import (
	"strings"

	"plimsoll/judge/limiter"
)

// limiterText writes the limiter of a run, its evidence and the exonerated causes; nothing for nil.
func limiterText(w printer, l *limiter.Limiter) {
	if l == nil {
		return
	}
	w.say("\n%s\n", l.Sentence)
	if l.Confidence != "" {
		w.say("  confidence: %s", l.Confidence)
		if len(l.Doubts) > 0 {
			w.say(" (%s)", strings.Join(l.Doubts, "; "))
		}
		w.say("\n")
	}
	if l.Failed != "" && l.Name != limiter.LimitUnknown { // whose sentence has it
		w.say("  failures: %s\n", l.Failed)
	}
	for i, e := range l.Evidence {
		if i > 0 {
			w.say("  evidence: %s\n", e.Text())
		}
	}
	for _, s := range l.Others {
		w.say("  also: %s, %s\n", s.Name, s.Why)
	}
	for _, e := range l.Exonerated {
		w.say("  exonerated: %s: %s\n", e.Limiter, e.Text())
	}
	if len(l.Unseen) > 0 {
		w.say("  not watched: %s (docs/probes.md)\n", strings.Join(l.Unseen, ", "))
	}
	if l.Advice != "" {
		w.say("  advice: %s\n", l.Advice)
	}
}

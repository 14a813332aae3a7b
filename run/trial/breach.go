package trial

import (
	"context"
	"fmt"
	"time"

	"plimsoll/plan"
)

// A Namer is a [Signals] that knows which server the value of an expression is of.
type Namer interface {
	// Whose returns the instance, or else the role, that the highest or the lowest value of an
	// expression is of at present. ok is false where the value is of none alone.
	Whose(ctx context.Context, expr string, highest bool) (who string, ok bool, err error)
}

// whose names the server that a broken promql rule's present value is of; "" where it is of none
// alone, or not known.
func (r *run) whose(rule plan.SLO) string {
	n, can := r.Signals.(Namer)
	if !can {
		return ""
	}
	who, _, err := n.Whose(context.Background(), rule.Arg, rule.Less)
	if err != nil {
		r.note(rule.Source, err)
	}
	return who
}

// breach describes when the values of a promql rule were beyond its limit in the part of the
// measured phase that begins after first, how far, and of whom: the first stretch, and how many
// more there were until when; "" if they never were. Times are of the run.
func (s *ruleState) breach(rule plan.SLO, first time.Duration) string {
	worst := -1
	last := -1
	stretches := 0
	var from, to, until time.Duration // of the first stretch, and the end of the last
	for i, v := range s.values {
		if s.at[i] <= first || v < rule.Threshold == rule.Less && v != rule.Threshold {
			continue
		}
		if last < 0 || last < i-1 {
			stretches++
		}
		if last, until = i, s.at[i]; worst < 0 {
			from = until
		}
		if stretches == 1 {
			to = until
		}
		if worst < 0 || rule.Less == (v > s.values[worst]) && v != s.values[worst] {
			worst = i
		}
	}
	if worst < 0 {
		return ""
	}
	text := fmt.Sprintf(
		"worst %.4g at %.1f s, beyond its limit from %.1f s to %.1f s",
		s.values[worst],
		s.at[worst].Seconds(),
		from.Seconds(),
		to.Seconds(),
	)
	switch {
	case stretches == 2:
		text += fmt.Sprintf(" and once more until %.1f s", until.Seconds())
	case stretches > 2:
		text += fmt.Sprintf(" and %d times more until %.1f s", stretches-1, until.Seconds())
	}
	if who := s.who[worst]; who != "" {
		text = who + ", " + text
	}
	return text
}

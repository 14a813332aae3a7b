package trial

import (
	"context"
	"fmt"
	"time"

	"plimsoll/plan"
)

// A Namer is a [Signals] that knows which server the value of an expression is of.
type Namer interface {
	// Whose returns the instance, or else the role, that the highest or the lowest value of an expression is of at
	// present. ok is false where the value is of none alone.
	Whose(ctx context.Context, expr string, highest bool) (who string, ok bool, err error)
}

// whose names the server that a broken promql rule's present value is of; "" where it is of none alone, or not known.
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

// breach describes when the values of a promql rule were beyond its limit in the part of the measured phase that
// begins after first, how far, and of whom; "" if they never were. Times are those of the run.
func (s *ruleState) breach(rule plan.SLO, first time.Duration) string {
	worst, from, to := -1, -1, -1
	for i, v := range s.values {
		if s.at[i] <= first || v < rule.Threshold == rule.Less && v != rule.Threshold {
			continue
		}
		if from < 0 {
			from = i
		}
		to = i
		if worst < 0 || rule.Less == (v > s.values[worst]) && v != s.values[worst] {
			worst = i
		}
	}
	if worst < 0 {
		return ""
	}
	text := fmt.Sprintf("worst %.4g at %.1f s, beyond its limit from %.1f s to %.1f s", s.values[worst], s.at[worst].Seconds(), s.at[from].Seconds(), s.at[to].Seconds())
	if who := s.who[worst]; who != "" {
		text = who + ", " + text
	}
	return text
}

package trial

import (
	"context"
	"fmt"
	"math"
	"time"

	"plimsoll/record"
	"plimsoll/run/capacity"
)

// A level holds the readings of a bounded test on the way to its users and at them.
type level struct {
	last    time.Duration // of the last evaluation
	carried float64       // most users of a window in which every rule held and the users followed
	reached int           // most users that were active
	// broke is the number of users when a rule broke that has not held since, and rule its name.
	broke float64
	rule  string
	gaps  map[string]gap // the last one of each rule that was longer than its grace
}

// A gap is a time without data for a rule.
type gap struct {
	from, to, grace time.Duration // to is the last evaluation in it
}

// short is the part of its users that a bounded test must have had before a rule broke for good;
// below, it never reached the planned level.
const short = 0.9

// evaluate judges all rules once a window in the phases of a bounded test and writes that down.
func (r *run) evaluate() {
	window := r.trail.last(r.Window)
	r.level.reached = max(r.level.reached, window.users())
	if r.now()-r.level.last < r.Window {
		return
	}
	r.level.last = r.now()
	rds := r.readings(context.Background(), window, true)
	r.writeReadings(rds, capacity.Action{})
	holds := true
	for i, rd := range rds {
		s := r.state(r.judging[i])
		st := rd.Status()
		if st == capacity.Missing {
			r.gone(rd, s)
			holds = holds && rd.Warning
			continue
		}
		if st == capacity.Violated {
			if holds = holds && rd.Warning; !rd.Warning && r.level.rule == "" {
				r.level.broke, r.level.rule = window.meanUsers(), rd.Rule
			}
		}
		s.lastData = r.now()
	}
	if holds {
		r.level.rule = ""
		if desired, active, _ := r.Driver.Users(); float64(active) >= 0.97*float64(desired) {
			r.level.carried = max(r.level.carried, window.meanUsers())
		}
	}
}

// gone notes a rule that has had no data in the measured phase for longer than its grace. Whether
// that counts is known at its end.
func (r *run) gone(rd capacity.RuleReading, s *ruleState) {
	g := gap{from: max(s.lastData, r.from), to: r.now(), grace: rd.Grace}
	if g.grace == 0 {
		g.grace = 4 * r.Window
	}
	if r.phase != "measure" || rd.Warning || g.to-g.from <= g.grace {
		return
	}
	if r.level.gaps == nil {
		r.level.gaps = map[string]gap{}
	}
	r.level.gaps[rd.Rule] = g
}

// judgeGaps makes a fault of each rule that had no data for longer than its grace in the part of
// the phase that counts. Its last gap decides: one before that has ended before the last began, so
// that it counts only where the last does.
func (r *run) judgeGaps() {
	for _, rule := range r.judging {
		g, ok := r.level.gaps[rule.Source]
		if !ok || g.to-max(g.from, r.from) <= g.grace {
			continue
		}
		delete(r.level.gaps, rule.Source) // of a rule that is there twice, one finding
		r.red("rule without data", fmt.Sprintf(
			"%s had no data for more than %v of the measured phase; a missing signal is not a healthy one",
			rule.Source,
			g.grace,
		))
	}
}

// judgeLevel makes a test void that never reached its level, and advises one that the target
// carries: five sixths of where it stopped, or the largest level seen to be carried if that is
// less. Latencies of an overloaded closed system measure how many users wait, not how fast it is.
func (r *run) judgeLevel() {
	l, want := r.level, float64(r.Bounded.Users)
	var stopped float64
	var why string
	switch {
	case float64(l.reached) < 0.97*want:
		stopped = float64(l.reached)
		why = fmt.Sprintf("only %d of %d users were ever active", l.reached, r.Bounded.Users)
	case l.rule != "" && l.broke < short*want && l.carried > 0 && len(r.out.Broken) > 0:
		stopped = l.broke
		why = fmt.Sprintf(
			"%s broke at %.0f users, on the way to %d, and has not held since",
			l.rule,
			l.broke,
			r.Bounded.Users,
		)
	default:
		return
	}
	f := record.Finding{Gate: "level", Level: record.Red, Value: math.Round(stopped), Limit: want,
		Text: why + "; not even a few users were carried"}
	if n := advice(stopped, l.carried); n > 0 {
		f.Text = fmt.Sprintf("%s; use bounded.users: %d", why, n)
	}
	r.out.Validity.Add(f)
}

// advice is five sixths of where a test stopped, at most the carried level, in two digits; 0 when
// nothing was carried.
func advice(stopped, carried float64) int {
	n := min(stopped*5/6, carried)
	if n < 1 {
		return 0
	}
	unit := math.Pow(10, max(0, math.Floor(math.Log10(n))-1))
	return int(math.Floor(n/unit+1e-9) * unit)
}

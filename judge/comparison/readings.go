package comparison

import (
	"cmp"
	"fmt"
	"math"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/stats"
)

// A reading is the number that a run has for an endpoint, whatever the run comes from. The zero
// reading belongs to no run.
type reading struct {
	there    bool
	value    float64 // NaN for none
	censored bool
	ops      int64
	had      uint64 // operations of the endpoint's kind
	why      string // there is no value
	unstable bool   // because its search is
	// disturbed reports that others on the host disturbed the run.
	disturbed bool
}

// A readingPair holds the readings of both runs of a block, base first.
type readingPair struct {
	block    int
	first    string // as in verdict.Pair
	of       [2]reading
	withheld string // why a verdict is withheld where the numbers come from
}

// pair returns the numbers of both runs; false where one has none.
func (p readingPair) pair() (verdict.Pair, bool) {
	x, y := p.of[0], p.of[1]
	out := verdict.Pair{Block: p.block, First: p.first, Base: x.value, New: y.value, BaseOps: x.ops,
		NewOps: y.ops}
	out.BaseCensored, out.NewCensored = x.censored, y.censored
	return out, x.there && y.there && !math.IsNaN(x.value) && !math.IsNaN(y.value)
}

// A lack counts the runs of two sides that have no number for an endpoint, which is judged by those
// that have one.
type lack struct {
	// of counts all runs of each side, unstable the runs whose search was unstable, and without the
	// runs that have no number for another reason.
	of, without, unstable [2]int
	why                   string // of one of them
}

// count counts the reading of a side. With all, it keeps the reason that is first in the alphabet;
// otherwise it keeps the reason of the last unstable run.
func (l *lack) count(side int, r reading, all bool) {
	if !r.there {
		return
	}
	l.of[side]++
	switch {
	case r.unstable:
		l.unstable[side]++
	case r.why != "":
		l.without[side]++
	}
	if all && r.why != "" && (l.why == "" || r.why < l.why) || !all && r.unstable {
		l.why = r.why
	}
}

// warn adds a warning of the runs without a number.
func (l lack) warn(r *verdict.Result, label [2]string) {
	if n := l.without; n[0]+n[1] > 0 {
		r.Warn(verdict.MissingPairs, fmt.Sprintf(
			"%d of %d runs of %s and %d of %d of %s have no %s, and their pairs are left out (%s)",
			n[0],
			l.of[0],
			label[0],
			n[1],
			l.of[1],
			label[1],
			r.Name,
			l.why,
		))
	}
}

// warnUnstable warns of the number of runs of each arm whose search was unstable; such a run gives
// no number and leaves its pair out. Where the new arm has more of them than the base, the other
// pairs do not show whether the build loses its capacity now and then: the verdict is neither same
// nor better.
func (l lack) warnUnstable(r *verdict.Result, label [2]string) {
	n := l.unstable
	if n[0]+n[1] == 0 {
		return
	}
	r.Warn(verdict.MissingPairs, fmt.Sprintf(
		"the searches of %d of %d runs of %s and %d of %s are unstable, no number, and their pairs left out (%s)",
		n[0],
		l.of[0],
		label[0],
		n[1],
		label[1],
		l.why,
	))
	if n[1] > n[0] {
		*r = r.Withhold(fmt.Sprintf(
			"%s has more unstable searches than %s (%d, %d): what the other pairs show is not all of it",
			label[1],
			label[0],
			n[1],
			n[0],
		))
	}
}

// add adds the pairs of an endpoint, or the reason why it is not judged; takes states the load or
// blocks that the plan would need to decide it. tell adds findings of stored runs to the result; it
// may be nil.
func (p *pairing) add(e plan.Endpoint, both []readingPair, label [2]string, takes string,
	tell func(*verdict.Result, verdict.Options)) {
	var pairs []verdict.Pair
	var lacks lack
	seen := false
	why := ""
	withheld := ""
	spoiled := 0 // pairs in which others on the host disturbed a run
	var had [2]uint64
	for _, runs := range both {
		// one without data makes nothing worse or better; the verdict counts the pairs
		if pr, ok := runs.pair(); ok {
			pairs = append(pairs, pr)
		}
		if runs.of[0].disturbed || runs.of[1].disturbed {
			spoiled++
		}
		withheld = cmp.Or(withheld, runs.withheld)
		for i, r := range runs.of {
			lacks.count(i, r, p.counted)
			had[i] += r.had
			seen = seen || r.why == ""
			why = cmp.Or(r.why, why)
		}
	}
	oneSided := min(had[0], had[1]) == 0 && had[0]+had[1] >= verdict.FewestCalls
	if takes != "" && !oneSided {
		p.Skipped[e.Name] = takes
		p.left = append(p.left, e.Name)
		return
	}
	switch {
	case p.counted:
		if len(pairs) == 0 && lacks.without == [2]int{} && lacks.unstable == [2]int{} &&
			withheld == "" {
			return
		}
	case len(both) > 0 && !seen && !oneSided && e.Name != "capacity" && e.Name != "errors":
		p.Skipped[e.Name] = why
		return
	}
	_, isCost := plan.CostOf(e.Name) // which a neighbor does not take away
	unknown := ""
	// No run is void for what may be an arm's doing.
	hostAlone := p.attempts[0].Failed+p.attempts[1].Failed+p.unclear[0]+p.unclear[1] == 0
	if len(pairs) == 0 && spoiled == len(both) && spoiled >= stats.MinPairs && hostAlone &&
		!oneSided && !isCost {
		unknown = disturbed // nothing follows about an arm
	}
	p.endpoints = append(p.endpoints,
		endpointPairs{e, pairs, unknown, func(r *verdict.Result, opt verdict.Options) {
			if oneSided {
				r.Warn(verdict.LostOps, fmt.Sprintf(
					"%s had %d such operations and %s %d: one arm has lost them, or the other has new ones",
					label[0],
					had[0],
					label[1],
					had[1],
				))
			}
			if tell != nil {
				tell(r, opt)
			}
			lacks.warnUnstable(r, label)
			if p.counted {
				lacks.warn(r, label)
			}
			if withheld != "" {
				r.Warn(
					verdict.OddNumbers,
					"where the pairs come from, the verdict was withheld: "+withheld,
				)
				*r = r.Withhold(withheld)
			}
		}})
}

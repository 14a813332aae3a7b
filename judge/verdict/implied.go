package verdict

import (
	"fmt"
	"math"

	"plimsoll/plan"
)

// An Implied is the effect of a change of a cost on the capacity where the CPU time of the cost's
// role is the limit: so much CPU time serves users in inverse proportion to the cost of an
// operation. The numbers are ratios minus one, of the level of the cost's interval.
type Implied struct {
	Role   string  `json:"role"`
	Effect float64 `json:"effect"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	// Search compares the measured capacity with that: Confirmed, Contradicted or Open; empty
	// without one.
	Search string `json:"search,omitempty"`
	// Sentence is a whole sentence.
	Sentence string `json:"sentence"`
}

// How a measured change of the capacity compares with the implied one.
const (
	// Confirmed means that the intervals overlap, and that half of the measured one, on the log
	// scale, is no wider than the implied change or the margin of the capacity, whichever is more.
	Confirmed = "confirmed"
	// Contradicted means that the intervals do not overlap.
	Contradicted = "contradicted"
	// Open means that they overlap because the measured one is wide, or has only one end.
	Open = "open"
)

// imply adds to the costs among the results of one database what they mean for the capacity.
func imply(results []Result) {
	var capacity *Result
	for i := range results {
		if results[i].Name == "capacity" && !results[i].Indicative && results[i].Withheld == "" {
			capacity = &results[i]
		}
	}
	for i := range results {
		r := &results[i]
		role, ok := plan.CostOf(r.Name)
		if !ok || r.Absolute || r.Indicative || r.Kind == Invalid || !r.HasEffect() ||
			!r.HasInterval() {
			continue
		}
		// The interval of a cost is one of ratios, so all three are above -1.
		less := func(ratio float64) float64 { return 1/(1+ratio) - 1 }
		m := &Implied{Role: role, Effect: less(r.Effect), Lo: less(r.Hi), Hi: less(r.Lo)}
		if capacity != nil {
			m.Search = m.compare(*capacity)
		}
		m.Sentence = m.sentence(capacity)
		r.Implies = m
		r.Sentence = r.sentence()
	}
}

// compare returns how the capacity that searches found compares with the implied one.
func (m *Implied) compare(capacity Result) string {
	lo, hi := capacity.Lo, capacity.Hi
	switch {
	case math.IsNaN(lo) && math.IsNaN(hi):
		return ""
	case lo > m.Hi || hi < m.Lo: // an end that is not known excludes nothing
		return Contradicted
	case capacity.HasInterval() && (math.Log1p(hi)-math.Log1p(lo))/2 <= max(math.Abs(math.Log1p(m.Effect)), capacity.Limit()):
		return Confirmed
	default:
		return Open
	}
}

func (m *Implied) sentence(capacity *Result) string {
	e := plan.Endpoint{} // ratios
	between := func(lo, hi float64) string {
		return fmt.Sprintf("[%s, %s]", delta(e, lo), delta(e, hi))
	}
	text := fmt.Sprintf(
		"For a limit by the CPU of %s, users ∝ 1/cost: %s %s",
		m.Role,
		delta(e, m.Effect),
		between(m.Lo, m.Hi),
	)
	if m.Search == "" {
		return text + "."
	}
	found := capacity.oneEnd()
	if capacity.HasInterval() {
		found = between(capacity.Lo, capacity.Hi)
		if capacity.HasEffect() {
			found = delta(e, capacity.Effect) + " " + found
		}
	}
	switch m.Search {
	case Confirmed:
		return text + fmt.Sprintf("; the searches confirm it: %s.", found)
	case Contradicted:
		return text + fmt.Sprintf(
			"; the searches contradict it: %s. This cost does not set the supported users.",
			found,
		)
	default:
		return text + fmt.Sprintf("; the searches leave it open: %s.", found)
	}
}

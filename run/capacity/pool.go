package capacity

import (
	"fmt"
	"math"
)

// pooled is the largest distance from the answer, in log users, at which the operations of a window
// count for it: a tenth.
var pooled = math.Log(1.1)

// own returns the bad and all operations of the observation's own window, as far as the reading has
// them.
func (r RuleReading) own() (bad, of uint64) {
	switch {
	case !r.Rate:
		return 0, 0
	case r.Span > 0:
		return r.Bad, r.Of
	}
	return uint64(math.Round(r.Value * float64(r.Count))), r.Count
}

// A pool holds the counts of a rate over all windows near the result. Windows do not overlap, so no
// operation counts twice. It judges rules that need more operations than a window has.
type pool struct {
	bad, of          uint64
	windows, decided int
}

func (s *Search) pool(rule int, users float64) pool {
	var p pool
	for _, w := range s.samples {
		if rule >= len(w.states) || w.states[rule] == Missing ||
			math.Abs(math.Log(w.users/users)) > pooled {
			continue
		}
		p.windows++
		p.bad += w.bad[rule]
		p.of += w.of[rule]
		if w.states[rule] > Undecided {
			p.decided++
		}
	}
	return p
}

func (p pool) rate() float64 { return float64(p.bad) / float64(max(1, p.of)) }

// warning returns the warning for results in which single windows rarely decided the rule. A
// binding rule is violated in half of the windows at the capacity by definition, so its pool adds
// nothing.
func (p pool) warning(b ruleBook, binding string) string {
	switch {
	case b.name == binding || b.warning || 2*p.decided >= p.windows && p.windows > 0:
		return ""
	case p.of < b.minCount:
		return fmt.Sprintf(
			"%s was never decided at the answer: it asks for %d operations, and all %d windows within a tenth of the answer "+
				"had %d together, %d of them bad (with 95 %% confidence fewer than %.3g %%)",
			b.name,
			b.minCount,
			p.windows,
			p.of,
			p.bad,
			100*upperRate(p.bad, p.of),
		)
	case p.rate() >= b.limit:
		return fmt.Sprintf(
			"%s does not hold at the answer: of %d operations within a tenth of it %d were bad (%.3g %%); "+
				"single windows had too few operations to show it, so the answer may be too high",
			b.name,
			p.of,
			p.bad,
			100*p.rate(),
		)
	}
	return ""
}

// upperRate is the exact (Clopper-Pearson) upper limit of a rate with 95 % confidence: the rate at
// which so few bad operations, or fewer, come in one of twenty cases. It is 1 without operations.
func upperRate(bad, of uint64) float64 {
	if bad >= of {
		return 1
	}
	lo, hi := float64(bad)/float64(of), 1.0
	for range 60 {
		if p := (lo + hi) / 2; binomialAtMost(bad, of, p) > 0.05 {
			lo = p
		} else {
			hi = p
		}
	}
	return hi
}

// binomialAtMost is the chance of at most k bad ones of n, each bad with chance p.
func binomialAtMost(k, n uint64, p float64) float64 {
	if p >= 1 {
		return 0
	}
	sum, odds := 0.0, math.Log(p)-math.Log1p(-p)
	term := float64(n) * math.Log1p(-p) // log of the chance of none
	for i := uint64(0); ; i++ {
		sum += math.Exp(term)
		if i == k {
			return min(sum, 1)
		}
		term += math.Log(float64(n-i)) - math.Log(float64(i+1)) + odds
	}
}

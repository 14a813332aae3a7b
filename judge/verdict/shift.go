package verdict

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/stats"
)

// ShiftLevel is the confidence of the band of a [Shift], over all its quantiles at once.
const ShiftLevel = 0.95

// shiftLeast is the smallest shift that is a finding: histograms have steps of 0.8 %, and one step
// in every pair would look certain.
const shiftLeast = 0.01

// A Shift locates the difference between new arm and base in the distribution of one operation's
// response times. It shows where to look, and decides no verdict.
type Shift struct {
	Op string `json:"op"`
	N  int    `json:"n"` // pairs
	// Points are the quantiles that every run carries, ascending.
	Points   []ShiftPoint `json:"points"`
	Sentence string       `json:"sentence"`
}

// A ShiftPoint is one quantile of both arms, in milliseconds, as geometric means of the runs, and
// the shift new/base
// - 1 with the band at it; nil where there is no band.
type ShiftPoint struct {
	P      float64  `json:"p"`
	Base   float64  `json:"base_ms"`
	New    float64  `json:"new_ms"`
	Effect float64  `json:"effect"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
	// Kind is Worse where the band lies above no change and the shift is 1 % or more, which
	// histograms resolve; Better where below; else Inconclusive: nothing is ever shown to be the
	// same.
	Kind Kind `json:"kind"`
}

// FindShift compares the distributions of one operation over pairs of runs. The replicate is the
// pair: each run gives one number per quantile, and the band of [stats.ShiftFunction] comes from
// how these differ between pairs; all of the true shift lies in it with the confidence
// [ShiftLevel], at all quantiles at once, so that two equal builds have any finding in one
// comparison of twenty at most. Fewer than six pairs have no band. A quantile counts only where
// every run has fifty operations beyond it. ok is false when none is left, or a run is empty. seed
// is the seed of the bootstrap.
func FindShift(op string, pairs []stats.RunPair, seed uint64) (s Shift, ok bool) {
	if len(pairs) == 0 {
		return s, false
	}
	least := uint64(math.MaxUint64)
	for _, p := range pairs {
		least = min(least, operations(p.Base), operations(p.New))
	}
	var probs []float64
	for _, p := range stats.ShiftProbs() {
		if stats.QuantileSupported(p, least, float64(least)) && float64(least)*p >= stats.TailOps {
			probs = append(probs, p)
		}
	}
	if len(probs) == 0 {
		return s, false
	}
	f, err := stats.ShiftFunction(pairs, probs, ShiftLevel, seed)
	if err != nil { // values from histograms are in order
		return s, false
	}
	s = Shift{Op: op, N: len(pairs)}
	for k, p := range f.P {
		x := ShiftPoint{
			P:      p,
			Base:   math.Exp(f.Base[k]),
			New:    math.Exp(f.New[k]),
			Effect: math.Expm1(f.D[k]),
			Kind:   Inconclusive,
		}
		if lo, hi := math.Expm1(f.Lo[k]), math.Expm1(f.Hi[k]); known(lo) && known(hi) {
			x.Lo, x.Hi = &lo, &hi
			switch {
			case math.Abs(x.Effect) < shiftLeast:
			case lo > 0:
				x.Kind = Worse
			case hi < 0:
				x.Kind = Better
			}
		}
		s.Points = append(s.Points, x)
	}
	s.Sentence = s.sentence()
	return s, true
}

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func operations(run []stats.SparseCounts) uint64 {
	n := 0.0
	for _, c := range run {
		n += c.Total()
	}
	return uint64(n)
}

// quantileName writes 0.5 as "p50", 0.999 as "p99.9".
func quantileName(p float64) string { return "p" + number(100*p, 2) }

// sentence describes the location of the shift.
func (s Shift) sentence() string {
	first, last := s.Points[0], s.Points[len(s.Points)-1]
	span := quantileName(first.P) + " to " + quantileName(last.P)
	if first.P == last.P {
		span = quantileName(first.P)
	}
	if last.Lo == nil {
		return fmt.Sprintf(
			"%s: %s from %s to %s at %s; %s give no band around that, %d are needed",
			s.Op,
			"the shift goes",
			first.change(),
			last.change(),
			span,
			Count(s.N, "pair"),
			stats.MinPairs,
		)
	}
	// Runs of neighboring quantiles with the same finding.
	var parts []string
	found := 0
	for i := 0; i < len(s.Points); {
		j := i
		for j+1 < len(s.Points) && s.Points[j+1].Kind == s.Points[i].Kind {
			j++
		}
		if a, b := s.Points[i], s.Points[j]; a.Kind != Inconclusive {
			found += j - i + 1
			word := "slower"
			if a.Kind == Better {
				word = "faster"
			}
			where := "only at " + quantileName(a.P) + " (" + a.change() + ")"
			if i < j {
				where = fmt.Sprintf(
					"from %s (%s) to %s (%s)",
					quantileName(a.P),
					a.change(),
					quantileName(b.P),
					b.change(),
				)
			}
			parts = append(parts, word+" "+where)
		}
		i = j + 1
	}
	level := fmt.Sprintf(
		"%.0f %% band over all quantiles at once, %s",
		100*ShiftLevel,
		Count(s.N, "pair"),
	)
	switch {
	case found == 0:
		return fmt.Sprintf("%s: no shift is shown anywhere from %s (%s)", s.Op, span, level)
	case found == len(s.Points):
		return fmt.Sprintf("%s: %s: everywhere (%s)", s.Op, strings.Join(parts, ", "), level)
	}
	return fmt.Sprintf(
		"%s: %s; no shift is shown elsewhere from %s (%s)",
		s.Op,
		strings.Join(parts, ", "),
		span,
		level,
	)
}

// change writes the shift at a quantile: "+12.3 %".
func (x ShiftPoint) change() string { return signed(100*x.Effect, 1) + " %" }

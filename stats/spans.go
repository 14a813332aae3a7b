package stats

import (
	"fmt"
	"math"
	"slices"
)

// A Span is the interval in which one difference lies, from Lo to Hi. They are equal when it is
// known, and infinite at an end that is open.
type Span struct{ Lo, Hi float64 }

// Known reports whether the difference is a number.
func (s Span) Known() bool { return s.Lo == s.Hi }

// Spans are the differences of n pairs, of some of which only bounds are known. A completion of
// them has a number from within each.
//
// The tests and the interval are of the mean of a normal population and hold for *all true values
// behind the bounds*: also when a run ended as a bound because of its own number. With K of n
// differences hidden behind bounds they take Student's t of the n-K known ones, multiply its
// one-sided p-value by the number of ways to choose K of n (Bonferroni: the hidden ones may be
// those that speak against the conclusion), and use of the bounds that they show on which side of
// the hypothesis a difference lies: under it each of K differences lies there with probability 1/2,
// independently of the known ones. With k the number of bounds that show so, and G(k) the
// probability that k or more of K coins show heads, the statistic is W = G(k)·p; its distribution
// is the product of a p-value that is uniform and one that is discrete, F(w) = Σ P(j)·min(1,
// w/G(j)), and the p-value of the test is C(n,K)·F(W). A bound that moves towards the conclusion
// never weakens it. Without a hidden difference this is Student's t test.
//
// Sources: Horowitz and Manski, Econometrica 63 (1995), for conclusions that hold for any values of
// a known number of contaminated ones; Fisher, Statistical Methods for Research Workers (1932),
// 21.1, for products of p-values. docs/method/statistics.md has levels, coverage and power.
type Spans []Span

// check panics where an interval is empty or undefined: the caller makes them of numbers that were
// checked.
func (s Spans) check() {
	for i, v := range s {
		if !(v.Lo <= v.Hi) || math.IsInf(v.Lo, 1) || math.IsInf(v.Hi, -1) {
			panic(fmt.Sprintf("stats: span %d is from %v to %v", i+1, v.Lo, v.Hi))
		}
	}
}

// Known returns the differences that are numbers, in their order.
func (s Spans) Known() Sample {
	var values []float64
	for _, v := range s {
		if v.Known() {
			values = append(values, v.Lo)
		}
	}
	out, err := NewSample(values...)
	if err != nil {
		panic("stats: a span that is known is not finite: " + err.Error()) // check refuses it
	}
	return out
}

// Hidden returns how many differences are not numbers.
func (s Spans) Hidden() int { return len(s) - s.Known().N() }

// mirror exchanges above and below.
func (s Spans) mirror() Spans {
	out := make(Spans, len(s))
	for i, v := range s {
		out[i] = Span{-v.Hi, -v.Lo}
	}
	return out
}

// Tested reports whether [Spans.Test] and [Spans.Interval] have an answer: at least [MinInterval]
// differences are known, and at most half are hidden.
func (s Spans) Tested() bool { return s.Known().N() >= MinInterval && 2*s.Hidden() <= len(s) }

// Test returns the two-sided p-value of the hypothesis that the population mean is zero, NaN unless
// the spans are [Spans.Tested].
func (s Spans) Test() float64 {
	s.check()
	if !s.Tested() {
		return math.NaN()
	}
	return min(1, 2*min(s.below(), s.mirror().below()))
}

// below returns the one-sided p-value of the hypothesis that the mean is zero or more.
func (s Spans) below() float64 {
	h := s.hiding()
	shown := 0
	for _, v := range s {
		if !v.Known() && v.Hi < 0 {
			shown++
		}
	}
	known := s.Known()
	w := h.atLeast[shown] * upperTail(-known.Mean(), known)
	return min(1, math.Exp(h.logWays+math.Log(h.product(w))))
}

// Interval returns the interval of the given confidence for the population mean: those hypotheses
// that [Spans.Test] does not reject. It is unknown unless the spans are [Spans.Tested].
func (s Spans) Interval(level float64) Interval {
	s.check()
	if !s.Tested() || !(level > 0 && level < 1) {
		return unknownInterval(level)
	}
	return Interval{Lo: -s.mirror().upper(level), Hi: s.upper(level), Level: level}
}

// upper returns the upper end of the interval: the lowest hypothesis that below rejects at
// (1-level)/2.
func (s Spans) upper(level float64) float64 {
	h := s.hiding()
	known := s.Known()
	mean := known.Mean()
	se := known.SD() / math.Sqrt(float64(known.N()))
	df := float64(known.N() - 1)
	w := h.inverse(math.Exp(math.Log((1-level)/2) - h.logWays))
	var bounds []float64
	for _, v := range s {
		if !v.Known() && !math.IsInf(v.Hi, 1) {
			bounds = append(bounds, v.Hi)
		}
	}
	slices.Sort(bounds)
	best := math.Inf(1)
	for k := range len(bounds) + 1 {
		// With k bounds on the hypothesis's side, the known differences have to reach this p-value.
		end := math.Inf(-1)
		if p := w / h.atLeast[k]; p < 1 {
			end = mean - TQuantile(p, df)*se // 1-p is 1 for a small p
		}
		if k > 0 {
			end = max(end, bounds[k-1])
		}
		best = min(best, end)
	}
	return best
}

// hiding is the effect of the number of hidden differences on a p-value, for conclusions below a
// hypothesis.
type hiding struct {
	logWays float64   // of the ways to choose the hidden ones
	mass    []float64 // of the number of bounds that show their side
	atLeast []float64 // of coins that show heads as often, or more
}

func (s Spans) hiding() hiding {
	hidden, usable := s.Hidden(), 0
	for _, v := range s {
		if !v.Known() && !math.IsInf(v.Hi, 1) {
			usable++
		}
	}
	h := hiding{mass: make([]float64, usable+1), atLeast: make([]float64, usable+1)}
	h.logWays = logChoose(len(s), hidden)
	below := 0.0
	for j := range usable + 1 {
		h.atLeast[j] = 1 - below
		h.mass[j] = math.Exp(logChoose(hidden, j) - float64(hidden)*math.Ln2)
		below += h.mass[j]
	}
	// Beyond half the coins, the sum from the other end keeps its digits.
	for j, upper := hidden, 0.0; j > hidden/2; j-- {
		upper += math.Exp(logChoose(hidden, j) - float64(hidden)*math.Ln2)
		if j <= usable {
			h.atLeast[j] = upper
		}
	}
	h.mass[usable] = h.atLeast[usable] // more sides than usable bounds cannot be shown
	return h
}

// product returns F(w).
func (h hiding) product(w float64) float64 {
	sum := 0.0
	for j, p := range h.mass {
		sum += p * min(1, w/h.atLeast[j])
	}
	return min(sum, 1)
}

// inverse returns the w for which F(w) is p. F is linear between the values of G, and ascends.
func (h hiding) inverse(p float64) float64 {
	lo, hi := 0.0, 1.0
	for _, g := range h.atLeast {
		switch at := h.product(g); {
		case at <= p:
			lo = max(lo, g)
		default:
			hi = min(hi, g)
		}
	}
	from, to := h.product(lo), h.product(hi)
	if !(to > from) {
		return lo
	}
	return lo + (hi-lo)*min(1, (p-from)/(to-from))
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// complete returns the completion whose hidden differences lie as near to x as their spans allow.
func (s Spans) complete(x float64) Sample {
	values := make([]float64, len(s))
	for i, v := range s {
		values[i] = min(max(x, v.Lo), v.Hi)
	}
	out, err := NewSample(values...)
	if err != nil {
		panic("stats: " + err.Error()) // x is finite
	}
	return out
}

// meanNear returns the mean of complete(x).
func (s Spans) meanNear(x float64) float64 {
	sum := 0.0
	for _, v := range s {
		sum += min(max(x, v.Lo), v.Hi)
	}
	return sum / float64(len(s))
}

// Nearest returns the completion that varies least: each hidden difference is the mean of all, or
// as near to it as its span allows. Its mean is the estimate of the population mean. It is one
// possible completion; the bounds determine no more.
func (s Spans) Nearest() Sample {
	s.check()
	x := s.Known().Mean()
	if math.IsNaN(x) {
		x = 0
	}
	lo, hi := s.reach(x)
	// The mean ascends no faster than x.
	return s.complete(bisect(lo, hi, func(x float64) bool { return s.meanNear(x) > x }))
}

// bisect returns where below turns from true to false.
func bisect(lo, hi float64, below func(x float64) bool) float64 {
	for range 64 {
		if x := lo + (hi-lo)/2; below(x) {
			lo = x
		} else {
			hi = x
		}
	}
	return lo + (hi-lo)/2
}

// reach returns the smallest and the largest of all finite ends and x.
func (s Spans) reach(x float64) (lo, hi float64) {
	lo, hi = x, x
	for _, v := range s {
		for _, end := range []float64{v.Lo, v.Hi} {
			if !math.IsInf(end, 0) {
				lo, hi = min(lo, end), max(hi, end)
			}
		}
	}
	return lo, hi
}

// MayLieInside reports whether the bounds allow a completion whose t interval of the given
// confidence lies inside ±margin. False below [MinInterval] differences.
//
// The larger end of that interval, |mean| + t·sd/√n, is a convex function of the hidden
// differences. Of all completions with one mean the one that varies least is best, in which all
// hidden differences are as near to one x as they may, so the mean alone is searched.
func (s Spans) MayLieInside(level, margin float64) bool {
	s.check()
	if len(s) < MinInterval || !(level > 0 && level < 1) {
		return false
	}
	lo, hi := s.reach(0)
	sum := 0.0 // beyond where the mean is zero nothing is gained
	for _, v := range s.complete(0).Values {
		sum += math.Abs(v)
	}
	lo, hi = lo-sum, hi+sum
	far := func(mean float64) float64 {
		ci := TInterval(s.complete(bisect(lo, hi, func(x float64) bool {
			return s.meanNear(x) < mean
		})), level)
		return max(-ci.Lo, ci.Hi)
	}
	from, to := s.meanNear(lo), s.meanNear(hi)
	for range 64 {
		if a, b := from+(to-from)/3, to-(to-from)/3; far(a) <= far(b) {
			to = b
		} else {
			from = a
		}
	}
	return min(far(from), far(to)) < margin
}

// Signs tests the order alone, where too few differences are known for t: the two-sided p-value of
// the sign test, in which a difference whose sign is not known counts against the conclusion; below
// and above are how many are known to lie there. limit is the end of the interval of the given
// confidence on the side of zero: the population median lies below it when more are known below,
// above it otherwise; infinite where there is none. The test holds for all true values behind the
// bounds, because the count can only be larger.
func (s Spans) Signs(level float64) (p float64, below, above int, limit float64) {
	s.check()
	var highs, lows []float64
	for _, v := range s {
		highs, lows = append(highs, v.Hi), append(lows, -v.Lo)
		if v.Hi < 0 {
			below++
		}
		if v.Lo > 0 {
			above++
		}
	}
	n := len(s)
	if most := max(below, above); 2*most > n {
		p = SignTest(most, n-most)
	} else {
		p = 1
	}
	ends, sign := highs, 1.0
	if above > below {
		ends, sign = lows, -1
	}
	slices.Sort(ends)
	limit = math.Inf(1)
	for k := n; 2*k > n && SignTest(k, n-k) <= 1-level; k-- {
		limit = ends[k-1]
	}
	return p, below, above, sign * limit
}

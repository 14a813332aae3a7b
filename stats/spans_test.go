package stats_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/stats"
)

var inf = math.Inf(1)

// A plain second implementation of stats.Spans, by counting. It shares nothing with the first but
// Student's t of a complete sample.
type counted struct{ spans []stats.Span }

// p returns the p-value of "the mean is at least at", by counting subsets and throws of coins.
func (c counted) p(at float64) float64 {
	var known []float64
	hidden := 0
	usable := 0
	shown := 0
	for _, s := range c.spans {
		if s.Lo == s.Hi {
			known = append(known, s.Lo-at)
			continue
		}
		hidden++
		if s.Hi < inf {
			usable++
			if s.Hi < at {
				shown++
			}
		}
	}
	sample, _ := stats.NewSample(known...)
	t := stats.TTest(sample) / 2
	if sample.Mean() > 0 {
		t = 1 - t
	}
	ways := 0
	for set := range 1 << len(c.spans) {
		if bits.OnesCount(uint(set)) == hidden {
			ways++
		}
	}
	throws := float64(int(1) << hidden)
	heads := func(k int) float64 { // the share of throws with k heads or more
		n := 0
		for throw := range 1 << hidden {
			if bits.OnesCount(uint(throw)) >= k {
				n++
			}
		}
		return float64(n) / throws
	}
	w := heads(shown) * t
	sum := 0.0
	for throw := range 1 << hidden { // P(u·heads <= w) over a uniform u
		sum += min(1, w/heads(min(usable, bits.OnesCount(uint(throw)))))
	}
	return min(1, float64(ways)*sum/throws)
}

// upper returns the lowest hypothesis that is rejected at alpha/2, by bisection.
func (c counted) upper(alpha float64) float64 {
	lo, hi := -100.0, 100.0
	for range 100 {
		if at := (lo + hi) / 2; c.p(at) <= alpha/2 {
			hi = at
		} else {
			lo = at
		}
	}
	return hi
}

func (c counted) mirror() counted {
	var out counted
	for _, s := range c.spans {
		out.spans = append(out.spans, stats.Span{Lo: -s.Hi, Hi: -s.Lo})
	}
	return out
}

// randomSpans hides up to k of n normal differences behind bounds of all kinds.
func randomSpans(rng *rand.Rand, n, k int) stats.Spans {
	out := make(stats.Spans, n)
	center := 3 * rng.NormFloat64()
	for i := range out {
		d := center + rng.NormFloat64()
		out[i] = stats.Span{Lo: d, Hi: d}
		if i < k {
			switch gap := 2 * rng.ExpFloat64(); rng.IntN(4) {
			case 0:
				out[i] = stats.Span{Lo: -inf, Hi: inf}
			case 1:
				out[i] = stats.Span{Lo: d - gap, Hi: inf}
			default:
				out[i] = stats.Span{Lo: -inf, Hi: d + gap}
			}
		}
	}
	rng.Shuffle(n, func(i, k int) { out[i], out[k] = out[k], out[i] })
	return out
}

// TestSpansOfOneBound has the factors on the p-value of t that docs/method/statistics.md names, for
// a conclusion below zero.
func TestSpansOfOneBound(t *testing.T) {
	page, err := os.ReadFile("../docs/method/statistics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := stats.Spans{{-1, -1}, {-1.1, -1.1}, {-0.9, -0.9}, {-1.05, -1.05}, {-1.02, -1.02}}
	for _, tt := range []struct {
		hidden stats.Span
		want   float64
	}{
		{stats.Span{Lo: -inf, Hi: -0.5}, 4.5},
		{stats.Span{Lo: -inf, Hi: 0.5}, 9},
		{stats.Span{Lo: -2, Hi: inf}, 6},
	} {
		got := append(slices.Clone(known), tt.hidden).Test() / stats.TTest(known.Known())
		if math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%v: %v times the p-value of t, want %v", tt.hidden, got, tt.want)
		}
		if text := fmt.Sprintf("times %v ", tt.want); !strings.Contains(string(page), text) {
			t.Errorf("docs/method/statistics.md does not name the factor: %s", text)
		}
	}
}

// TestSpansAgreeWithCounting compares p-values and intervals with the second implementation on
// random tables.
func TestSpansAgreeWithCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 4))
	for range 400 {
		n := 6 + rng.IntN(5)
		s := randomSpans(rng, n, rng.IntN(n/2+1))
		c := counted{s}
		want := min(1, 2*min(c.p(0), c.mirror().p(0)))
		if got := s.Test(); math.Abs(got-want) > 1e-9+1e-6*want {
			t.Fatalf("%v: p = %v, counted %v", s, got, want)
		}
		ci := s.Interval(0.95)
		lo, hi := -c.mirror().upper(0.05), c.upper(0.05)
		if math.Abs(ci.Lo-lo) > 1e-6 || math.Abs(ci.Hi-hi) > 1e-6 {
			t.Fatalf("%v: interval [%v, %v], counted [%v, %v]", s, ci.Lo, ci.Hi, lo, hi)
		}
	}
}

// TestABoundThatMovesTowardsTheConclusionNeverWeakensIt moves bounds down.
func TestABoundThatMovesTowardsTheConclusionNeverWeakensIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 6))
	for range 300 {
		s := randomSpans(rng, 8, 1+rng.IntN(4))
		lower := slices.Clone(s)
		for i, v := range s {
			if !v.Known() && v.Hi < inf {
				lower[i].Hi -= 3 * rng.ExpFloat64()
			}
		}
		if a, b := s.Interval(0.95).Hi, lower.Interval(0.95).Hi; b > a+1e-12 {
			t.Fatalf("%v: upper end %v, with lower bounds %v", s, a, b)
		}
	}
}

// TestNobodyHidesALevelBehindBounds is an adversary: of six equal builds it sees all differences,
// and hides those k behind bounds that speak most against the conclusion "below zero", each just
// low enough to show its side if it can. No more than 2.5 % may be called so, and the interval may
// miss zero in no more.
func TestNobodyHidesALevelBehindBounds(t *testing.T) {
	const times = 600
	rng := rand.New(rand.NewPCG(16, 7))
	for _, n := range []int{6, 9} {
		for k := 1; k <= 3; k++ {
			wrong := 0
			for range times {
				d := make([]float64, n)
				for i := range d {
					d[i] = rng.NormFloat64()
				}
				found := false
				for set := range 1 << n {
					if bits.OnesCount(uint(set)) != k || found {
						continue
					}
					s := make(stats.Spans, n)
					for i, v := range d {
						s[i] = stats.Span{Lo: v, Hi: v}
						if set>>i&1 == 1 {
							s[i] = stats.Span{Lo: -inf, Hi: v + 1e-9}
						}
					}
					found = s.Interval(0.95).Hi < 0
				}
				if found {
					wrong++
				}
			}
			share := float64(wrong) / times
			t.Logf("n %d, %d hidden: %.2f %%", n, k, 100*share)
			if share > 0.025+3*math.Sqrt(0.025*0.975/times) {
				t.Errorf(
					"n %d, %d hidden: %.2f %% are called below zero, want at most 2.5 %%",
					n,
					k,
					100*share,
				)
			}
		}
	}
}

// TestNearestAndMayLieInside compare with a grid of completions.
func TestNearestAndMayLieInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 8))
	agreed := [2]int{}
	for range 60 {
		s := randomSpans(rng, 6, 1+rng.IntN(2))
		var open []int
		values := make([]float64, len(s))
		for i, v := range s {
			values[i] = v.Lo
			if !v.Known() {
				open = append(open, i)
			}
		}
		least, end := inf, inf
		var visit func(k int)
		visit = func(k int) {
			if k == len(open) {
				sample, _ := stats.NewSample(values...)
				ci := stats.TInterval(sample, 0.9)
				least, end = min(least, sample.SD()), min(end, max(-ci.Lo, ci.Hi))
				return
			}
			v := s[open[k]]
			for x := -12.0; x <= 12; x += 0.08 {
				values[open[k]] = min(max(x, v.Lo), v.Hi)
				visit(k + 1)
			}
		}
		visit(0)
		if got := s.Nearest().SD(); got > least+1e-9 || got < least-0.03 {
			t.Fatalf("%v: sd %v, on the grid %v", s, got, least)
		}
		if s.MayLieInside(0.9, end-0.08) || !s.MayLieInside(0.9, end+1e-9) {
			t.Fatalf("%v: the smallest end on the grid is %v", s, end)
		}
		for i, margin := range []float64{end - 0.08, end + 0.01} {
			if s.MayLieInside(0.9, margin) == (i == 1) {
				agreed[i]++
			}
		}
	}
	if agreed[0] != 60 || agreed[1] != 60 {
		t.Errorf("agreed %v", agreed)
	}
}

// TestSignsCountTheUnknownAgainst holds the sign test where too few differences are known.
func TestSignsCountTheUnknownAgainst(t *testing.T) {
	below := func(hi float64) stats.Span { return stats.Span{Lo: -inf, Hi: hi} }
	all := stats.Spans{below(-1), below(-2), below(-3), below(-4), {
		Lo: -5,
		Hi: -5,
	}, {Lo: -6, Hi: -6}}
	if p, under, over, limit := all.Signs(0.95); p != 2.0/64 || under != 6 || over != 0 ||
		limit != -1 {
		t.Errorf("all below: p %v, %d and %d, at most %v", p, under, over, limit)
	}
	one := slices.Clone(all)
	one[0] = below(1)
	if p, under, _, limit := one.Signs(0.95); p != 14.0/64 || under != 5 || limit != 1 {
		t.Errorf("one unknown: p %v, %d, at most %v", p, under, limit)
	}
	var up stats.Spans
	for _, s := range all {
		up = append(up, stats.Span{Lo: -s.Hi, Hi: -s.Lo})
	}
	if p, _, over, limit := up.Signs(0.95); p != 2.0/64 || over != 6 || limit != 1 {
		t.Errorf("all above: p %v, %d, at least %v", p, over, limit)
	}
}

// TestSpansWithoutSpread has known differences that are all the same number: every result is a
// number, and agrees with the count.
func TestSpansWithoutSpread(t *testing.T) {
	for _, v := range []float64{0, -0.05, 0.05, 1e-12, -3} {
		for _, bounds := range [][]stats.Span{nil, {{-inf, v}}, {{v, inf}}, {{-inf, v - 0.1}, {-inf, inf}}, {{-inf, 0}, {0, inf}, {v, inf}}} {
			s := stats.Spans{{v, v}, {v, v}, {v, v}, {v, v}}
			s = append(s, bounds...)
			c := counted{s}
			want := min(1, 2*min(c.p(0), c.mirror().p(0)))
			ci, p := s.Interval(0.95), s.Test()
			if !(math.Abs(p-want) < 1e-9) || !(ci.Lo <= v && v <= ci.Hi) {
				t.Errorf("%v: p %v, want %v, interval %v", s, p, want, ci)
			}
			if n := s.Nearest(); math.IsNaN(n.Mean()) || math.IsNaN(n.SD()) {
				t.Errorf("%v: the nearest completion is %v", s, n.Values)
			}
			if !s.MayLieInside(0.90, 4) {
				t.Errorf("%v: no completion lies inside ±4", s)
			}
			if q, _, _, limit := s.Signs(0.95); math.IsNaN(q) || math.IsNaN(limit) {
				t.Errorf("%v: signs p %v, limit %v", s, q, limit)
			}
		}
	}
}

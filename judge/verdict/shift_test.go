package verdict_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/stats"
)

// run makes the intervals of one run: ops log-normal response times around 40 ms in each, in steps
// of 2 %, off by a level of the run; slow changes each by its rank in its distribution.
func run(
	rng *rand.Rand,
	n, ops int,
	level float64,
	slow func(rank float64) float64,
) []stats.SparseCounts {
	const step = 0.02
	out := make([]stats.SparseCounts, n)
	for i := range out {
		bins := map[int]uint32{}
		lo, hi := math.MaxInt, math.MinInt
		for range ops {
			z := rng.NormFloat64()
			rank := 0.5 * math.Erfc(-z/math.Sqrt2)
			b := int(math.Round((math.Log(40) + level + 0.4*z + slow(rank)) / step))
			bins[b]++
			lo, hi = min(lo, b), max(hi, b)
		}
		for b := lo; b <= hi; b++ {
			if k := bins[b]; k > 0 {
				out[i].Value = append(out[i].Value, math.Exp(float64(b)*step))
				out[i].N = append(out[i].N, k)
			}
		}
	}
	return out
}

func nothing(float64) float64 { return 0 }

// twoArms makes pairs whose runs differ by an sd of 2 %.
func twoArms(
	rng *rand.Rand,
	n, intervals, ops int,
	slow func(rank float64) float64,
) []stats.RunPair {
	pairs := make([]stats.RunPair, n)
	for i := range pairs {
		hour := 0.04 * rng.NormFloat64()
		pairs[i] = stats.RunPair{
			Base: run(rng, intervals, ops, hour+0.02*rng.NormFloat64(), nothing),
			New:  run(rng, intervals, ops, hour+0.02*rng.NormFloat64(), slow),
		}
	}
	return pairs
}

func TestFindShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(400, 1))
	tail := func(rank float64) float64 {
		if rank > 0.92 {
			return 0.4
		}
		return 0
	}
	all := func(float64) float64 { return 0.2 }
	for _, tt := range []struct {
		name string
		of   func(float64) float64
		text string
		kind func(p float64) verdict.Kind
	}{
		{"everywhere", all, "post: slower from p10 (+2", func(float64) verdict.Kind {
			return verdict.Worse
		}},
		{"the tail alone", tail, "post: slower from p95 (+", func(p float64) verdict.Kind {
			if p > 0.9 {
				return verdict.Worse
			}
			return verdict.Inconclusive
		}},
		{"faster", func(float64) float64 {
			return -0.2
		}, "post: faster from p10", func(float64) verdict.Kind {
			return verdict.Better
		}},
		{"nothing", nothing, "post: no shift is shown anywhere from p10 to p99 (95 % band over all quantiles at once, 6 pairs)", func(float64) verdict.Kind {
			return verdict.Inconclusive
		}},
	} {
		s, ok := verdict.FindShift("post", twoArms(rng, 6, 20, 300, tt.of), 1)
		if !ok || !strings.HasPrefix(s.Sentence, tt.text) || len(s.Points) != 11 || s.N != 6 {
			t.Fatalf("%s: %v, %d points, %q", tt.name, ok, len(s.Points), s.Sentence)
		}
		for _, x := range s.Points {
			if x.Kind != tt.kind(x.P) || !(*x.Lo <= x.Effect && x.Effect <= *x.Hi) ||
				math.Abs(x.New/x.Base-1-x.Effect) > 1e-9 {
				t.Errorf("%s: %+v [%v, %v]", tt.name, x, *x.Lo, *x.Hi)
			}
		}
		if i := slices.IndexFunc(s.Points, func(x verdict.ShiftPoint) bool {
			return x.P == 0.5
		}); math.Abs(s.Points[i].Base/40-1) > 0.1 {
			t.Errorf("%s: median %v ms, want about 40", tt.name, s.Points[i].Base)
		}
	}
	five, ok := verdict.FindShift("post", twoArms(rng, 5, 20, 300, all), 1)
	if !ok || five.Points[0].Lo != nil || five.Points[0].Kind != verdict.Inconclusive ||
		!strings.Contains(five.Sentence, "5 pairs give no band around that, 6 are needed") {
		t.Errorf("five pairs: %+v", five)
	}
	if data, err := json.Marshal(five); err != nil || !strings.Contains(string(data), `"lo":null`) {
		t.Errorf("%s, %v", data, err)
	}
	if _, ok := verdict.FindShift("post", twoArms(rng, 6, 3, 10, nothing), 1); ok {
		t.Error("30 operations have a shift")
	}
	if _, ok := verdict.FindShift("post", []stats.RunPair{{Base: five50()}}, 1); ok {
		t.Error("a run without operations has a shift")
	}
	if _, ok := verdict.FindShift("post", nil, 1); ok {
		t.Error("no pair has a shift")
	}
	// 600 operations: 60 beyond p90 and below p10, 30 beyond p95.
	few, ok := verdict.FindShift("post", twoArms(rng, 6, 20, 30, nothing), 1)
	if last := few.Points[len(few.Points)-1].P; !ok || last != 0.9 {
		t.Errorf("600 operations: the last quantile is %v", last)
	}
}

func five50() []stats.SparseCounts {
	return []stats.SparseCounts{{Value: []float64{1}, N: []uint32{1000}}}
}

// TestShiftCalibration compares a build with itself: any finding at all in at most 6 % of
// comparisons; and counts how often a tail that is 15 % slower is found there, and elsewhere.
func TestShiftCalibration(t *testing.T) {
	t.Parallel()
	tail := func(rank float64) float64 {
		if rank > 0.92 {
			return math.Log(1.15)
		}
		return 0
	}
	const times = 50
	for _, n := range []int{6, 12} {
		rng := rand.New(rand.NewPCG(401, uint64(n)))
		var any, found, elsewhere int
		for i := range times {
			a, ok := verdict.FindShift("op", twoArms(rng, n, 8, 80, nothing), uint64(i))
			b, ok2 := verdict.FindShift("op", twoArms(rng, n, 8, 150, tail), uint64(i))
			if !ok || !ok2 {
				t.Fatal("no shift function")
			}
			finding := func(x verdict.ShiftPoint) bool { return x.Kind != verdict.Inconclusive }
			if slices.ContainsFunc(a.Points, finding) {
				any++
			}
			for _, x := range b.Points {
				switch {
				case x.P == 0.95 && x.Kind == verdict.Worse:
					found++
				case x.P < 0.9 && finding(x):
					elsewhere++
				}
			}
		}
		within(
			t,
			"equal builds, any quantile: "+string(rune('0'+n/6))+" times 6 pairs",
			any,
			times,
			0,
			0.1,
		)
		within(t, "slower tail found", found, times, map[int]float64{6: 0.2, 12: 0.9}[n], 1)
		within(t, "slower tail found elsewhere", elsewhere, times, 0, 0.1)
	}
}

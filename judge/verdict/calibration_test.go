package verdict_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/stats"
)

// comparisons is how many simulated comparisons each calibration makes.
const comparisons = 4000

// effect is the true effect of the new arm on the five primary endpoints, on the log scale; errors
// in points.
type effect struct{ capacity, post, op, delivery, errors float64 }

// lab simulates the comparison of two builds: pairs of runs on a drifting machine, the five endpoints of a
// run with noise of their own. sd is the run-to-run standard deviation of capacity; latencies vary twice as
// much.
type lab struct {
	rng *rand.Rand
	sd  float64
}

func primaries() []plan.Endpoint {
	return []plan.Endpoint{
		capacity(),
		latency(),
		{Name: "p99(op)", Better: plan.Lower, Margin: 0.15, Unit: "ms"},
		{Name: "p95(delivery)", Better: plan.Lower, Margin: 0.10, Unit: "ms"},
		failures(),
	}
}

// pairs returns n pairs for each endpoint of primaries, in their order.
func (l lab) pairs(n int, e effect) [][]verdict.Pair {
	out := make([][]verdict.Pair, 5)
	centers := []float64{16000, 80, 900, 120}
	shifts := []float64{e.capacity, e.post, e.op, e.delivery}
	for block := 1; block <= n; block++ {
		drift := 0.04 * l.rng.NormFloat64() // of the hour, shared by both arms
		for k, center := range centers {
			sd := l.sd
			if k > 0 {
				sd *= 2
			}
			at := math.Log(center) + drift
			out[k] = append(out[k], verdict.Pair{
				Block: block,
				Base:  math.Exp(at + sd*l.rng.NormFloat64()),
				New:   math.Exp(at + shifts[k] + sd*l.rng.NormFloat64()),
			})
		}
		base, fresh := l.rate(0.02), l.rate(0.02+e.errors)
		out[4] = append(out[4], verdict.Pair{Block: block, Base: base, New: fresh, BaseOps: 50_000, NewOps: 50_000})
	}
	return out
}

// capacity returns n pairs of equal capacities alone.
func (l lab) capacity(n int) []verdict.Pair {
	var out []verdict.Pair
	for block := 1; block <= n; block++ {
		at := math.Log(16000) + 0.04*l.rng.NormFloat64()
		out = append(out, verdict.Pair{Block: block, Base: math.Exp(at + l.sd*l.rng.NormFloat64()), New: math.Exp(at + l.sd*l.rng.NormFloat64())})
	}
	return out
}

// rate counts the errors of 50,000 operations at the given true percentage and returns their percentage.
func (l lab) rate(percent float64) float64 {
	mean, errors := 50_000*percent/100, 0
	for at := l.rng.ExpFloat64(); at < mean; at += l.rng.ExpFloat64() { // a Poisson process up to mean
		errors++
	}
	return float64(errors) / 500
}

func (l lab) judge(n int, e effect, opt verdict.Options) verdict.Verdict {
	return l.judgeWithin(1, n, e, opt)
}

// judgeWithin multiplies all margins by scale.
func (l lab) judgeWithin(scale float64, n int, e effect, opt verdict.Options) verdict.Verdict {
	var results []verdict.Result
	for k, pairs := range l.pairs(n, e) {
		endpoint := primaries()[k]
		endpoint.Margin *= scale
		results = append(results, verdict.Judge(endpoint, pairs, opt))
	}
	return verdict.Combine("simulated", results)
}

func within(t *testing.T, what string, hits, of int, lo, hi float64) {
	t.Helper()
	rate := float64(hits) / float64(of)
	t.Logf("%-60s %6.2f %%", what, 100*rate)
	if rate < lo || rate > hi {
		t.Errorf("%s: %.2f %% of %d, want %.2f to %.2f %%", what, 100*rate, of, 100*lo, 100*hi)
	}
}

// TestEqualBuilds compares a build with itself on five primary endpoints: at most 6 % of the verdicts may
// call it different. Without the adjustment for five endpoints it would be about three times as many.
func TestEqualBuilds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		blocks int
		sd     float64
		same   [2]float64
	}{
		{"6 blocks, sd 2 %", 6, 0.02, [2]float64{0.60, 0.95}},
		{"9 blocks, sd 3 %", 9, 0.03, [2]float64{0.40, 0.90}},
	} {
		l := lab{rand.New(rand.NewPCG(200, uint64(tt.blocks)*1000+uint64(1000*tt.sd))), tt.sd}
		kinds := make(map[verdict.Kind]int)
		var alone int
		for range comparisons {
			v := l.judge(tt.blocks, effect{}, verdict.Fixed(tt.blocks))
			kinds[v.Kind]++
			for _, r := range v.Results {
				if r.P <= r.Alpha {
					alone++
					break
				}
			}
		}
		within(t, "equal builds, "+tt.name+": worse or better", kinds[verdict.Worse]+kinds[verdict.Better], comparisons, 0, 0.06)
		within(t, "equal builds, "+tt.name+": same", kinds[verdict.Same], comparisons, tt.same[0], tt.same[1])
		within(t, "equal builds, "+tt.name+": any endpoint p <= 0.05 alone", alone, comparisons, 0.12, 0.30)
		if kinds[verdict.Invalid] > 0 {
			t.Errorf("%s: %d verdicts are invalid", tt.name, kinds[verdict.Invalid])
		}
	}
}

// TestEqualBuildsWithoutMargin makes the margins so narrow that "the same" hides no false finding: the
// findings keep the level over all five endpoints.
func TestEqualBuildsWithoutMargin(t *testing.T) {
	t.Parallel()
	const n = 800
	l := lab{rand.New(rand.NewPCG(206, 1)), 0.03}
	kinds := make(map[verdict.Kind]int)
	for range n {
		kinds[l.judgeWithin(0.01, 12, effect{}, verdict.Fixed(12)).Kind]++
	}
	within(t, "equal builds without margin: worse or better", kinds[verdict.Worse]+kinds[verdict.Better], n, 0.005, 0.05)
}

// TestEqualCapacity compares one endpoint of equal builds, with a margin so narrow that "the same" hides no
// false finding.
func TestEqualCapacity(t *testing.T) {
	t.Parallel()
	e := capacity()
	e.Margin = 0.0005
	for _, n := range []int{6, 9, 12} {
		l := lab{rand.New(rand.NewPCG(201, uint64(n))), 0.03}
		var worse, better int
		for range comparisons / 2 {
			switch verdict.Judge(e, l.capacity(n), verdict.Fixed(n)).Kind {
			case verdict.Worse:
				worse++
			case verdict.Better:
				better++
			}
		}
		within(t, "equal capacity: worse or better", worse+better, comparisons/2, 0.01, 0.06)
		within(t, "equal capacity: worse", worse, comparisons/2, 0.005, 0.035)
		within(t, "equal capacity: better", better, comparisons/2, 0.005, 0.035)
	}
}

// TestEqualBuildsAtLooks stops equal builds at the first of three planned looks that is not inconclusive.
func TestEqualBuildsAtLooks(t *testing.T) {
	t.Parallel()
	const n = 1000
	l := lab{rand.New(rand.NewPCG(202, 1)), 0.03}
	var different int
	for range n {
		all := l.pairs(12, effect{})
		v := atLooks(t, all)
		if v.Kind == verdict.Worse || v.Kind == verdict.Better {
			different++
		}
	}
	within(t, "equal builds at three looks: worse or better", different, n, 0, 0.06)
}

// atLook returns the options of the k-th of the planned looks of stats.PocockLooks, from 1.
func atLook(k int) verdict.Options {
	looks := stats.PocockLooks()
	return verdict.Options{Alpha: looks[k-1].Alpha, Blocks: looks[k-1].Pairs, Look: k, Looks: len(looks)}
}

func atLooks(t *testing.T, all [][]verdict.Pair) verdict.Verdict {
	t.Helper()
	var v verdict.Verdict
	for k, look := range stats.PocockLooks() {
		opt := atLook(k + 1)
		var results []verdict.Result
		for i, pairs := range all {
			results = append(results, verdict.Judge(primaries()[i], pairs[:look.Pairs], opt))
		}
		if v = verdict.Combine("simulated", results); v.Kind != verdict.Inconclusive {
			break
		}
	}
	return v
}

// TestPlantedChanges plants changes and counts how often they are found, with the five endpoints of a real
// comparison; never may the opposite be found.
func TestPlantedChanges(t *testing.T) {
	t.Parallel()
	loss, rise := math.Log(0.90), math.Log(1.25)
	for _, tt := range []struct {
		name   string
		blocks int
		sd     float64
		effect effect
		kind   verdict.Kind
		lo, hi float64
	}{
		{"10 % capacity loss, 6 blocks, sd 2 %", 6, 0.02, effect{capacity: loss}, verdict.Worse, 0.95, 1},
		{"10 % capacity loss, 9 blocks, sd 3 %", 9, 0.03, effect{capacity: loss}, verdict.Worse, 0.95, 1},
		{"5 % capacity loss, 6 blocks, sd 2 %", 6, 0.02, effect{capacity: math.Log(0.95)}, verdict.Worse, 0.50, 0.70},
		{"25 % slower posts, 6 blocks, sd 2 %", 6, 0.02, effect{post: rise}, verdict.Worse, 0.97, 1},
		{"0.3 points more errors, 6 blocks, sd 2 %", 6, 0.02, effect{errors: 0.3}, verdict.Worse, 0.99, 1},
		{"10 % more capacity, 6 blocks, sd 1 %", 6, 0.01, effect{capacity: -loss}, verdict.Better, 0.97, 1},
	} {
		const n = 600
		l := lab{rand.New(rand.NewPCG(203, uint64(tt.blocks))), tt.sd}
		kinds := make(map[verdict.Kind]int)
		for range n {
			kinds[l.judge(tt.blocks, tt.effect, verdict.Fixed(tt.blocks)).Kind]++
		}
		within(t, tt.name+": "+string(tt.kind), kinds[tt.kind], n, tt.lo, tt.hi)
		opposite := verdict.Better
		if tt.kind == verdict.Better {
			opposite = verdict.Worse
		}
		within(t, tt.name+": "+string(opposite), kinds[opposite], n, 0, 0.005)
		within(t, tt.name+": invalid", kinds[verdict.Invalid], n, 0, 0)
	}
}

// TestPlantedChangeAtLooks finds a 5 % loss at a run sd of 3 % at three planned looks, on capacity alone:
// the study has 91 %.
func TestPlantedChangeAtLooks(t *testing.T) {
	t.Parallel()
	const n = 1500
	l := lab{rand.New(rand.NewPCG(204, 1)), 0.03}
	var found, same, pairs int
	for range n {
		all := l.pairs(12, effect{capacity: math.Log(0.95)})[0]
		for k, look := range stats.PocockLooks() {
			opt := atLook(k + 1)
			r := verdict.Judge(capacity(), all[:look.Pairs], opt)
			if r.Kind == verdict.Worse {
				found++
			}
			if r.Kind == verdict.Same {
				same++
			}
			if r.Kind != verdict.Inconclusive || k == 2 {
				pairs += look.Pairs
				break
			}
		}
	}
	within(t, "5 % capacity loss at three looks, sd 3 %: worse", found, n, 0.80, 0.97)
	within(t, "5 % capacity loss at three looks, sd 3 %: same", same, n, 0, 0.07)
	t.Logf("mean number of pairs: %.1f", float64(pairs)/n)
}

// TestWildRuns spoils one run in ten by 20 % in equal builds: wild runs must not make findings.
func TestWildRuns(t *testing.T) {
	t.Parallel()
	for _, n := range []int{6, 8, 12} {
		l := lab{rand.New(rand.NewPCG(205, uint64(n))), 0.02}
		var different, same int
		for range comparisons / 2 {
			pairs := l.capacity(n)
			for i := range pairs {
				if l.rng.Float64() < 0.1 {
					if l.rng.IntN(2) == 0 {
						pairs[i].Base *= 0.8
					} else {
						pairs[i].New *= 0.8
					}
				}
			}
			switch verdict.Judge(capacity(), pairs, verdict.Fixed(n)).Kind {
			case verdict.Worse, verdict.Better:
				different++
			case verdict.Same:
				same++
			}
		}
		within(t, "wild runs: worse or better", different, comparisons/2, 0, 0.06)
		t.Logf("wild runs, n %d: same %.1f %%", n, 100*float64(same)/(comparisons/2))
	}
}

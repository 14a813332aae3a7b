package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/stats"
)

// comparisons is the number of simulated comparisons of each row of the page.
const comparisons = 4000

// primaries returns the endpoints of a simulated comparison.
func primaries() []plan.Endpoint {
	return []plan.Endpoint{
		capacity(),
		latency(),
		{Name: "p99(op)", Better: plan.Lower, Margin: 0.15, Unit: "ms"},
		{Name: "p95(delivery)", Better: plan.Lower, Margin: 0.10, Unit: "ms"},
		failures(),
	}
}

// errorRate returns the percentage of errors in 50,000 operations, whose true percentage is given.
func errorRate(rng *rand.Rand, percent float64) float64 {
	mean, errors := 50_000*percent/100, 0
	for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() { // a Poisson process up to mean
		errors++
	}
	return float64(errors) / 500
}

func within(t *testing.T, what string, hits, of int, lo, hi float64) {
	t.Helper()
	rate := float64(hits) / float64(of)
	t.Logf("%-60s %6.2f %%", what, 100*rate)
	if rate < lo || rate > hi {
		t.Errorf("%s: %.2f %% of %d, want %.2f to %.2f %%", what, 100*rate, of, 100*lo, 100*hi)
	}
}

// atLook returns the options of the k-th of the planned looks of stats.PocockLooks, from 1.
func atLook(k int) verdict.Options {
	looks := stats.PocockLooks()
	return verdict.Options{
		Alpha: looks[k-1].Alpha, Blocks: looks[k-1].Pairs, Look: k, Looks: len(looks),
	}
}

// A share is the least and the largest part of the comparisons that may have a verdict.
type share [2]float64

// TestVerdictRates bounds the shares of verdicts in thousands of comparisons, where
// TestStatisticsPage simulates dozens. A verdict without bounds, and one that contradicts a planted
// change, is rare.
func TestVerdictRates(t *testing.T) {
	const (
		worse, better, same = verdict.Worse, verdict.Better, verdict.Same
		narrow              = 0.0005 // a margin within which "the same" hides no false finding
	)
	level := map[verdict.Kind]share{worse: {0.005, 0.035}, better: {0.005, 0.035}, same: {0, 0}}
	for _, tt := range []struct {
		w     world
		times int
		want  map[verdict.Kind]share
		// of comparisons in which the t test of any endpoint by itself excludes no change; 0 for
		// any
		alone share
	}{
		{world{
			five:   true,
			sd:     0.02,
			blocks: 6,
		}, 4000, map[verdict.Kind]share{same: {0.60, 0.95}}, share{0.12, 0.30}},
		{world{
			five:   true,
			sd:     0.03,
			blocks: 9,
		}, 4000, map[verdict.Kind]share{same: {0.40, 0.90}}, share{0.12, 0.30}},
		{world{five: true, sd: 0.03}, 1000, map[verdict.Kind]share{same: {0.5, 1}}, share{}},
		{world{sd: 0.03, blocks: 6, margin: narrow}, 2000, level, share{}},
		{world{sd: 0.03, blocks: 9, margin: narrow}, 2000, level, share{}},
		{world{sd: 0.03, blocks: 12, margin: narrow}, 2000, level, share{}},
		// Neither run of a duet came first.
		{world{sd: 0.02, blocks: 6, blind: true, margin: narrow}, 4000, level, share{}},
		{world{five: true, sd: 0.02, blocks: 6, blind: true, margin: narrow}, 4000, nil, share{}},
		{world{
			sd:     0.02,
			blocks: 6,
			spoil:  0.1,
		}, 2000, map[verdict.Kind]share{same: {0, 1}}, share{}},
		{world{
			sd:     0.02,
			blocks: 12,
			spoil:  0.1,
		}, 2000, map[verdict.Kind]share{same: {0, 1}}, share{}},
		{world{
			five:   true,
			sd:     0.02,
			blocks: 6,
			change: math.Log(0.90),
		}, 600, map[verdict.Kind]share{worse: {0.95, 1}}, share{}},
		{world{
			five:   true,
			sd:     0.03,
			blocks: 9,
			change: math.Log(0.90),
		}, 600, map[verdict.Kind]share{worse: {0.95, 1}}, share{}},
		{world{
			five:   true,
			sd:     0.02,
			blocks: 6,
			change: math.Log(0.95),
		}, 600, map[verdict.Kind]share{worse: {0.40, 0.70}}, share{}},
		{world{
			five:   true,
			sd:     0.01,
			blocks: 6,
			change: -math.Log(0.90),
		}, 600, map[verdict.Kind]share{better: {0.97, 1}}, share{}},
		{world{
			sd:     0.03,
			change: math.Log(0.95),
		}, 1500, map[verdict.Kind]share{worse: {0.80, 0.97}}, share{}},
	} {
		t.Run(
			fmt.Sprintf(
				"%v, %+.0f %%, margin %v, spoiled %v",
				tt.w,
				100*math.Expm1(tt.w.change),
				tt.w.margin,
				tt.w.spoil,
			),
			func(t *testing.T) {
				t.Parallel()
				o := tt.w.simulate(t, tt.times)
				for _, kind := range []verdict.Kind{worse, better, same} {
					want, ok := tt.want[kind]
					switch {
					case ok:
					case kind == same:
						want = share{0, 0.07}
					case tt.w.change != 0:
						want = share{0, 0.005}
					default:
						want = share{0, 0.05}
					}
					within(t, string(kind), o.kinds[kind], o.of, want[0], want[1])
				}
				if tt.w.change == 0 {
					within(t, "worse or better", o.kinds[worse]+o.kinds[better], o.of, 0, 0.06)
				}
				if tt.alone != (share{}) {
					within(
						t,
						"any endpoint p <= 0.05 alone",
						o.alone,
						o.of,
						tt.alone[0],
						tt.alone[1],
					)
				}
			},
		)
	}
}

// TestPlantedChanges finds a change of an endpoint beside capacity.
func TestPlantedChanges(t *testing.T) {
	t.Parallel()
	const times = 600
	w := world{five: true, sd: 0.02, blocks: 6}
	for name, change := range map[string]func(all [][]verdict.Pair, block int){
		"25 % slower posts":      func(all [][]verdict.Pair, b int) { all[1][b].New *= 1.25 },
		"0.3 points more errors": func(all [][]verdict.Pair, b int) { all[4][b].New += 0.3 },
	} {
		rng, kinds := rand.New(rand.NewPCG(203, 6)), map[verdict.Kind]int{}
		for range times {
			all := w.session(rng, w.blocks)
			for b := range w.blocks {
				change(all, b)
			}
			v, _ := w.decide(all)
			kinds[v.Kind]++
		}
		within(t, name+": worse", kinds[verdict.Worse], times, 0.97, 1)
		within(t, name+": better", kinds[verdict.Better], times, 0, 0.005)
	}
}

package verdict_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/stats"
)

// longRounds is the number of slices each arm has in 30 s, the longest measured phase of "measure:
// auto" by default; its shortest has duetRounds.
const longRounds = 150

// measured makes the six blocks of a duet, of so many rounds each, or of as many as "measure: auto"
// takes, and returns the share of longRounds that it took.
func (w duetWorld) measured(rng *rand.Rand, rounds int) (pairs []verdict.Pair, share float64) {
	h := &weather{w: w, rng: rng}
	var differences, within []float64
	for n := range stats.MinPairs {
		variance := math.NaN()
		b := h.turns(func(made [][2]float64) bool {
			if rounds > 0 {
				return len(made) == rounds
			}
			if len(made) < duetRounds || len(made)%5 != 0 { // it is asked once a second
				return false
			}
			variance = inside(made)
			return len(made) >= longRounds || stats.LongEnough(variance, differences, within)
		})
		differences, within = append(differences, b.mean[1]-b.mean[0]), append(within, variance)
		pairs = append(pairs, verdict.Pair{
			Block: n + 1,
			Base:  math.Exp(b.mean[0]),
			New:   math.Exp(b.mean[1]),
		})
		share += float64(len(b.rounds)) / longRounds / stats.MinPairs
	}
	return pairs, share
}

// inside returns the variance that the inside of a block leaves its difference, of ten stretches as
// the product makes them (comparison.Within).
func inside(rounds [][2]float64) float64 {
	const stretches = 10
	each := make([]float64, stretches)
	for k := range each {
		var sum [2]float64
		for _, at := range rounds[k*len(rounds)/stretches : (k+1)*len(rounds)/stretches] {
			sum[0], sum[1] = sum[0]+math.Exp(at[0]), sum[1]+math.Exp(at[1])
		}
		each[k] = math.Log(sum[1] / sum[0])
	}
	return stats.StretchVariance(each)
}

// measureTable compares lengths of blocks: 7 s, 30 s, and as long as the block needs.
func measureTable() pageTable {
	table := pageTable{
		mark: "lengths of blocks",
		head: "| endpoint and change | host | sd between deployments " +
			"| change found: 7 s | 30 s | `auto` | `auto`: measured, of 30 s | **`auto`, equal builds: worse or better** " +
			"| **`auto`: 95 % interval holds the change** |\n|---|---|---|---|---|---|---|---|---|\n",
	}
	table.rows = duetRows([]duetHost{duetHosts()[1], duetHosts()[3]}, 5, duetWorld.lengths)
	return table
}

// lengths simulates a row of measureTable.
func (w duetWorld) lengths(_ *testing.T, times int, effect float64) []float64 {
	rng := w.seeded()
	out := make([]float64, 6)
	add := func(k int, is bool) {
		if is {
			out[k] += 1 / float64(times)
		}
	}
	for range times {
		for k, rounds := range []int{duetRounds, longRounds, 0} {
			pairs, share := w.measured(rng, rounds)
			changed := w.judge(pairs, effect)
			add(k, changed.Kind == verdict.Worse)
			if rounds > 0 {
				continue
			}
			equal := w.judge(pairs, 0)
			out[3] += share / float64(times)
			add(4, equal.Kind == verdict.Worse || equal.Kind == verdict.Better)
			add(5, changed.Lo <= math.Expm1(effect) && math.Expm1(effect) <= changed.Hi)
		}
	}
	return out
}

package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/judge/verdict"
)

// hides turns the numbers of some runs into bounds, as searches that end too early do.
type hides struct {
	name string
	hide func(rng *rand.Rand, pairs []verdict.Pair, k int)
}

// early makes a bound of a number: 50 to 99 % of it, where a search that began too low was stopped.
func early(rng *rand.Rand, v *float64, censored *bool) {
	*v, *censored = *v*(0.5+0.49*rng.Float64()), true
}

func eitherRun(rng *rand.Rand, p *verdict.Pair) {
	if rng.IntN(2) == 0 {
		early(rng, &p.Base, &p.BaseCensored)
	} else {
		early(rng, &p.New, &p.NewCensored)
	}
}

var ways = []hides{
	{
		"either arm, at random, at 50 to 99 % of it",
		func(rng *rand.Rand, pairs []verdict.Pair, k int) {
			for _, i := range rng.Perm(len(pairs))[:k] {
				eitherRun(rng, &pairs[i])
			}
		},
	},
	{"the base alone, at random, at 50 to 99 %", func(rng *rand.Rand, pairs []verdict.Pair, k int) {
		for _, i := range rng.Perm(len(pairs))[:k] {
			early(rng, &pairs[i].Base, &pairs[i].BaseCensored)
		}
	}},
	{
		"the highest runs, at a limit of all searches",
		func(_ *rand.Rand, pairs []verdict.Pair, k int) {
			var all []float64
			for _, p := range pairs {
				all = append(all, p.Base, p.New)
			}
			slices.Sort(all)
			limit := all[len(all)-1-k]
			for i := range pairs {
				p := &pairs[i]
				p.BaseCensored, p.NewCensored = p.Base > limit, p.New > limit
				p.Base, p.New = min(p.Base, limit), min(p.New, limit)
			}
		},
	},
	{
		"the pairs furthest from the mean, just below their number",
		func(_ *rand.Rand, pairs []verdict.Pair, k int) {
			mean := completed(pairs).Mean()
			far := func(p verdict.Pair) float64 { return math.Abs(math.Log(p.New/p.Base) - mean) }
			order := make([]int, len(pairs))
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(a, b int) int {
				if far(pairs[a]) > far(pairs[b]) {
					return -1
				}
				return 1
			})
			for _, i := range order[:k] {
				p := &pairs[i]
				if p.New < p.Base {
					p.Base, p.BaseCensored = p.Base*0.999, true
				} else {
					p.New, p.NewCensored = p.New*0.999, true
				}
			}
		},
	},
}

// boundsTable counts the verdicts of comparisons of capacity in which some searches ended as lower
// bounds.
func boundsTable() pageTable {
	table := pageTable{
		mark: "bounds",
		head: "| a search of a pair ends as a bound | blocks | pairs with bounds | **equal builds: worse or better** | equal builds: interval holds 0 | -10 %: worse | -10 %: interval holds it | -10 %: better | -36 %, five primaries: worse |\n|---|---|---|---|---|---|---|---|---|\n",
	}
	for w, way := range ways {
		for _, blocks := range []int{6, 9, 12, 0} {
			for k := range 4 {
				switch {
				case k == 0 && (w > 0 || blocks == 0),
					k == 2 && blocks != 6,
					k == 3 && blocks == 0,
					blocks == 9 && w > 0:
					continue
				}
				which := fmt.Sprint(k)
				if blocks == 0 {
					which = "one in six"
				}
				table.rows = append(table.rows, pageRow{
					key:   fmt.Sprintf("%s | %s | %s", way.name, when(blocks), which),
					most:  map[int]float64{0: 0.06, 4: 0.002},
					least: map[int]float64{1: 0.94, 3: 0.94},
					shares: func(_ *testing.T, times int) []float64 {
						equal := world{
							sd:     0.02,
							blocks: blocks,
							margin: 0.0005,
						}.hidden(way, k, times)
						tenth := world{
							sd:     0.02,
							blocks: blocks,
							change: math.Log(0.90),
						}.hidden(way, k, times)
						third := world{
							sd:     0.02,
							blocks: blocks,
							change: math.Log(0.64),
							five:   true,
						}.hidden(way, k, times/4)
						return []float64{
							equal.different(), equal.share(equal.alone),
							tenth.share(tenth.kinds[verdict.Worse]),
							tenth.share(tenth.alone), tenth.share(tenth.kinds[verdict.Better]),
							third.share(third.kinds[verdict.Worse]),
						}
					},
				})
			}
		}
	}
	return table
}

// hidden simulates comparisons in which k pairs of capacity of each six (of a declared number: k in
// all) are bounds. The outcome's alone counts the intervals of the last look that hold the change,
// those with one end by it.
func (w world) hidden(way hides, k, times int) outcome {
	o := outcome{kinds: map[verdict.Kind]int{}, of: times}
	rng := seeded(1995, "%+v %s %d", w, way.name, k)
	for range times {
		all := w.session(rng, w.most())
		if w.blocks > 0 {
			way.hide(rng, all[0], k)
		} else {
			way.hide(rng, all[0][:6], k)
			way.hide(rng, all[0][6:], k)
		}
		v, _ := w.decide(all)
		o.kinds[v.Kind]++
		truth, r := math.Expm1(w.change), v.Results[0]
		if !(r.Lo > truth) && !(r.Hi < truth) {
			o.alone++
		}
	}
	return o
}

package verdict_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"plimsoll/judge/verdict"
)

// failing is a simulated comparison of builds that are alike in every run that is valid, and whose
// runs fail with these chances: a block in which a run failed is run again whole, for a third of
// the blocks at most.
type failing struct {
	blocks      int
	base, fresh float64
}

// verdicts simulates one comparison: as it is judged, and as it was before failed runs were an
// endpoint.
func (f failing) verdicts(rng *rand.Rand) (now, before verdict.Verdict) {
	w := world{five: true, sd: 0.01, blocks: f.blocks}
	all := w.session(rng, f.blocks)
	var base, fresh verdict.Attempts
	kept, left := 0, (f.blocks+2)/3
	for block := 0; block < f.blocks; {
		x, y := rng.Float64() < f.base, rng.Float64() < f.fresh
		base.Runs, fresh.Runs = base.Runs+1, fresh.Runs+1
		if x {
			base.Failed++
		}
		if y {
			fresh.Failed++
		}
		switch {
		case !x && !y:
			kept++
			block++
		case left > 0:
			left--
		default:
			block++ // it is missing
		}
	}
	before = w.judge(all, kept, verdict.Fixed(f.blocks))
	results := before.Results
	if base.Failed+fresh.Failed > 0 {
		results = append(results, verdict.JudgeFailed(base, fresh, verdict.Fixed(f.blocks)))
	}
	return verdict.Combine("simulated", results), before
}

// failedTable counts verdicts on builds that differ in nothing but in how often a run of them
// fails.
func failedTable() pageTable {
	table := pageTable{
		mark: "failed runs",
		head: "| runs of base that fail | runs of new that fail | blocks | worse | better | **same** | same without the endpoint |\n|---|---|---|---|---|---|---|\n",
	}
	for _, share := range [][2]float64{{0.05, 0.05}, {0.2, 0.2}, {0, 0.2}, {0, 0.5}, {0.2, 0}} {
		for _, blocks := range []int{6, 12} {
			f := failing{blocks: blocks, base: share[0], fresh: share[1]}
			row := pageRow{
				key: fmt.Sprintf(
					"%.0f %% | %.0f %% | %d blocks",
					100*share[0],
					100*share[1],
					blocks,
				),
				most: map[int]float64{},
				shares: func(_ *testing.T, times int) []float64 {
					rng := rand.New(
						rand.NewPCG(uint64(100*f.base), uint64(1000*f.fresh)+uint64(blocks)),
					)
					kinds, same := map[verdict.Kind]int{}, 0
					for range times {
						now, before := f.verdicts(rng)
						kinds[now.Kind]++
						if before.Kind == verdict.Same {
							same++
						}
					}
					n := float64(times)
					return []float64{
						float64(kinds[verdict.Worse]) / n,
						float64(kinds[verdict.Better]) / n,
						float64(kinds[verdict.Same]) / n,
						float64(same) / n,
					}
				},
			}
			switch {
			case f.base == f.fresh: // a false verdict
				row.most[0], row.most[1] = 0.03, 0.03
			case f.fresh > f.base:
				row.most[1] = 0.001
			default:
				row.most[0] = 0.001
			}
			table.rows = append(table.rows, row)
		}
	}
	return table
}

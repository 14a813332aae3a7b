package verdict_test

import (
	"fmt"
	"math"
	"testing"

	"plimsoll/judge/verdict"
)

// orderTable counts the verdicts under an effect of coming second, for comparisons of capacity,
// with the order of the runs known and not.
func orderTable() pageTable {
	table := pageTable{
		mark: "order of the runs",
		head: "| the second run of a block | blocks | run sd | **equal builds: worse or better** | same | same, order unknown | -5 %: worse | -5 %: worse, order unknown |\n|---|---|---|---|---|---|---|---|\n",
	}
	for _, second := range []float64{0, -0.04} {
		for _, blocks := range []int{6, 9, 12, 0} {
			what := "is as the first"
			if second != 0 {
				what = fmt.Sprintf("is %.0f %% lower", -100*second)
			}
			row := pageRow{
				key:  fmt.Sprintf("%s | %s | 2 %%", what, when(blocks)),
				most: map[int]float64{0: 0.06},
				shares: func(t *testing.T, times int) []float64 {
					w := world{sd: 0.02, blocks: blocks, second: math.Log1p(second)}
					narrow := w
					blind := w
					loss := w
					narrow.margin = 0.0005
					blind.blind = true
					loss.change = math.Log(0.95)
					blindLoss := loss
					blindLoss.blind = true
					share := func(w world, kinds ...verdict.Kind) float64 {
						o, sum := w.simulate(t, times), 0
						for _, k := range kinds {
							sum += o.kinds[k]
						}
						return o.share(sum)
					}
					return []float64{
						share(narrow, verdict.Worse, verdict.Better),
						share(w, verdict.Same),
						share(blind, verdict.Same),
						share(loss, verdict.Worse),
						share(blindLoss, verdict.Worse),
					}
				},
			}
			if second != 0 {
				row.least = map[int]float64{1: 0.85}
			}
			table.rows = append(table.rows, row)
		}
	}
	return table
}

// spreadTable counts how often the runs of one arm are reported to vary more.
func spreadTable() pageTable {
	table := pageTable{
		mark: "spread of the runs",
		head: "| blocks | run sd | **equal builds, capacity** | **five primaries** | one run in ten loses 20 % | new varies twice as much | four times | eight times |\n|---|---|---|---|---|---|---|---|\n",
	}
	for _, blocks := range []int{6, 9, 12, 0} {
		table.rows = append(table.rows, pageRow{
			key:  when(blocks) + " | 2 %",
			most: map[int]float64{0: 0.06, 1: 0.06, 2: 0.08}, // the last by the twin alone
			shares: func(t *testing.T, times int) []float64 {
				found := func(w world) float64 {
					o := w.simulate(t, times)
					return o.share(o.spread)
				}
				w := world{sd: 0.02, blocks: blocks}
				five, spoiled := w, w
				five.five, spoiled.spoil = true, 0.1
				out := []float64{found(w), found(five), found(spoiled)}
				for _, times := range []float64{2, 4, 8} {
					wild := w
					wild.wild = times
					out = append(out, found(wild))
				}
				return out
			},
		})
	}
	return table
}

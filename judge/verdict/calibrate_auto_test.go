package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/stats"
)

// budgetOutcome counts comparisons that go on until every endpoint is decided, or their time is
// over.
type budgetOutcome struct {
	outcome
	// any look at which an endpoint was better or worse, also where a later one took it back
	crossed int
	decided int // every endpoint was decided
}

// budgeted simulates comparisons with a budget. fits returns how many blocks have time in it.
func (w world) budgeted(times int, fits func(rng *rand.Rand) int) budgetOutcome {
	times = max(times/2, quick) // comparisons of up to nine looks take their time
	o := budgetOutcome{outcome: outcome{kinds: map[verdict.Kind]int{}, of: times}}
	rng := seeded(1983, "%+v", w)
	looks := stats.BudgetLooks()
	for range times {
		all, most := w.session(rng, looks[len(looks)-1].Pairs), fits(rng)
		var v verdict.Verdict
		crossed := false
		decided := false
		used := 0
		for k, look := range looks {
			if k > 0 && look.Pairs > most {
				break
			}
			v = w.judge(all, look.Pairs, verdict.Options{
				Alpha:  look.Alpha,
				Blocks: look.Pairs,
				Look:   k + 1,
				Looks:  len(looks),
			})
			different := func(r verdict.Result) bool {
				return r.Kind == verdict.Worse || r.Kind == verdict.Better
			}
			crossed = crossed || slices.ContainsFunc(v.Results, different)
			used = look.Pairs
			if decided = !slices.ContainsFunc(v.Results, func(r verdict.Result) bool {
				return !different(r) && r.Kind != verdict.Same
			}); decided {
				break
			}
		}
		o.kinds[v.Kind]++
		o.blocks += used
		if crossed {
			o.crossed++
		}
		if decided {
			o.decided++
		}
	}
	return o
}

// budgets are the numbers of blocks that a budget has time for.
var budgets = []struct {
	name string
	fits func(rng *rand.Rand) int
}{
	{"30 blocks", func(*rand.Rand) int { return 30 }},
	{"12 blocks", func(*rand.Rand) int { return 12 }},
	{"6 to 30 blocks, at random", func(rng *rand.Rand) int { return 6 + rng.IntN(25) }},
}

// budgetTables count the verdicts of comparisons with "blocks: auto": of equal builds, and of
// builds with a change.
func budgetTables() []pageTable {
	equal := pageTable{
		mark: "auto, equal builds",
		head: "| endpoints | time for | runs | run sd | **worse or better** | same | inconclusive | margin 0.05 %: worse or better | at any look |\n|---|---|---|---|---|---|---|---|---|\n",
	}
	add := func(w world, b int) {
		budget := budgets[b]
		equal.rows = append(equal.rows, pageRow{
			key: w.key(budget.name), most: map[int]float64{0: 0.06, 3: 0.06, 4: 0.06},
			shares: func(_ *testing.T, times int) []float64 {
				o := w.budgeted(times, budget.fits)
				narrow := w
				narrow.margin = 0.0005
				x := narrow.budgeted(times, budget.fits)
				return append(o.verdicts(), x.different(), x.share(x.crossed))
			},
		})
	}
	for _, drift := range []bool{false, true} {
		for _, sd := range []float64{0.02, 0.05} {
			add(world{sd: sd, drift: drift}, 0)
		}
	}
	add(world{sd: 0.05, drift: true}, 1)
	add(world{sd: 0.05, drift: true}, 2)
	add(world{sd: 0.05, spoil: 0.1}, 0)
	equal.rows[len(equal.rows)-1].key = "capacity | 30 blocks | one in ten loses 20 % | 5 %"
	add(world{sd: 0.03, drift: true, five: true}, 0)

	found := pageTable{
		mark: "auto, planted changes",
		head: "| change | margin | endpoints | time for | runs | run sd | **worse** | better | same | every endpoint decided | blocks used, of 30 |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
	}
	plant := func(loss float64, w world, b int) {
		w.change = math.Log(1 - loss)
		found.rows = append(found.rows, pageRow{
			key: fmt.Sprintf(
				"-%.3g %% capacity | %.0f %% | %s",
				100*loss,
				100*w.margin,
				w.key(budgets[b].name),
			),
			most: map[int]float64{1: 0.005},
			shares: func(_ *testing.T, times int) []float64 {
				o := w.budgeted(times, budgets[b].fits)
				return append(o.findings(), o.share(o.decided), float64(o.blocks)/float64(30*o.of))
			},
		})
	}
	for _, loss := range []float64{0.02, 0.03, 0.04, 0.05, 0.07, 0.10} {
		plant(loss, world{sd: 0.03, drift: true, margin: 0.02}, 0)
	}
	for _, sd := range []float64{0.02, 0.03, 0.05} {
		plant(0.05, world{sd: sd, drift: true, margin: 0.05}, 0)
	}
	plant(0.05, world{sd: 0.05, drift: true, margin: 0.05}, 1)
	plant(0.10, world{sd: 0.05, drift: true, margin: 0.05}, 0)
	plant(0.10, world{sd: 0.03, drift: true, margin: 0.05, five: true}, 0)
	margin := pageTable{
		mark: "auto, on the margin",
		head: "| change | endpoints | time for | runs | run sd | **same** |\n|---|---|---|---|---|---|\n",
	}
	for _, sd := range []float64{0.02, 0.05} {
		w := world{sd: sd, change: -math.Log(1.05)}
		margin.rows = append(margin.rows, pageRow{
			key:  "-4.8 % capacity | " + w.key(budgets[0].name),
			most: map[int]float64{0: 0.06},
			shares: func(_ *testing.T, times int) []float64 {
				o := w.budgeted(times, budgets[0].fits)
				return []float64{o.share(o.kinds[verdict.Same])}
			},
		})
	}
	return []pageTable{equal, margin, found}
}

package report_test

import (
	"os"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// A comparison with one pair of runs is shown, and its verdict is inconclusive.
func Example() {
	e := plan.Endpoint{Name: "capacity", Better: plan.Higher, Margin: 0.05, Unit: "users"}
	r := verdict.Judge(e, []verdict.Pair{{Block: 1, Base: 16997, New: 16378}}, verdict.Fixed(1))
	d := report.From(report.Input{
		Comparison: &record.Comparison{
			State:   record.Sealed,
			Arms:    []string{"base", "new"},
			Engines: []string{"postgresql"},
			Blocks:  1,
			Runs: []record.ComparisonRun{
				{Run: "r1", Block: 1, Order: 1, Arm: "base", Engine: "postgresql", Valid: true},
				{Run: "r2", Block: 1, Order: 2, Arm: "new", Engine: "postgresql", Valid: true},
			},
		},
		Arms: []report.Judged{{
			Engine:  "postgresql",
			Arm:     "new",
			Verdict: verdict.Combine("postgresql", []verdict.Result{r}),
		}},
		EngineNames: map[string]string{"postgresql": "PostgreSQL 15.18"},
	})
	if err := report.Screen(os.Stdout, d, 90); err != nil {
		panic(err)
	}
	// Output:
	// Performance Comparison base vs new · complete, 1 of 1 blocks judged
	//
	// INDICATIVE    PostgreSQL: 1 pair is indicative only, at least 6 are needed for a verdict
	//               (capacity -3.6 %)
	//
	// supported users   base    new     delta, 95 %
	// PostgreSQL        16997   16378   -3.6 %
	//
	// validity      2 runs: 2 judged, none invalid
	// warning       could change a verdict: 1 block was judged: below 6 everything is indicative
	//               only; repeat it, with six blocks or more (and 1 more in the report)
	// next          Repeat over at least 6 blocks: fewer blocks carry no verdict.
}

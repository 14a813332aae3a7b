package verdict_test

import (
	"fmt"
	"os"
	"strings"

	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// Two pairs are too few for a verdict.
func ExampleJudge_indicative() {
	rows, err := imported.ReadTable(
		strings.NewReader("pair,base,new\n1,14186,16007\n2,14989,16371\n"),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	var pairs []verdict.Pair
	for _, row := range rows {
		pairs = append(pairs, row.Pair)
	}
	e := plan.Endpoint{Name: "capacity", Better: plan.Higher, Margin: 0.05, Unit: "users"}
	r := verdict.Judge(e, pairs, verdict.Options{})
	if err := verdict.Text(os.Stdout, r); err != nil {
		fmt.Println(err)
	}
	fmt.Println("exit status", r.Kind.ExitStatus())
	// Output:
	// capacity in users, higher is better, margin 5 % (-4.76 % to +5.00 %)
	//
	// pair    base     new     change
	//    1   14186   16007   +12.84 %
	//    2   14989   16371    +9.22 %
	//
	// base      14582 users, geometric mean of 2 runs
	// new       16188 users, geometric mean of 2 runs
	// change    +11.01 %
	// warning   too few values for an interval: 2 given, 3 needed
	//
	// capacity: new is 11.01 % higher than base (pairs from +9.22 % to +12.84 %); two pairs are indicative only: at least six are needed for a verdict.
	// exit status 4
}

// A database is as good as its worst endpoint; one that could not be measured is not the same.
func ExampleCombine() {
	var pairs []verdict.Pair
	for i, ratio := range []float64{0.99, 1.01, 1.00, 1.005, 0.995, 1.002} {
		pairs = append(pairs, verdict.Pair{Block: i + 1, Base: 1000, New: 1000 * ratio})
	}
	opt := verdict.Fixed(6)
	capacity := verdict.Judge(plan.Endpoint{
		Name:   "capacity",
		Better: plan.Higher,
		Margin: 0.05,
	}, pairs, opt)
	delivery := verdict.Judge(plan.Endpoint{
		Name:   "p95(delivery)",
		Better: plan.Lower,
		Margin: 0.10,
	}, nil, opt)

	fmt.Println(verdict.Combine("PostgreSQL", []verdict.Result{capacity}).Lead)
	fmt.Println(verdict.Combine("MariaDB", []verdict.Result{capacity, delivery}).Lead)
	// Output:
	// PostgreSQL: new is the same as base within the margins (capacity +0.03 %).
	// MariaDB: invalid: no result for p95(delivery): there is no valid pair.
}

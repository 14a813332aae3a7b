package comparison_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/comparison"
	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

func givenRun(arm string, pair int, figures ...record.Figure) record.Imported {
	return record.Imported{
		Source:  fmt.Sprintf("%s-%d", arm, pair),
		Tool:    "t",
		Arm:     arm,
		Pair:    pair,
		Figures: figures,
	}
}

func endpointOf(metric, unit string) (plan.Endpoint, error) {
	return comparison.EndpointOf(metric, unit, nil)
}

func TestPairImported(t *testing.T) {
	capacity := func(v float64) record.Figure {
		return record.Figure{
			Name:  "capacity",
			Value: v,
			Unit:  "users",
		}
	}
	p95 := func(v float64, ops int64) record.Figure {
		return record.Figure{Name: "p95", Value: v, Unit: "ms", Ops: ops}
	}
	p99 := record.Figure{Name: "p99", Value: 30, Unit: "ms", Ops: 458}
	aside := record.Figure{Name: "handler", Value: 3, Unit: "ms", Aside: true}
	got, err := comparison.PairImported([]record.Imported{
		givenRun("new", 2, capacity(91), p95(11, 500), p99, aside),
		givenRun("base", 1, capacity(100), p95(10, 500), p99, aside),
		givenRun("new", 1, capacity(90), p99, aside),
		givenRun("base", 2, capacity(101), p95(10, 500), p99, aside),
	}, endpointOf)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 2 || got.Rows[0].Pair != (verdict.Pair{
		Block: 1,
		Base:  100,
		New:   90,
	}) || got.Rows[1].Pair != (verdict.Pair{Block: 2, Base: 101, New: 91}) {
		t.Errorf("rows %+v", got.Rows)
	}
	if len(got.Asides) != 2 || got.Asides[0].Metric != "handler" {
		t.Errorf("asides %+v", got.Asides)
	}
	if got.Skipped["p95"] != "1 of 4 runs do not have it" ||
		!strings.Contains(got.Skipped["p99"], "458 operations are too few for p99: want 459") ||
		len(got.Skipped) != 2 {
		t.Errorf("skipped %q", got.Skipped)
	}
}

// A tool's rounding of more than half the margin makes steps that look like a difference without
// any spread.
func TestPairImportedStep(t *testing.T) {
	for _, tt := range []struct {
		step    float64
		skipped bool
	}{{0, false}, {1, false}, {1.01, true}} {
		f := record.Figure{Name: "p95", Value: 20, Unit: "ms", Step: tt.step}
		got, err := comparison.PairImported(
			[]record.Imported{givenRun("base", 1, f), givenRun("new", 1, f)},
			endpointOf,
		)
		if err != nil || (got.Skipped["p95"] != "") != tt.skipped ||
			(len(got.Rows) == 0) != tt.skipped {
			t.Errorf("20 ms rounded to %v: %+v, %v", tt.step, got, err)
		}
	}
}

func TestEndpointOf(t *testing.T) {
	margins := map[string]plan.Endpoint{
		"p95":       {Margin: 0.2},
		"p95(post)": {Margin: 0.3},
		"errors":    {Margin: 1, Absolute: true},
	}
	for _, tt := range []struct {
		metric, unit string
		want         plan.Endpoint
		err          string
	}{
		{"capacity", "users", plan.Endpoint{
			Name:   "capacity",
			Unit:   "users",
			Better: plan.Higher,
			Margin: 0.05,
		}, ""},
		{"throughput", "1/s", plan.Endpoint{
			Name:   "throughput",
			Unit:   "1/s",
			Better: plan.Higher,
			Margin: 0.05,
		}, ""},
		{"p95", "ms", plan.Endpoint{Name: "p95", Unit: "ms", Better: plan.Lower, Margin: 0.2}, ""},
		{"p95(post)", "ms", plan.Endpoint{
			Name:   "p95(post)",
			Unit:   "ms",
			Better: plan.Lower,
			Margin: 0.3,
		}, ""},
		{"p99.9(op)", "s", plan.Endpoint{
			Name:   "p99.9(op)",
			Unit:   "s",
			Better: plan.Lower,
			Margin: 0.15,
		}, ""},
		// pairs.csv has it
		{"typical(op)", "ms", plan.Endpoint{
			Name:   "typical(op)",
			Unit:   "ms",
			Better: plan.Lower,
			Margin: 0.05,
		}, ""},
		{"mean", "ms", plan.Endpoint{
			Name:   "mean",
			Unit:   "ms",
			Better: plan.Lower,
			Margin: 0.1,
		}, ""},
		{"errors", "%", plan.Endpoint{
			Name:     "errors",
			Unit:     "%",
			Better:   plan.Lower,
			Margin:   1,
			Absolute: true,
		}, ""},
		{"errors", "", plan.Endpoint{}, "want %, a share"},
		{"price", "EUR", plan.Endpoint{}, `metric "price"`},
		{"p100", "ms", plan.Endpoint{}, `metric "p100"`},
	} {
		got, err := comparison.EndpointOf(tt.metric, tt.unit, margins)
		if tt.err == "" && (err != nil || got != tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.metric, got, err, tt.want)
		}
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v; want %q", tt.metric, err, tt.err)
		}
	}
}

// Databases are compared within the pairs of one arm.
func TestJudgeRowsAcrossDatabases(t *testing.T) {
	var rows []imported.PairRow
	for i := range 6 {
		drift := float64(i * 40)
		rows = append(rows,
			imported.PairRow{
				Metric:   "capacity",
				Database: "MySQL",
				Unit:     "users",
				Pair:     verdict.Pair{Block: i + 1, Base: 1000 + drift, New: 1003 + drift},
			},
			imported.PairRow{
				Metric:   "capacity",
				Database: "Postgres",
				Unit:     "users",
				Pair: verdict.Pair{
					Block: i + 1,
					Base:  1100 + 1.1*drift + float64(i%2),
					New:   1102 + 1.1*drift,
				},
			})
	}
	arms, databases, err := comparison.JudgeRows(rows, [2]string{"v1", "v2"}, endpointOf)
	if err != nil || len(arms) != 2 || len(databases) != 2 {
		t.Fatal(arms, databases, err)
	}
	for _, j := range arms {
		if j.Verdict.Kind != verdict.Same {
			t.Errorf("%s: %s", j.Engine, j.Verdict.Lead)
		}
	}
	for i, j := range databases {
		if j.Verdict.Kind != verdict.Better || j.Arm != []string{"v1", "v2"}[i] ||
			!strings.Contains(j.Verdict.Lead, "Postgres is better than MySQL") {
			t.Errorf("%s: %s", j.Arm, j.Verdict.Lead)
		}
	}
}

// Databases whose bounded tests were others are compared by their capacity alone.
func TestJudgeRowsUnderOtherLoads(t *testing.T) {
	rows := func(metrics ...string) (rows []imported.PairRow) {
		for i := range 6 {
			for database, test := range map[string]string{
				"MySQL":    "bounded, 300 users for 1m0s",
				"Postgres": "bounded, 400 users for 1m0s",
			} {
				for _, m := range metrics {
					unit := map[string]string{"capacity": "users", "p95(post)": "ms"}[m]
					rows = append(rows, imported.PairRow{
						Metric:   m,
						Database: database,
						Unit:     unit,
						Test:     test,
						Pair: verdict.Pair{
							Block: i + 1,
							Base:  100 + float64(i),
							New:   101 + float64(i*i%3),
						},
					})
				}
			}
		}
		return rows
	}
	arms, databases, err := comparison.JudgeRows(
		rows("capacity", "p95(post)"),
		[2]string{"v1", "v2"},
		endpointOf,
	)
	if err != nil || len(arms) != 2 || len(databases) != 2 {
		t.Fatal(arms, databases, err)
	}
	for _, j := range arms {
		if len(j.Verdict.Results) != 2 || j.OtherLoad != "" {
			t.Errorf("arms of one load: %+v", j)
		}
	}
	for _, j := range databases {
		if r := j.Verdict.Results; len(r) != 1 || r[0].Name != "capacity" ||
			!strings.Contains(j.OtherLoad, "300 users") ||
			!strings.Contains(j.OtherLoad, "400 users") {
			t.Errorf("databases of two loads: %+v", j)
		}
	}
	if _, databases, err = comparison.JudgeRows(rows("p95(post)"), [2]string{"v1", "v2"}, endpointOf); err != nil ||
		len(databases) != 0 {
		t.Errorf("databases without a capacity: %+v, %v", databases, err)
	}
}

// Failed runs and withheld verdicts override pairs that look the same: between arms, and between
// databases.
func TestJudgeRowsOfFailedRuns(t *testing.T) {
	pairs := func(why string) (rows []imported.PairRow) {
		for i := range 6 {
			for _, database := range []string{"MySQL", "Postgres"} {
				rows = append(rows, imported.PairRow{
					Metric:   "capacity",
					Database: database,
					Unit:     "users",
					Withheld: why,
					Pair: verdict.Pair{
						Block: i + 1,
						Base:  1000 + float64(i),
						New:   1001 + float64(i*i%3),
					},
				})
			}
		}
		return rows
	}
	failed := func(database string, base, fresh int64) imported.PairRow {
		return imported.PairRow{
			Metric:   verdict.FailedRuns,
			Database: database,
			Unit:     "runs",
			Pair: verdict.Pair{
				Block:   1,
				Base:    float64(base),
				New:     float64(fresh),
				BaseOps: 6,
				NewOps:  6 + fresh,
			},
		}
	}
	none := imported.PairRow{
		Metric:   "p95(post)",
		Database: "MySQL",
		Unit:     "ms",
		Withheld: "no pair has a number",
		Pair:     verdict.Pair{Block: 1, Base: math.NaN(), New: math.NaN()},
	}
	for _, tt := range []struct {
		name            string
		rows            []imported.PairRow
		arms, databases []verdict.Kind
	}{
		{"nothing beside", pairs(""), []verdict.Kind{verdict.Same, verdict.Same}, []verdict.Kind{verdict.Same, verdict.Same}},
		{"some failed", append(pairs(""), failed("MySQL", 0, 1), failed("Postgres", 0, 0)), []verdict.Kind{verdict.Inconclusive, verdict.Same}, []verdict.Kind{verdict.Same, verdict.Inconclusive}},
		{"withheld", pairs("two are void"), []verdict.Kind{verdict.Inconclusive, verdict.Inconclusive}, []verdict.Kind{verdict.Inconclusive, verdict.Inconclusive}},
		{"a metric without a pair", append(pairs(""), none), []verdict.Kind{verdict.Invalid, verdict.Same}, []verdict.Kind{verdict.Invalid, verdict.Invalid}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			arms, databases, err := comparison.JudgeRows(tt.rows, [2]string{"v1", "v2"}, endpointOf)
			if err != nil {
				t.Fatal(err)
			}
			kinds := func(all []comparison.Judgement) (out []verdict.Kind) {
				for _, j := range all {
					out = append(out, j.Verdict.Kind)
				}
				return out
			}
			if got := kinds(arms); !slices.Equal(got, tt.arms) {
				t.Errorf("arms are %v, want %v", got, tt.arms)
			}
			if got := kinds(databases); !slices.Equal(got, tt.databases) {
				t.Errorf("databases are %v, want %v", got, tt.databases)
			}
		})
	}
}

// A figure of one name in two tests would make two pairs of each.
func TestPairImportedOfTwoTests(t *testing.T) {
	p95 := record.Figure{Name: "p95", Value: 20, Unit: "ms"}
	var runs []record.Imported
	for _, arm := range []string{"base", "new"} {
		for _, test := range []string{"bounded, 10 users", "unbounded"} {
			g := givenRun(arm, 1, p95)
			g.Test, g.Source = test, arm+" "+test
			runs = append(runs, g)
		}
	}
	if got, err := comparison.PairImported(runs, endpointOf); err == nil ||
		!strings.Contains(err.Error(), "judge one test at a time") {
		t.Errorf("%+v, %v", got.Rows, err)
	}
}

// TestPairImportedOfRunsThatLackACost pairs the known numbers of a cost that some runs lack, and
// never judges without it where one arm alone has it.
func TestPairImportedOfRunsThatLackACost(t *testing.T) {
	for _, tt := range []struct {
		name        string
		base, fresh int // runs of eight without a cost
		n           int
		kind        verdict.Kind
	}{
		{"none", 0, 0, 8, verdict.Same},
		{"one of each", 1, 1, 7, verdict.Same},
		{"one of new", 0, 1, 7, verdict.Same},
		{"all of new", 0, 8, 0, verdict.Invalid},
	} {
		var runs []record.Imported
		for i := range 8 {
			for arm, lacking := range map[string]bool{"base": i < tt.base, "new": i < tt.fresh} {
				g := givenRun(arm, i+1, record.Figure{
					Name:  "p95",
					Value: 20 + float64(i%2)/100,
					Unit:  "ms",
				})
				if lacking {
					g.Lacks = map[string]string{"cost(app)": "too few samples"}
				} else {
					g.Figures = append(g.Figures, record.Figure{
						Name:  "cost(app)",
						Value: 2 + float64(i%3)/1000,
						Unit:  "ms",
					})
				}
				runs = append(runs, g)
			}
		}
		got, err := comparison.PairImported(runs, endpointOf)
		if err != nil {
			t.Fatal(err)
		}
		arms, _, err := comparison.JudgeRows(got.Rows, got.Names, endpointOf)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(arms[0].Verdict.Results, func(r verdict.Result) bool {
			return r.Name == "cost(app)"
		})
		if i < 0 || arms[0].Verdict.Results[i].N != tt.n || arms[0].Verdict.Kind != tt.kind ||
			len(got.Skipped) > 0 {
			t.Errorf(
				"%s: %s, skipped %q; want %s of %d pairs",
				tt.name,
				arms[0].Verdict.Lead,
				got.Skipped,
				tt.kind,
				tt.n,
			)
		}
	}
}

// Databases of which one alone lacks a number are told apart by how many runs each has.
func TestPairImportedOfADatabaseThatLacksACost(t *testing.T) {
	var runs []record.Imported
	for i := range 6 {
		for _, name := range []string{"base MySQL", "new MySQL", "base Postgres", "new Postgres"} {
			arm, database, _ := strings.Cut(name, " ")
			g := givenRun(arm, i+1)
			g.Database = database
			if i == 0 && name == "new Postgres" {
				g.Lacks = map[string]string{"cost(app)": "too few samples"}
			} else {
				g.Figures = []record.Figure{{
					Name:  "cost(app)",
					Value: 2 + float64(i%3)/1000,
					Unit:  "ms",
				}}
			}
			runs = append(runs, g)
		}
	}
	got, err := comparison.PairImported(runs, endpointOf)
	if err != nil {
		t.Fatal(err)
	}
	_, databases, err := comparison.JudgeRows(got.Rows, got.Names, endpointOf)
	if err != nil || len(databases) != 2 {
		t.Fatal(databases, err)
	}
	const want = "0 of 6 runs of MySQL and 1 of 6 of Postgres have no cost(app), " +
		"and their pairs are left out (too few samples)"
	if w := databases[1].Verdict.Results[0].Warnings; !strings.Contains(fmt.Sprint(w), want) {
		t.Errorf("warnings %q, want %q", w, want)
	}
}

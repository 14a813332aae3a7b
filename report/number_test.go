package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
)

func TestDeltaText(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		d    *Delta
		want string
	}{
		{nil, "–"},
		{interval(nan, nan, nan), "–"},
		// Published differences of single runs.
		{interval(16007.0/14186-1, nan, nan), "+12.8 %"},
		{interval(16301.0/16347-1, nan, nan), "-0.28 %"},
		{interval(16378.0/16997-1, nan, nan), "-3.6 %"},
		{interval(3.56, nan, nan), "+356 %"},
		{interval(-0.00001, nan, nan), "+0.00 %"},
		{interval(0.128, 0.109, 0.1471), "+12.8 % [+10.9, +14.7]"},
		{interval(0.128, -0.3, 0.6), "+13 % [-30, +60]"},
		{interval(0.0012, 0.0008, 0.0016), "+0.12 % [+0.08, +0.16]"},
		{interval(0.0012, 0.00118, 0.00122), "+0.120 % [+0.118, +0.122]"},
		{&Delta{Value: -0.18, Lo: unknown, Hi: unknown, Bound: "<="}, "<= -18.0 %"},
	} {
		if got := tt.d.text(); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.d, got, tt.want)
		}
	}
}

func TestSignificantDigits(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		n    int
		want string
	}{
		{0, 3, "0"}, {0.5123, 3, "0.512"}, {1.234, 3, "1.23"}, {12.34, 3, "12.3"}, {123.4, 3, "123"}, {1234.5, 3, "1234"}, {99.96, 3, "100"},
		{0.09999, 2, "0.10"}, {-2.5, 2, "-2.5"}, {1e-9, 3, "0.000000"}, {math.NaN(), 3, "–"}, {math.Inf(1), 3, "–"},
	} {
		if got := sig(tt.v, tt.n); got != tt.want {
			t.Errorf("sig(%v, %d) = %q, want %q", tt.v, tt.n, got, tt.want)
		}
	}
	users := plan.Endpoint{Unit: "users"}
	errors := plan.Endpoint{Unit: "%", Absolute: true}
	for _, tt := range []struct{ got, want string }{
		{measured(users, 1310.4), "1310"}, {measured(errors, 0.0334), "0.033 %"}, {measured(plan.Endpoint{Unit: "ms"}, 18.53), "18.5 ms"},
		{size(users, 0.05), "5 %"}, {size(errors, 0.1), "0.1 pp"}, {size(users, 0), "–"}, {size(users, math.NaN()), "–"},
		{ruleValue(plan.Seconds, 2), "2 s"}, {ruleValue(plan.Seconds, 0.0304), "30.4 ms"}, {ruleValue(plan.Fraction, 0.85), "85.0 %"},
		{ruleValue("", unknown), "–"}, {ArmCell{
			Users: 1310,
			Lo:    1289,
			Hi:    1331,
		}.users(), "1310 [1289, 1331]"},
		{ArmCell{Users: 5000, Lo: unknown, Hi: unknown, AtLeast: true}.users(), ">= 5000"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestRatioOfBounds(t *testing.T) {
	known, bound := RunCell{Users: 1000}, RunCell{Users: 1000, AtLeast: true}
	for _, tt := range []struct {
		base, fresh RunCell
		want        string
	}{
		{known, RunCell{Users: 1100}, "+10.0 %"},
		{bound, RunCell{Users: 900}, "<= -10.0 %"},
		{known, RunCell{Users: 1100, AtLeast: true}, ">= +10.0 %"},
		{bound, bound, "–"},
		{RunCell{Users: unknown}, known, "–"},
	} {
		if got := ratio(tt.base, tt.fresh).text(); got != tt.want {
			t.Errorf("%+v against %+v: got %q, want %q", tt.fresh, tt.base, got, tt.want)
		}
	}
}

func TestNumberJSON(t *testing.T) {
	for in, want := range map[Number]string{
		1.5:                 "1.5",
		Number(math.Inf(1)): "null",
		unknown:             "null",
	} {
		b, err := json.Marshal(in)
		if err != nil || string(b) != want {
			t.Errorf("%v: %s, %v", in, b, err)
		}
	}
	var n Number
	if err := json.Unmarshal([]byte("null"), &n); err != nil || n.Known() {
		t.Errorf("null is %v, %v", n, err)
	}
}

func TestOverlay(t *testing.T) {
	a := Line{
		T: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
		V: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	}
	b := Line{T: []float64{0, 1, 2, 3}, V: []float64{3, 3, 3, 3}}
	c := Line{T: []float64{0, 1, 2, 3}, V: []float64{5, 5, 5, 5}}
	l := overlay([]Line{a, b, c}, 1)
	if l.N != 3 || len(l.T) != 4 || l.Median[0] != 3 || l.Lo[0] != 1 || l.Hi[0] != 5 {
		t.Errorf("a curve where one of three runs goes on: %+v", l)
	}
	if len(l.Each) != 3 || len(l.Each[0].T) != 10 {
		t.Errorf("single runs: %+v", l.Each)
	}
	if one := overlay([]Line{a}, 1); one.Lo != nil || one.Each != nil || len(one.T) != 10 {
		t.Errorf("one run has a band: %+v", one)
	}
	gap := overlay([]Line{{T: []float64{0, 1, 3, 20, 21}, V: []float64{0, 1, 3, 20, 21}}}, 1)
	if !slices.Equal(gap.T, []float64{0, 1, 2, 3, 20, 21}) || gap.Step != 1 ||
		gap.Median[2] != 2 {
		t.Errorf("a short gap is bridged, a long one is not: %+v", gap)
	}
	long := Line{}
	for i := range 5400 {
		long.T, long.V = append(long.T, float64(i)), append(long.V, float64(i%2))
	}
	d := Document{Arms: []ArmLabel{{Name: "base", Label: "base"}}}
	builder := builder{Document: &d, judged: []RunData{{}}}
	builder.judged[0].Cell.Arm = "base"
	builder.judged[0].Manifest.Phases = []record.Phase{{Name: "measure", To: 5400 * time.Second}}
	long.V[2000], long.V[3000] = 9, -9 // one second each
	g := GraphData{Test: Bounded}
	builder.lines(&g, func(RunData) (Line, string) { return long, "" })
	if n := len(g.Arms[0].T); n < 200 || n > GridPoints+1 {
		t.Errorf("5400 points became %d", n)
	}
	for _, v := range g.Arms[0].Median[1 : len(g.Arms[0].Median)-1] {
		if v < 0 || v > 1 {
			t.Fatalf("the mean of 0 and 1 is %v", v)
		}
	}
	if lo, hi := slices.Min(g.Arms[0].Lo), slices.Max(g.Arms[0].Hi); lo != -9 || hi != 9 {
		t.Errorf("peaks of one second are drawn up to %v and down to %v, want 9 and -9", hi, lo)
	}
	even := overlay([]Line{a, b, {T: b.T, V: []float64{11, 11, 11, 11}}, c}, 1)
	if even.Median[0] != 4 || even.Lo[0] != 1 || even.Hi[0] != 11 {
		t.Errorf(
			"1, 3, 5 and 11 have the median %v in a band from %v to %v",
			even.Median[0],
			even.Lo[0],
			even.Hi[0],
		)
	}
}

func TestCounts(t *testing.T) {
	want := []Count{{"c", 3}, {"a", 1}, {"b", 1}}
	for range 20 { // the order of a map differs from time to time
		if got := Counts(map[string]int{"a": 1, "b": 1, "c": 3}); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// TestSearchRules follows one rule through two searches: the first violation of each counts, with
// its users.
func TestSearchRules(t *testing.T) {
	const rule = "p99(op) < 2s"
	run := func(block, users int, violated ...int) RunData {
		r := RunData{Cell: record.ComparisonRun{
			Run:   fmt.Sprint("r", block),
			Block: block,
			Arm:   "base",
			Valid: true,
		}}
		r.Manifest.Phases = []record.Phase{{
			Name: "measure",
			From: 0,
			To:   10 * time.Second,
		}, {Name: "search", From: 10 * time.Second, To: 20 * time.Second}}
		r.Events = append(r.Events, evaluated(10*time.Second, "measured", rule, 0.5, 2))
		for k := range 10 {
			at := time.Duration(10+k) * time.Second
			r.Events = append(r.Events, record.Event{At: at, Kind: "users", Users: users + k},
				record.Event{
					At:       at,
					Kind:     "slo",
					Rule:     rule,
					Value:    float64(k),
					Limit:    2,
					Phase:    "search",
					Violated: slices.Contains(violated, k),
					NoData:   k == 0,
				})
		}
		return r
	}
	d := From(ofBase(run(1, 100, 4, 7, 8), run(2, 200, 6)))
	row := d.Rules[0].Rows[0]
	if want := (RuleSearch{
		Evaluations: 20,
		Violated:    4,
		NoData:      2,
		FirstUsers:  (104 + 206) / 2,
		FirstRuns:   2,
	}); *row.Search != want {
		t.Errorf("got %+v, want %+v", *row.Search, want)
	}
	if len(row.Measured) != 2 || row.Measured[1].Block != 2 || row.Measured[1].Value != 0.5 {
		t.Errorf("measured %+v", row.Measured)
	}
	g := d.Graphs[len(d.Graphs)-1]
	if g.Rule != rule || g.Limit != 2000 || g.Unit != "ms" || g.Arms[0].T[0] != 1 ||
		g.Arms[0].Median[0] != 1000 {
		t.Errorf(
			"the graph of the rule begins %v %v, limit %v %s",
			g.Arms[0].T[0],
			g.Arms[0].Median[0],
			g.Limit,
			g.Unit,
		)
	}
}

// TestTooFew holds that a rate of fewer operations than its rule requires is not shown as healthy.
func TestTooFew(t *testing.T) {
	const rule = "rate(5xx) < 0.025% min 8000"
	r := RunData{
		Cell: record.ComparisonRun{Run: "r", Block: 1, Arm: "base", Valid: true},
		Events: []record.Event{
			{
				Kind:      "slo",
				Rule:      rule,
				Limit:     0.00025,
				Count:     7999,
				Phase:     "measured",
				Undecided: true,
			},
			{Kind: "slo", Rule: rule, Limit: 0.00025, Count: 600, Phase: "search", Undecided: true},
			{Kind: "slo", Rule: rule, Limit: 0.00025, Count: 8000, Phase: "search"},
		},
	}
	d := From(ofBase(r))
	row := d.Rules[0].Rows[0]
	if !row.Measured[0].TooFew || row.Search.TooFew != 1 || row.Search.Evaluations != 2 {
		t.Errorf("got %+v, %+v", row.Measured, row.Search)
	}
	has(t, written(t, FullMarkdown, d), "not judged: too few operations (1 of 1)")
}

// TestBoundsFailClosed treats every kind of capacity that is not marked as an estimate as a lower
// bound.
func TestBoundsFailClosed(t *testing.T) {
	for kind, want := range map[string]bool{
		record.Estimate: false,
		record.Invalid:  false,
		record.Unstable: false,
		record.AtLeast:  true,
		"":              true,
	} {
		if got := isBound(&record.Capacity{Kind: kind}); got != want {
			t.Errorf("%q: %v", kind, got)
		}
	}
}

// Searches that contradict themselves have no number in the table of users, and their two levels
// are a comment.
func TestUnstableSearchesNameTwoCapacities(t *testing.T) {
	s := full()
	in := s.input()
	for i := range in.Runs {
		if r := &in.Runs[i]; r.Manifest.Capacity != nil && r.Cell.Arm == "base" {
			r.Manifest.Capacity = &record.Capacity{
				Kind:    record.Unstable,
				Reached: 3000,
				Held:    1800,
				Rule:    "cpu(app) < 85%",
				Why:     "two levels",
			}
			break
		}
	}
	d := From(in)
	b := written(t, FullMarkdown, d)
	has(
		t,
		b,
		"unstable and no number in a pair; every rule held up to 3000 users going up, and after an overload up to 1800",
		"| unstable |",
	)
}

// TestDifferingLimitersLead expects the sentence about limiters before all sentences about the
// builds, where the arms' runs agree on one each and these differ.
func TestDifferingLimitersLead(t *testing.T) {
	d := From(scenes()["full"].input())
	const want = "the limiters differ, base by cpu app (6 runs), new by db-pool app (6 runs)"
	if len(d.Comments) == 0 || !strings.Contains(d.Comments[0], want) ||
		!strings.Contains(d.Comments[0], "PostgreSQL") {
		t.Errorf("the first comment is %q", d.Comments)
	}
	for _, f := range d.Verdicts {
		h := headline(d, f)
		if strings.Contains(h, "limiters differ") != (f.Engine == "postgresql") {
			t.Errorf("%s: %s", f.Engine, h)
		}
	}
	// Two of six runs of another opinion are tolerated, three are not.
	for i, n := 0, 0; i < len(d.Limiters); i++ {
		if l := &d.Limiters[i]; l.Engine == "postgresql" && l.Arm == "new" {
			l.Named = []Count{{"db-pool app", 3}, {"UNKNOWN", 3}}
			if n++; differing(d, d.Verdicts[0]) != "" {
				t.Error("a limiter of half of the runs is one of the arm")
			}
		}
	}
}

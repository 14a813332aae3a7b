package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// judged returns a result with a number of pairs whose differences all lie about by, in percent.
func judged(e plan.Endpoint, pairs int, by ...float64) verdict.Result {
	all := make([]verdict.Pair, pairs)
	for i := range all {
		all[i] = verdict.Pair{Block: i + 1, Base: 1000, New: 1000 * (1 + by[i%len(by)]/100)}
	}
	return verdict.Judge(e, all, verdict.Fixed(pairs))
}

var users = plan.Endpoint{Name: capacityName, Better: plan.Higher, Margin: 0.05, Unit: "users"}

// TestEffectHasTheIntervalThatDecides checks that a result that is the same is shown with the
// interval that lies inside its margin, and each interval with its level.
func TestEffectHasTheIntervalThatDecides(t *testing.T) {
	for _, tt := range []struct {
		r    verdict.Result
		kind verdict.Kind
		want string
	}{
		{judged(users, 6, -1, 1, 2, -2), verdict.Same, "at 90 %"},
		{judged(users, 6, -9, -11), verdict.Worse, "at 95 %"},
		{judged(users, 6, -9, 9), verdict.Inconclusive, "at 95 %"},
		{judged(plan.Endpoint{
			Name:     "errors",
			Better:   plan.Lower,
			Margin:   0.1,
			Absolute: true,
			Unit:     "%",
		}, 6, 0), verdict.Inconclusive, "+0.00 pp"},
	} {
		lo, hi, _ := tt.r.Decisive()
		got := effect(tt.r)
		if tt.r.Kind != tt.kind || !strings.HasSuffix(got, tt.want) ||
			lo != hi &&
				!strings.Contains(got, fmt.Sprintf(
					"[%s, %s] at",
					signed(100*lo, spanDecimals(100*lo, 100*hi)),
					signed(100*hi, spanDecimals(100*lo, 100*hi)),
				)) {
			t.Errorf("%s: %s, want %s ... %s", tt.r.Kind, got, tt.kind, tt.want)
		}
	}
	slight := judged(users, 6, -6.5, -1.5, -6, -2, -5, -1)
	if text := effects([]verdict.Result{slight}); slight.Kind != verdict.Worse ||
		!strings.Contains(
			text,
			"(less than the margin of 5 %, but not the same: its 90 % interval reaches -5.68 %)",
		) {
		t.Errorf("%s: %s", slight.Kind, text)
	}
}

// TestTitleOfSettings checks that a comparison of settings is titled by the settings that differ.
func TestTitleOfSettings(t *testing.T) {
	arm := func(name string, args []string, env map[string]string) plan.Arm {
		return plan.Arm{Name: name, Args: args, Env: plan.Env{"": env}}
	}
	for _, tt := range []struct {
		arms         []plan.Arm
		title, label string
	}{
		{[]plan.Arm{arm("base", nil, map[string]string{
			"GOGC": "50",
			"X":    "1",
		}), arm("new", nil, map[string]string{
			"GOGC": "200",
			"X":    "1",
		})}, "GOGC=50 vs GOGC=200", "GOGC=200"},
		{[]plan.Arm{arm("base", nil, nil), arm("new", []string{"-fault=cpu:25%"}, nil)}, "base vs new (-fault=cpu:25%)", "new"},
		{[]plan.Arm{arm("base", nil, nil), arm("new", nil, nil)}, "base vs new", "new"},
		{[]plan.Arm{arm("base", nil, nil), arm("new", []string{strings.Repeat("x", 40)}, nil)}, "base vs new", "new"},
		{[]plan.Arm{{
			Name:    "base",
			Version: "1",
			Args:    []string{"-a"},
		}, {Name: "new", Version: "2", Args: []string{"-b"}}}, "1 vs 2", "2"},
	} {
		d := From(Input{
			Comparison: &record.Comparison{Arms: []string{"base", "new"}, Engines: []string{""}},
			Plan:       &plan.Plan{Compare: &plan.Compare{Arms: tt.arms}},
		})
		if d.Title != "Performance Comparison "+tt.title || d.Arms[1].Label != tt.label {
			t.Errorf("%q, new is %q; want %q, %q", d.Title, d.Arms[1].Label, tt.title, tt.label)
		}
	}
}

// TestBlocksInMinutes checks that the blocks of a comparison without a verdict are stated by how
// long they take.
func TestBlocksInMinutes(t *testing.T) {
	begun := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	c := &record.Comparison{
		Arms:    []string{"base", "new"},
		Engines: []string{""},
		State:   record.Sealed,
		Blocks:  6,
		Started: begun,
		Ended:   begun.Add(73 * time.Minute),
		Resumed: []record.Resumption{{
			Cut: begun.Add(time.Minute),
			At:  begun.Add(time.Hour + time.Minute),
		}},
	}
	for i := range 12 {
		c.Runs = append(c.Runs, record.ComparisonRun{
			Run:   fmt.Sprint(i),
			Block: 1 + i/2,
			Order: 1 + i%2,
			Arm:   c.Arms[i%2],
			Valid: true,
		})
	}
	open := judged(users, 6, -9, 9, 2, -3)
	open.PairsNeeded = 94
	in := Input{
		Comparison: c,
		Arms:       []Judged{{Arm: "new", Verdict: verdict.Combine("", []verdict.Result{open})}},
	}
	in.Arms[0].Verdict.Results[0].PairsNeeded = 94
	d := From(in)
	if d.State.Block != 13*time.Minute/6 {
		t.Errorf("a block took %v", d.State.Block)
	}
	if want := "Repeat the comparison on the target over about 210 minutes, 94 blocks: capacity is open."; !slices.Contains(
		d.Actions,
		want,
	) {
		t.Errorf("actions %q, want %q", d.Actions, want)
	}
	if got := d.State.endpointTable(d.Verdicts[0], "base", "new").Rows[0][8]; got != "210 min, 94 blocks" {
		t.Errorf("needed: %q", got)
	}
	if got := (State{}).lasting(94); got != "94 blocks" {
		t.Errorf("of an unknown time: %q", got)
	}
}

// TestCostAlone checks that a comparison in which others on the host disturbed every block says
// that the cost was judged.
func TestCostAlone(t *testing.T) {
	c := &record.Comparison{
		Arms:    []string{"base", "new"},
		Engines: []string{""},
		State:   record.Sealed,
		Blocks:  6,
	}
	for i := range 12 {
		c.Runs = append(c.Runs, record.ComparisonRun{
			Run:       fmt.Sprint(i),
			Block:     1 + i/2,
			Order:     1 + i%2,
			Arm:       c.Arms[i%2],
			Disturbed: true,
			Dropped:   true,
		})
	}
	cost := judged(plan.Endpoint{
		Name:   "cost(app)",
		Better: plan.Lower,
		Margin: 0.05,
		Unit:   "ms",
	}, 6, 19, 20, 21)
	d := From(Input{
		Comparison: c,
		Arms:       []Judged{{Arm: "new", Verdict: verdict.Combine("", []verdict.Result{cost})}},
	})
	text := strings.Join(strings.Fields(screenText(t, d, 0)), " ")
	has(
		t,
		text,
		"complete, 6 of 6 blocks judged, by cost alone",
		"WORSE",
		"6 blocks by cost alone",
		"only the cost of operations was judged, not response times or capacity; repeat it on a quiet host",
	)
}

// TestEndpointsWithoutAResult checks that an invalid verdict does not read as if the endpoint were
// the error.
func TestEndpointsWithoutAResult(t *testing.T) {
	errors := verdict.Judge(plan.Endpoint{
		Name:     "errors",
		Better:   plan.Lower,
		Margin:   0.1,
		Absolute: true,
		Unit:     "%",
	}, nil, verdict.Options{})
	f := NamedVerdict{
		Arm: "new",
		Verdict: verdict.Combine(
			"",
			[]verdict.Result{errors, verdict.Judge(users, nil, verdict.Options{})},
		),
	}
	if got, want := oneSentence(Document{}, f), "no result for errors and capacity: there is no valid pair"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Verdict = verdict.Combine("", []verdict.Result{judged(users, 6, -1, 1, 2, -2)}, "p99(op)")
	if got := oneSentence(Document{}, f); !strings.HasSuffix(
		got,
		"within the margins of capacity; p99(op) could not be decided in this time",
	) {
		t.Errorf("%q", got)
	}
}

// TestUrgentWarnings checks that a first screen shows at most three groups of warnings, each with
// what to do, and none that asks for nothing.
func TestUrgentWarnings(t *testing.T) {
	all := groups([]notice{
		{cause: causeFindings, text: "12 judged runs have amber findings; see Validity"},
		{cause: string(verdict.UnlikeSpread), text: "the runs of new vary more than those of base"},
		{cause: string(verdict.FarPairs), text: "pair 2 is far from the others"},
		{cause: string(verdict.MissingPairs), text: "5 of 6 planned pairs", changes: true},
		{cause: causeLost, text: "the target lost messages", changes: true},
		{cause: causeEnvironment, text: "the environment moved with the arm", changes: true},
		{cause: string(verdict.OnlyBounds), text: "1 pair is only a bound"},
	})
	var got []string
	for _, g := range urgent(all) {
		got = append(got, g.Text)
	}
	if want := []string{"the target lost messages; find out why before anything is released", "the environment moved with the arm; repeat it on a quiet host",
		"5 of 6 planned pairs; repair the cause that Validity names, and repeat it"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("got %q", got)
	}
	if n := len(urgent(groups([]notice{{
		cause: causeFindings,
		text:  "12 judged runs have amber findings; see Validity",
	}}))); n != 0 {
		t.Errorf("%d groups ask for something", n)
	}
}

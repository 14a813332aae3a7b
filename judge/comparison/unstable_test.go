package comparison

import (
	"math"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// An unstable search gives no number for a pair: not its zero, nor one of its levels, nor silence.
func TestAnUnstableSearchIsNoNumber(t *testing.T) {
	b := newBench(t)
	b.unstable = map[string]bool{"2 new mysql": true}
	c := b.compare(0)
	arms, _ := b.judge(c)
	if len(arms) != 2 {
		t.Fatalf("%d arms were judged, want one on each engine", len(arms))
	}
	for _, arm := range arms {
		want := map[string]int{"postgresql": 6, "mysql": 5}[arm.Engine]
		r := resultOf(t, arm.Verdict, "capacity")
		if r.N != want || math.Abs(r.New.Mean/500-1) > 0.05 {
			t.Errorf("%s: %d pairs, mean %.0f of the new arm; want %d and about 500", arm.Engine, r.N, r.New.Mean, want)
		}
		if warned(r, "two levels") != (want == 5) {
			t.Errorf("%s: warnings %q", arm.Engine, r.Warnings)
		}
	}
}

// A new build that has more unstable searches than the base is neither the same nor better, for any results of
// the other pairs.
func TestMoreUnstableSearchesAreNotTheSame(t *testing.T) {
	for _, tt := range []struct {
		name      string
		base, new int // unstable ones
		effect    float64
		want      verdict.Kind
	}{
		{"none", 0, 0, 1, verdict.Same},
		{"one of the new arm", 0, 1, 1, verdict.Inconclusive},
		{"one of each", 1, 1, 1, verdict.Same},
		{"one of the base", 1, 0, 1, verdict.Same},
		{"better, one of the new arm", 0, 1, 1.3, verdict.Inconclusive},
		{"worse, one of the new arm", 0, 1, 0.7, verdict.Worse},
	} {
		var pairs []verdict.Pair
		l := lack{of: [2]int{10, 10}, unstable: [2]int{tt.base, tt.new}, why: "two levels"}
		for i := range 8 {
			pairs = append(pairs, verdict.Pair{Block: i + 1, Base: 500 + float64(i%3), New: tt.effect * (500 + float64(i%2))})
		}
		r := verdict.Judge(plan.Endpoint{Name: "capacity", Better: plan.Higher, Margin: 0.05}, pairs, verdict.Options{})
		l.warnUnstable(&r, [2]string{"base", "new"})
		if r.Kind != tt.want || (len(r.Warnings) > 0) != (tt.base+tt.new > 0) {
			t.Errorf("%s: got %s (%s), warnings %q; want %s", tt.name, r.Kind, r.Reason, r.Warnings, tt.want)
		}
	}
}

// TestSearchesBeginBelowWhatThePilotReached: a start that rests on a bound alone is so low that a short search ends
// in its ramp again.
func TestSearchesBeginBelowWhatThePilotReached(t *testing.T) {
	for _, tt := range []struct {
		c    record.Capacity
		want int
	}{
		{record.Capacity{Kind: record.Unstable, Reached: 3000, Held: 1800}, 1080},
		{record.Capacity{Kind: record.Unstable, Reached: 3000}, 1800},
		{record.Capacity{Kind: record.Unstable}, 0},
		{record.Capacity{Kind: record.AtLeast, Users: 108, Reached: 211}, 127},
		{record.Capacity{Kind: record.AtLeast, Users: 108}, 65},
		{record.Capacity{Kind: record.Estimate, Users: 200}, 120},
	} {
		if got, ok := searchStart(&tt.c); got != tt.want || ok != (tt.want > 0) {
			t.Errorf("%+v: got %d, %v; want %d", tt.c, got, ok, tt.want)
		}
	}
}

// TestASearchThatOthersEndedIsNotTheArmsInstability ends a search of the new arm before any level was confirmed. By
// others on the host, or by the generator, the block is run again; a cause that may be the target's stays an unstable
// search of the arm.
func TestASearchThatOthersEndedIsNotTheArmsInstability(t *testing.T) {
	for gate, tt := range map[string]struct {
		cause record.Cause
		runs  int
	}{
		"others": {record.ByHost, 30}, "steal": {record.ByHost, 30}, "target_steal": {record.ByHost, 30}, "lag": {record.ByGenerator, 30}, "memory": {"", 26},
	} {
		b := newBench(t)
		b.early, b.ended = true, map[string]string{"2 new mysql": gate}
		c := b.compare(3)
		if len(c.Runs) != tt.runs {
			t.Errorf("%s: %d runs, want %d", gate, len(c.Runs), tt.runs)
		}
		for _, run := range c.Runs {
			if !run.Valid && (run.Cause != tt.cause || run.Disturbed != (tt.cause == record.ByHost)) {
				t.Errorf("%s: void by %q, disturbed %v; want %q", gate, run.Cause, run.Disturbed, tt.cause)
			}
		}
		arms, _ := b.judge(c)
		r := resultOf(t, arms[1].Verdict, "capacity")
		if counted := warned(r, "are unstable"); counted != (tt.cause == "") || r.N != map[bool]int{true: 6, false: 5}[tt.cause != ""] {
			t.Errorf("%s: %d pairs, warnings %q", gate, r.N, r.Warnings)
		}
	}
}

// The bound of a search that others on the host ended is no number of the arm, whoever reads the run; that of a search
// which the generator ended is one.
func TestABoundByOthersIsNoNumber(t *testing.T) {
	for gate, void := range map[string]bool{"others": true, "steal": true, "target_steal": true, "lag": false, "memory": false} {
		r := &record.Run{Manifest: record.Manifest{ID: "r", Capacity: &record.Capacity{Kind: record.AtLeast, Users: 700, Rule: record.ByGate + gate}}}
		n, err := NumbersOf(r, []plan.Endpoint{{Name: "capacity", Stat: "capacity"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Values["capacity"]; math.IsNaN(got) != void || n.Censored == void || (n.Why["capacity"] != "") != void || n.Unstable {
			t.Errorf("%s: %v, a bound %v, why %q", gate, got, n.Censored, n.Why["capacity"])
		}
	}
}

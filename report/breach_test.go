package report

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A broken expression is named with the replica that broke it, its value, its limit and when: in
// the table of the rules, in the comments, and on the run's page. One that held, or a run without
// the text, says no more than before.
func TestABreachSaysWhoAndWhen(t *testing.T) {
	const rule = "promql: max(max_over_time(plimsoll_replication_lag_seconds[$window])) < 2"
	const where = "replica-0, worst 5.41 at 12.0 s, beyond its limit from 9.0 s to 13.0 s"
	s := full()
	s.blocks = 2
	s.seconds = 12
	s.unbounded = false
	in := s.input()
	for i := range in.Runs {
		r := &in.Runs[i]
		ev := evaluated(18*time.Second, measuredPhase, rule, 0.1, 2)
		if r.Cell.Arm == "new" && r.Cell.Block == 2 && r.Cell.Engine == "postgresql" {
			ev.Value = 5.41
			ev.Violated = true
			ev.Text = where
		}
		r.Events = append(r.Events, ev)
		want := ev.Violated
		if got := strings.Contains(Dominant(*r, Bounded), "limit 2; "+where); got != want {
			t.Errorf(
				"the page of %s names the replica: %v, want %v: %s",
				r.Cell.Run,
				got,
				want,
				Dominant(*r, Bounded),
			)
		}
	}
	text := written(t, FullMarkdown, From(in))
	for _, want := range []string{"new, block 2, " + rule + ": " + where + ".", "new broke " + rule + " in 1 of 2 runs (block 2: " + where + ")."} {
		if n := strings.Count(strings.ReplaceAll(text, `\`, ""), want); n != 1 {
			t.Errorf("%q is there %d times", want, n)
		}
	}
}

// A graph that only some runs have is drawn for the engine and the test of these, and nothing is
// said of it elsewhere.
func TestFurtherGraphs(t *testing.T) {
	s := full()
	s.blocks, s.seconds = 1, 12
	in := s.input()
	in.Further = []GraphSpec{{
		Name:      "lag",
		Title:     "Lag",
		Unit:      "s",
		Scale:     1,
		Threshold: &Threshold{Rule: "r", Value: 2},
	}, {Name: "unread", Title: "Unread"}, {Name: "none", Title: "None"}}
	for i := range in.Runs {
		if r := &in.Runs[i]; r.Cell.Engine == "postgresql" {
			r.Series[Bounded]["lag"] = Line{T: []float64{0, 1, 2, 3}, V: []float64{0, 3, 4, 0}}
			r.NoData = map[string]map[string]string{Bounded: {"unread": "nobody asked"}}
		}
	}
	d := From(in)
	var files []string
	for _, g := range d.Graphs {
		if slices.Contains([]string{"lag", "unread", "none"}, g.Name) {
			files = append(files, g.File)
			if (g.NoData == "") != (g.Name == "lag") || g.Name == "lag" && g.Limit != 2 {
				t.Errorf("%s: no data %q, limit %v", g.File, g.NoData, g.Limit)
			}
		}
	}
	if want := []string{"postgresql_bounded_0_lag.png", "postgresql_bounded_0_unread.png"}; !slices.Equal(
		files,
		want,
	) {
		t.Errorf("graphs %q, want %q", files, want)
	}
	text := written(t, FullMarkdown, d)
	if !strings.Contains(text, "No data for unread: nobody asked.") ||
		strings.Contains(text, "None") ||
		strings.Contains(text, "for none") {
		t.Error(
			"the text says too little of the graph without data, or something of the one that no run has",
		)
	}
}

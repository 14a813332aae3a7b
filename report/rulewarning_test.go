package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/record"
)

// A rule that only warns breaks nothing: the report states the number of runs in which it did not
// hold, the next steps equal the steps of a comparison that broke no rule, and no CI system turns
// red. The same rule without the word does all of that.
func TestAWarningBreaksNothing(t *testing.T) {
	s := scenes()["aa"]
	without := From(s.input())
	junit := func(d Document) string { return written(t, JUnit, d) }
	if strings.Contains(junit(without), "<failure") {
		t.Fatal("the scene is red without the rule")
	}
	for rule, noData := range map[string]bool{"cpu(db) < 85%": false, "cpu(proxy) < 85%": true} {
		for _, level := range []string{record.Amber, ""} {
			in := s.input()
			if level == record.Amber {
				rule += " warning"
			}
			for i := range in.Runs {
				in.Runs[i].Events = append(in.Runs[i].Events, record.Event{
					At:       18 * time.Second,
					Kind:     "slo",
					Rule:     rule,
					Value:    0.9,
					Limit:    0.85,
					Phase:    measuredPhase,
					Violated: !noData,
					NoData:   noData,
					Level:    level,
				})
			}
			d := From(in)
			red := strings.Contains(junit(d), "<failure") || strings.Contains(junit(d), "<error")
			if want := level == ""; red != want ||
				slices.Equal(d.Actions, without.Actions) == want {
				t.Errorf("%s, level %q: JUnit is red: %v, actions %q", rule, level, red, d.Actions)
			}
			if !slices.ContainsFunc(d.Comments, func(c string) bool {
				return strings.Contains(c, rule)
			}) {
				t.Errorf("%s, level %q: no comment names it: %q", rule, level, d.Comments)
			}
			if got := strings.Contains(strings.Join(d.Comments, "\n"), "went beyond "+rule+", which only warns, in "); got != (level == record.Amber && !noData) {
				t.Errorf("%s, level %q: a comment says that it only warns: %v", rule, level, got)
			}
			held := "no (6 of 6)"
			if noData {
				held = "no data (6 of 6)"
			}
			if level == record.Amber {
				held += "; only warns"
			}
			has(t, written(t, FullMarkdown, d), held)
			rule = strings.TrimSuffix(rule, " warning")
		}
	}
}

// The page of a run, its end on a terminal and its list call no rule broken that only warns, and do
// not pass over it.
func TestAWarningIsShownAsOne(t *testing.T) {
	const rule = "cpu(db) < 85%"
	at := func(level, phase string, violated, noData bool) record.Event {
		return record.Event{
			At:       20 * time.Second,
			Kind:     "slo",
			Rule:     rule,
			Value:    0.9,
			Limit:    0.85,
			Text:     "db-1",
			Level:    level,
			Phase:    phase,
			Violated: violated,
			NoData:   noData,
		}
	}
	for _, tt := range []struct {
		e                  record.Event
		line, text, lead   string
		heldRules, counted int
	}{
		{at("", measuredPhase, true, false), "✗ cpu(db) < 85%: 90.0 %, limit 85 % (db-1)", "cpu(db) < 85% broken: 90.0 %, limit 85 % (db-1)",
			"Broken over the measured phase: cpu(db) < 85% (90.0 %, limit 85 %; db-1).", 0, 1},
		{at("", measuredPhase, false, false), "✓ cpu(db) < 85%: 90.0 %, limit 85 % (db-1)", "",
			"No rule was broken over the measured phase. Nearest to its limit was cpu(db) < 85%, at 106 % of its limit (90.0 %, limit 85 %).", 1, 1},
		{at("", measuredPhase, false, true), "no data cpu(db) < 85%", "cpu(db) < 85% no data",
			"No rule has a value over the measured phase. 1 rule had no data over it.", 0, 1},
		{at(record.Amber, measuredPhase, true, false), "! cpu(db) < 85%: 90.0 %, limit 85 % (db-1); it only warns", "cpu(db) < 85% beyond its limit, which only warns: 90.0 %, limit 85 % (db-1)",
			"No rule was broken over the measured phase. Beyond the limit and only a warning: cpu(db) < 85% (90.0 %, limit 85 %; db-1).", 0, 0},
		{at(record.Amber, measuredPhase, false, false), "✓ cpu(db) < 85%: 90.0 %, limit 85 % (db-1)", "", "No rule was broken over the measured phase.", 0, 0},
		{at(record.Amber, measuredPhase, false, true), "no data cpu(db) < 85%; it only warns", "cpu(db) < 85% no data (it only warns)",
			"No rule has a value over the measured phase. 1 rule had no data over it.", 0, 0},
	} {
		var tally RuleTally
		if got := tally.Add(tt.e); got != tt.text || tally != (RuleTally{
			Held:   tt.heldRules,
			Judged: tt.counted,
		}) {
			t.Errorf(
				"%+v: %q, %+v; want %q, %d of %d",
				tt.e,
				got,
				tally,
				tt.text,
				tt.heldRules,
				tt.counted,
			)
		}
		if got := RuleLine(tt.e); got != tt.line {
			t.Errorf("%+v: %q, want %q", tt.e, got, tt.line)
		}
		if got := Dominant(RunData{Events: []record.Event{tt.e}}, Bounded); got != tt.lead {
			t.Errorf("%+v: %q, want %q", tt.e, got, tt.lead)
		}
	}
	r := searched(record.Estimate, "p99(op) < 2s", record.RuleMargin{
		Rule:  "cpu(app) < 85%",
		Value: 1.3,
		Limit: 1,
	})
	for i := range r.Events {
		if r.Events[i].Rule == "cpu(app) < 85%" {
			r.Events[i].Level = record.Amber
		}
	}
	if got := Dominant(r, Unbounded); strings.Contains(got, "cpu(app)") {
		t.Errorf("a rule that only warns is next to stop the search: %s", got)
	}
}

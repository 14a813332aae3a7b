package session

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/run/audience"
)

// Every engine has a forecast, once for those that are alike, and a budget that is too short is
// named. The saturation is that of the rule of the app's CPU.
func TestOutlooks(t *testing.T) {
	p := parsed(t, `
name: n
target: {driver: refchat}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster, pace: 0.2}
bounded: {users: {postgresql: 100, mysql: 80}}
unbounded: {max_users: 900, budget: 20s, slo: ["mean(op) < 100ms", "cpu(app) < 85%", "cpu(app) < 50% warning", "cpu(db) < 20%"]}
`)
	got, err := Outlooks(p)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, from := range []string{"search from 100 to at most 900 users: 20s of search end near ", "search from 80 to at most 900 users: 20s of search end near "} {
		if !strings.HasPrefix(got[i].Text, from) ||
			!strings.Contains(got[i].Short, "unbounded.budget") {
			t.Errorf("%+v, want %q", got[i], from)
		}
	}
	var out strings.Builder
	s := &Session{Plan: p, Progress: audience.NewReporter(&out, new(plain.Secrets), false)}
	if err := s.Foretell(RunPart{
		Engine:    "postgresql",
		Unbounded: true,
	}, RunPart{Bounded: true}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "budget of 20s") != 1 ||
		strings.Contains(text, "of search end") ||
		strings.Contains(text, "unbounded.start") {
		t.Errorf("the budget is stated twice, or with two remedies: %q", text)
	}
	c := RunPart{Engine: "mysql", Unbounded: true}.Tests(p).Search
	if c.Saturation != 0.85 || c.Budget != 20*time.Second {
		t.Errorf("saturation %v, want that of cpu(app) < 85%%; budget %v", c.Saturation, c.Budget)
	}
	p.Bounded.Users, p.Unbounded.Budget = plan.PerEngine{"": 100}, time.Hour
	if got, err = Outlooks(p); err != nil || len(got) != 1 || got[0].Short != "" {
		t.Errorf("%+v, %v; want one forecast without a warning", got, err)
	}
	p.Unbounded = nil
	if got, err = Outlooks(p); err != nil || len(got) != 0 {
		t.Errorf("a plan without a search: %+v, %v", got, err)
	}
}

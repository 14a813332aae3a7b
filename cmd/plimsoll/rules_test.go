package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/plan"
)

// TestEverySearchLimitsFailedOperations: with default rules, with rules of its own, and in each example.
func TestEverySearchLimitsFailedOperations(t *testing.T) {
	has := func(t *testing.T, p *plan.Plan) {
		t.Helper()
		if p.Unbounded == nil {
			return
		}
		if q := withDefaultRules(p); !slices.ContainsFunc(q.Unbounded.SLO, limitsErrors) {
			t.Errorf("no rule limits failed operations: %v", q.Unbounded.SLO)
		}
	}
	own, err := plan.ParseSLO("p99(op) < 2s")
	if err != nil {
		t.Fatal(err)
	}
	warning, err := plan.ParseSLO("rate(errors) < 5% warning")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := plan.ParseSLO("rate(errors) < 5%")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		slo   []plan.SLO
		rules int
	}{"rules of its own": {[]plan.SLO{own}, 2}, "a warning": {[]plan.SLO{warning}, 2}, "a limit of its own": {[]plan.SLO{own, mine}, 2}} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Target: plan.Target{Driver: "external"}, Unbounded: &plan.Unbounded{MaxUsers: 1, SLO: tt.slo}}
			has(t, p)
			if n := len(withDefaultRules(p).Unbounded.SLO); n != tt.rules {
				t.Errorf("%d rules, want %d", n, tt.rules)
			}
			if len(p.Unbounded.SLO) != len(tt.slo) {
				t.Error("the caller's plan was changed")
			}
		})
	}
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := known().Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			has(t, p)
		})
	}
}

package evidence

import (
	"math"
	"slices"
	"testing"

	"plimsoll/judge/limiter"
)

// TestAppendObserved joins three steps of which the middle one lacks a trace.
func TestAppendObserved(t *testing.T) {
	all := limiter.Observed{CPU: map[string][]float64{}}
	step := func(users float64, traced bool) limiter.Observed {
		o := limiter.Observed{Users: []float64{users, users}, CPU: map[string][]float64{"app": {users, users}}, Shared: "target"}
		if traced {
			o.Traces = []limiter.Trace{{Indicator: 4, Role: "db", Values: []float64{users, users}, Dose: []float64{1, 2}}}
			o.CPU["db"] = []float64{7, 7}
		}
		return o
	}
	appendObserved(&all, step(10, false))
	appendObserved(&all, step(20, true))
	appendObserved(&all, step(30, false))
	if len(all.Users) != 6 || len(all.Traces) != 1 || len(all.CPU["app"]) != 6 || len(all.CPU["db"]) != 6 || len(all.Roles) != 2 {
		t.Fatalf("%+v", all)
	}
	for i, want := range []float64{math.NaN(), math.NaN(), 20, 20, math.NaN(), math.NaN()} {
		if v := all.Traces[0].Values[i]; v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
			t.Errorf("value %d is %v, want %v", i, v, want)
		}
	}
	if d := all.Traces[0].Dose; len(d) != 6 || !math.IsNaN(d[1]) || d[3] != 2 || !math.IsNaN(d[5]) {
		t.Errorf("dose %v", d)
	}
}

// A sign that was looked for and never seen stays unseen.
func TestAppendObservedKeepsRoles(t *testing.T) {
	all := limiter.Observed{CPU: map[string][]float64{}}
	appendObserved(&all, limiter.Observed{Users: []float64{1}, Roles: []string{"app"}})
	appendObserved(&all, limiter.Observed{Users: []float64{2}, Roles: []string{"app", "db"}, CPU: map[string][]float64{"db": {1}}})
	if !slices.Equal(all.Roles, []string{"app", "db"}) {
		t.Errorf("roles %v", all.Roles)
	}
}

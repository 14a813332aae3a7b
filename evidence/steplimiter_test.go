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
		o := limiter.Observed{
			Users:  []float64{users, users},
			CPU:    map[string][]float64{"app": {users, users}},
			Shared: "target",
		}
		if traced {
			o.Traces = []limiter.Trace{{
				Indicator: 4,
				Role:      "db",
				Values:    []float64{users, users},
				Dose:      []float64{1, 2},
			}}
			o.CPU["db"] = []float64{7, 7}
		}
		return o
	}
	appendObserved(&all, step(10, false))
	appendObserved(&all, step(20, true))
	appendObserved(&all, step(30, false))
	if len(all.Users) != 6 || len(all.Traces) != 1 || len(all.CPU["app"]) != 6 ||
		len(all.CPU["db"]) != 6 ||
		len(all.Roles) != 2 {
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
	appendObserved(&all, limiter.Observed{
		Users: []float64{2},
		Roles: []string{"app", "db"},
		CPU:   map[string][]float64{"db": {1}},
	})
	if !slices.Equal(all.Roles, []string{"app", "db"}) {
		t.Errorf("roles %v", all.Roles)
	}
}

// Cores that others keep busy limit a ladder of steps as the host's, not as the app's.
func TestAppendObservedKeepsBusyCores(t *testing.T) {
	catalog := []limiter.Indicator{{
		Limiter: limiter.LimitCPU,
		What:    "its cores are busy",
		Limit:   0.8,
		Unit:    "ratio",
	}}
	all := limiter.Observed{
		Reached: true,
		CPU:     map[string][]float64{},
		Busy:    map[string][]float64{},
	}
	for i, users := range []float64{10, 25, 40, 55, 70, 85, 100} {
		of := func(v float64) []float64 { return slices.Repeat([]float64{v}, 8) }
		busy := 0.3 + 0.1*float64(i)
		o := limiter.Observed{
			Users:  of(users),
			Shared: "target",
			Roles:  []string{"app"},
			CPU:    map[string][]float64{"app": of(0.1)},
			Traces: []limiter.Trace{{Role: "app", Values: of(busy)}},
		}
		if i > 0 { // the first step was not seen
			o.Busy = map[string][]float64{"app": of(busy)}
		}
		appendObserved(&all, o)
	}
	all.Capacity = 100
	if n := len(all.Busy["app"]); n != len(all.Users) {
		t.Errorf("%d samples of the busy cores, want %d", n, len(all.Users))
	}
	if l := limiter.Diagnose(catalog, all); l.Kind != limiter.LimitHost {
		t.Errorf("named %s, want %s: %s", l.Name, limiter.LimitHost, l.Sentence)
	}
}

package evidence

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/run/record"
	"plimsoll/watch/series"
)

// tracesOf stores the values of sample for each of 60 seconds, and reads it as a run's.
func tracesOf(t *testing.T, sample func(second float64) []series.Sample) *traces {
	t.Helper()
	epoch := time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)
	db, err := series.Create(filepath.Join(t.TempDir(), "series"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for s := range 60 {
		if err := db.Append(epoch.Add(time.Duration(s)*time.Second), sample(float64(s))); err != nil {
			t.Fatal(err)
		}
	}
	return &traces{db: db, from: epoch.Add(10 * time.Second), to: epoch.Add(59 * time.Second), step: time.Second, window: 5 * time.Second, n: 50}
}

func labels(pairs ...string) (out []series.Label) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, series.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

// The seconds in which a rule was broken are found by its name, also where that has a window in it.
func TestBrokenSecondsOfARuleWithAWindow(t *testing.T) {
	const rule = `promql: sum(rate(a[$window])) < 1`
	x := tracesOf(t, func(s float64) []series.Sample {
		broken := 0.0
		if s >= 40 {
			broken = 1
		}
		return []series.Sample{{Name: "plimsoll_users", Labels: labels("state", "active"), Value: s}, {Name: "plimsoll_slo_violated", Labels: labels("rule", rule), Value: broken}}
	})
	o := limiter.Observed{Rule: rule, Capacity: 50}
	if err := x.observe(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Broken) != x.n || o.Broken[10] || !o.Broken[40] {
		t.Errorf("broken seconds: %v", o.Broken)
	}
}

// asked is a run of which no server is known.
func asked(r *record.Run) *Run { return new(Catalog).Of(r) }

// valueOf returns the last value of an indicator, by role.
func valueOf(t *testing.T, x *traces, what string) map[string]float64 {
	t.Helper()
	i := slices.IndexFunc(limiter.Indicators(), func(x limiter.Indicator) bool { return x.What == what })
	if i < 0 {
		t.Fatalf("there is no indicator %q", what)
	}
	lines, err := x.lines(t.Context(), limiter.Indicators()[i].Query)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, l := range lines {
		out[l.Labels["role"]] = l.V[len(l.V)-1]
	}
	return out
}

// This program's own control group is not a suspect, and shares of time of several hosts do not add
// up.
func TestIndicatorsByRole(t *testing.T) {
	x := tracesOf(t, func(s float64) []series.Sample {
		var out []series.Sample
		for _, of := range []struct {
			role      string
			throttled float64
		}{{"self", 0.9}, {"app", 0.05}} {
			out = append(out, series.Sample{Name: "container_cpu_cfs_throttled_periods_total", Labels: labels("role", of.role), Value: 10 * of.throttled * s},
				series.Sample{Name: "container_cpu_cfs_periods_total", Labels: labels("role", of.role), Value: 10 * s})
		}
		for _, host := range []string{"app-0", "app-1", "app-2"} {
			out = append(out, series.Sample{Name: "node_pressure_memory_stalled_seconds_total", Labels: labels("role", "app", "instance", host), Value: 0.018 * s})
		}
		return out
	})
	if got := valueOf(t, x, "periods of its control group that were throttled"); len(got) != 1 || math.Abs(got["app"]-0.05) > 1e-6 {
		t.Errorf("throttled: %v, want that of app alone", got)
	}
	if got := valueOf(t, x, "time in which all work waited for memory"); math.Abs(got["app"]-0.018) > 1e-6 {
		t.Errorf("stalled: %v, want 0.018", got)
	}
}

// A warning is not a breach, so it has not stopped a run.
func TestAWarningStopsNothing(t *testing.T) {
	r := &record.Run{Manifest: record.Manifest{State: record.Sealed, Phases: []record.Phase{{Name: "measure", To: time.Minute, Users: 10}}}, Validity: record.Validity{Valid: true}}
	warned := record.Event{Kind: "slo", Phase: "measured", Rule: "promql: memory < 0.85", Violated: true, Level: record.Amber}
	if o, _, ok := stopped(asked(r), []record.Event{warned}); !ok || o.Reached || o.Rule != "" {
		t.Errorf("a warning: %+v", o)
	}
	broke := record.Event{Kind: "slo", Phase: "measured", Rule: "p99(op) < 2s", Violated: true}
	if o, _, _ := stopped(asked(r), []record.Event{warned, broke}); !o.Reached || o.Rule != broke.Rule {
		t.Errorf("a warning before a rule that broke: %+v", o)
	}
}

// A gate that only the target can turn red voids a run and names no limiter, whichever rule broke; it hides no gate
// that is the generator's own.
func TestGatesThatAccuseNobody(t *testing.T) {
	broke := record.Event{Kind: "slo", Phase: "measured", Rule: "p99(op) < 2s", Violated: true}
	for _, tt := range []struct {
		red  []string
		want string // the limiter
		of   string // the gates that are named, first to last
	}{
		{[]string{"rate"}, limiter.LimitNone, ""},
		{[]string{"users"}, limiter.LimitNone, ""},
		{[]string{"wait"}, limiter.LimitNone, ""},
		{[]string{"level"}, limiter.LimitNone, ""},
		{[]string{"search"}, limiter.LimitNone, ""},
		{[]string{"users", "rate", "wait"}, limiter.LimitNone, ""},
		{[]string{"core"}, limiter.LimitGenerator, "core: too much"},
		{[]string{"rate", "core"}, limiter.LimitGenerator, "core: too much"},
		{[]string{"wait", "steal"}, limiter.LimitHost, "steal: too much"},
	} {
		t.Run(strings.Join(tt.red, ","), func(t *testing.T) {
			r := &record.Run{Manifest: record.Manifest{State: record.Sealed, Phases: []record.Phase{{Name: "measure", To: time.Minute, Users: 10}}}}
			for _, name := range tt.red {
				r.Validity.Gates = append(r.Validity.Gates, record.GateOutcome{Name: name, Level: record.Red})
				r.Validity.Add(record.Finding{Gate: name, Level: record.Red, Text: "too much"})
			}
			o, _, ok := stopped(asked(r), []record.Event{broke})
			if got := strings.Join(o.Generator, "; "); !ok || got != tt.of || tt.of == "" && o.Reached {
				t.Errorf("named %q, want %q: %+v", got, tt.of, o)
			}
			l, err := asked(r).Limiter(t.Context(), []record.Event{broke})
			if err != nil {
				t.Fatal(err)
			}
			if l.Name != tt.want || tt.of == "" && !strings.Contains(l.Sentence, "No limiter is named, because the run is not valid") {
				t.Errorf("%s: %s, want %s", l.Name, l.Sentence, tt.want)
			}
		})
	}
}

// Memory and ports are the whole host's: where the target is on it, the generator is not named for resources that the
// target used up.
func TestMemoryOfASharedHostAccusesNobody(t *testing.T) {
	for _, gate := range []string{"memory", "ports"} {
		for _, shared := range []bool{false, true} {
			bounded := &record.Run{Manifest: record.Manifest{State: record.Sealed, SharedHost: shared, Phases: []record.Phase{{Name: "measure", To: time.Minute, Users: 10}}}}
			bounded.Validity.Gates = []record.GateOutcome{{Name: gate, Level: record.Red}}
			bounded.Validity.Add(record.Finding{Gate: gate, Level: record.Red, Text: "too much"})
			searched := &record.Run{Manifest: record.Manifest{State: record.Sealed, SharedHost: shared, Phases: []record.Phase{{Name: "search", To: time.Minute, Users: 10}},
				Capacity: &record.Capacity{Kind: record.AtLeast, Users: 10, Rule: record.ByGate + gate, Why: "too much"}}}
			for _, r := range []*record.Run{bounded, searched} {
				if o, _, ok := stopped(asked(r), nil); !ok || (len(o.Generator) > 0) == shared {
					t.Errorf("%s, shared host %v: named %q", gate, shared, o.Generator)
				}
			}
		}
	}
}

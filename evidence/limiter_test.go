package evidence

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// epoch is when the runs of tests begin.
var epoch = time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)

// sampled stores the samples of each of some seconds below the directory of a run.
func sampled(t *testing.T, dir string, seconds int,
	of func(second float64) []series.Sample) *series.DB {
	t.Helper()
	db, err := series.Create(filepath.Join(dir, record.SeriesDir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for s := range seconds {
		if err := db.Append(epoch.Add(time.Duration(s)*time.Second), of(float64(s))); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// tracesOf stores the values of sample for each of 60 seconds, and reads it as a run's.
func tracesOf(t *testing.T, sample func(second float64) []series.Sample) *traces {
	t.Helper()
	return &traces{
		db:     sampled(t, t.TempDir(), 60, sample),
		from:   epoch.Add(10 * time.Second),
		to:     epoch.Add(59 * time.Second),
		step:   time.Second,
		window: 5 * time.Second,
		n:      50,
	}
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
		return []series.Sample{{
			Name:   "plimsoll_users",
			Labels: labels("state", "active"),
			Value:  s,
		}, {Name: "plimsoll_slo_violated", Labels: labels("rule", rule), Value: broken}}
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
	i := slices.IndexFunc(limiter.Indicators(), func(x limiter.Indicator) bool {
		return x.What == what
	})
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
			out = append(out, series.Sample{
				Name:   "container_cpu_cfs_throttled_periods_total",
				Labels: labels("role", of.role),
				Value:  10 * of.throttled * s,
			},
				series.Sample{
					Name:   "container_cpu_cfs_periods_total",
					Labels: labels("role", of.role),
					Value:  10 * s,
				})
		}
		for _, host := range []string{"app-0", "app-1", "app-2"} {
			out = append(out, series.Sample{
				Name:   "node_pressure_memory_stalled_seconds_total",
				Labels: labels("role", "app", "instance", host),
				Value:  0.018 * s,
			})
		}
		return out
	})
	if got := valueOf(t, x, "periods of its control group that were throttled"); len(got) != 1 ||
		math.Abs(got["app"]-0.05) > 1e-6 {
		t.Errorf("throttled: %v, want that of app alone", got)
	}
	if got := valueOf(t, x, "time in which all work waited for memory"); math.Abs(
		got["app"]-0.018,
	) > 1e-6 {
		t.Errorf("stalled: %v, want 0.018", got)
	}
}

// A warning is not a breach, so it has not stopped a run.
func TestAWarningStopsNothing(t *testing.T) {
	r := &record.Run{
		Manifest: record.Manifest{
			State:  record.Sealed,
			Phases: []record.Phase{{Name: "measure", To: time.Minute, Users: 10}},
		},
		Validity: record.Validity{Valid: true},
	}
	warned := record.Event{
		Kind:     "slo",
		Phase:    "measured",
		Rule:     "promql: memory < 0.85",
		Violated: true,
		Level:    record.Amber,
	}
	if o, _, ok := stopped(asked(r), []record.Event{warned}); !ok || o.Reached || o.Rule != "" {
		t.Errorf("a warning: %+v", o)
	}
	broke := record.Event{Kind: "slo", Phase: "measured", Rule: "p99(op) < 2s", Violated: true}
	if o, _, _ := stopped(asked(r), []record.Event{warned, broke}); !o.Reached ||
		o.Rule != broke.Rule {
		t.Errorf("a warning before a rule that broke: %+v", o)
	}
}

// A gate that only the target can turn red voids a run and names no limiter, whichever rule broke;
// it hides no gate that is the generator's own.
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
			r := &record.Run{Manifest: record.Manifest{
				State:  record.Sealed,
				Phases: []record.Phase{{Name: "measure", To: time.Minute, Users: 10}},
			}}
			for _, name := range tt.red {
				r.Validity.Gates = append(r.Validity.Gates, record.GateOutcome{
					Name:  name,
					Level: record.Red,
				})
				r.Validity.Add(record.Finding{Gate: name, Level: record.Red, Text: "too much"})
			}
			o, _, ok := stopped(asked(r), []record.Event{broke})
			if got := strings.Join(o.Generator, "; "); !ok || got != tt.of ||
				tt.of == "" && o.Reached {
				t.Errorf("named %q, want %q: %+v", got, tt.of, o)
			}
			l, err := asked(r).Limiter(t.Context(), []record.Event{broke})
			if err != nil {
				t.Fatal(err)
			}
			if l.Name != tt.want ||
				tt.of == "" &&
					!strings.Contains(
						l.Sentence,
						"No limiter is named, because the run is not valid",
					) {
				t.Errorf("%s: %s, want %s", l.Name, l.Sentence, tt.want)
			}
		})
	}
}

// Memory and ports are the whole host's: where the target is on it, the generator is not named for
// resources that the target used up.
func TestMemoryOfASharedHostAccusesNobody(t *testing.T) {
	for _, gate := range []string{"memory", "ports"} {
		for _, shared := range []bool{false, true} {
			bounded := &record.Run{Manifest: record.Manifest{
				State:      record.Sealed,
				SharedHost: shared,
				Phases:     []record.Phase{{Name: "measure", To: time.Minute, Users: 10}},
			}}
			bounded.Validity.Gates = []record.GateOutcome{{Name: gate, Level: record.Red}}
			bounded.Validity.Add(record.Finding{Gate: gate, Level: record.Red, Text: "too much"})
			searched := &record.Run{Manifest: record.Manifest{
				State:      record.Sealed,
				SharedHost: shared,
				Phases:     []record.Phase{{Name: "search", To: time.Minute, Users: 10}},
				Capacity: &record.Capacity{
					Kind:  record.AtLeast,
					Users: 10,
					Rule:  record.ByGate + gate,
					Why:   "too much",
				},
			}}
			for _, r := range []*record.Run{bounded, searched} {
				if o, _, ok := stopped(asked(r), nil); !ok || (len(o.Generator) > 0) == shared {
					t.Errorf("%s, shared host %v: named %q", gate, shared, o.Generator)
				}
			}
		}
	}
}

// The generator that used few of its cores is not named for a core that others filled, and a
// generator that used it itself is.
func TestCoresThatOthersUsed(t *testing.T) {
	for _, tt := range []struct {
		cpu       float64
		gate      string
		shared    bool
		placed    []int
		neighbors map[string]float64
		want      string
	}{
		{0.3, "core", false, nil, map[string]float64{"compile": 0.9}, "LIMITED BY OTHERS ON THE HOST: core: 95 %; the generator itself used 0.3 % of its cores; in cores of this host: compile 0.90."},
		{5.8, "core", true, nil, nil, "LIMITED BY THE TARGET ON THE GENERATOR'S CORES: core: 95 %; the generator itself used 5.8 % of its cores, the target's processes 1.4"},
		{5.8, "core", true, []int{0}, map[string]float64{"compile": 0.9}, "LIMITED BY OTHERS ON THE HOST"},
		{88, "core", false, nil, map[string]float64{"compile": 0.1}, "LIMITED BY LOAD GENERATOR: core: 95 %."},
		{0.3, "fds", false, nil, nil, "LIMITED BY LOAD GENERATOR: fds: 95 %."},
		{0.3, "others", true, []int{0}, map[string]float64{"backup": 0.9}, "LIMITED BY OTHERS ON THE HOST: others: 95 %; in cores of this host: backup 0.90."},
	} {
		dir := t.TempDir()
		r := &record.Run{
			Dir: dir,
			Manifest: record.Manifest{
				State:      record.Sealed,
				SharedHost: tt.shared,
				Generator:  []int{1},
				TargetCPUs: tt.placed,
				Epoch:      epoch,
				Phases:     []record.Phase{{Name: "measure", To: time.Minute, Users: 10}},
			},
		}
		db := sampled(t, dir, 60, func(s float64) []series.Sample {
			out := []series.Sample{{
				Name:   "plimsoll_process_cpu_seconds_total",
				Labels: labels("mode", "user", "role", "app"),
				Value:  1.5 * s,
			}}
			for name, cores := range tt.neighbors {
				out = append(out, series.Sample{
					Name:   "plimsoll_neighbor_cpu_ratio",
					Labels: labels("program", name),
					Value:  cores,
				})
			}
			return out
		})
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		r.Validity.Gates = []record.GateOutcome{{
			Name:  tt.gate,
			Level: record.Red,
		}, {Name: "cpu", Level: record.Green, Value: &tt.cpu}}
		r.Validity.Add(record.Finding{Gate: tt.gate, Level: record.Red, Text: "95 %"})
		l, err := asked(r).Limiter(t.Context(), nil)
		if err != nil || !strings.Contains(l.Sentence, tt.want) {
			t.Errorf(
				"%s at %g %% of the generator: %v, %+v; want %s",
				tt.gate,
				tt.cpu,
				err,
				l,
				tt.want,
			)
		}
	}
}

// A search that a gate ended names its cause where it found a bound and where it is unstable.
func TestUnstableSearchNamesTheGateThatEndedIt(t *testing.T) {
	used := 0.88
	for _, tt := range []struct{ kind, gate, want string }{
		{record.AtLeast, "core", limiter.LimitHost},
		{record.Unstable, "core", limiter.LimitHost},
		{record.Unstable, "others", limiter.LimitHost},
		{record.Unstable, "fds", limiter.LimitGenerator},
		{record.Unstable, "wait", limiter.LimitNone},
	} {
		r := &record.Run{Manifest: record.Manifest{
			State:     record.Sealed,
			Generator: []int{1},
			Phases:    []record.Phase{{Name: "search", To: time.Minute, Users: 10}},
			Capacity: &record.Capacity{
				Kind:    tt.kind,
				Reached: 10,
				Rule:    record.ByGate + tt.gate,
				Stopped: record.ByHealth + "95 %",
				Why:     "held up: 95 %",
			},
		}}
		r.Validity.Gates = []record.GateOutcome{{
			Name:  tt.gate,
			Level: record.Amber,
		}, {Name: "cpu", Level: record.Green, Value: &used}}
		r.Validity.Add(record.Finding{
			Gate:  tt.gate,
			Level: record.Amber,
			Text:  "95 %; this ended the search",
		})
		o, _, ok := stopped(asked(r), nil)
		if l := limiter.Diagnose(nil, o); !ok || l.Name != tt.want ||
			strings.Count(l.Sentence, "95 %") != 1 {
			t.Errorf("%s by %s: %+v; want %s", tt.kind, tt.gate, l, tt.want)
		}
	}
}

// While a gate is red, a run that is under way is not reported to have no limiter.
func TestNoLimiterSoFarIsNotReportedUnderARedGate(t *testing.T) {
	for readings, want := range map[string]string{
		"core": limiter.LimitHost, "users": limiter.LimitUnknown, "": limiter.LimitNone,
	} {
		r := &record.Run{Dir: t.TempDir(), Manifest: record.Manifest{State: record.Running}}
		now := record.Event{
			At:       9 * time.Second,
			Kind:     "gates",
			Readings: map[string]float64{"cpu": 0.3},
		}
		if readings != "" {
			now.Readings[readings] = map[string]float64{"core": 99, "users": 10}[readings]
		}
		l, err := asked(r).LimiterSoFar(t.Context(), []record.Event{{
			At:    9 * time.Second,
			Kind:  "users",
			Users: 10,
		}, now})
		if err != nil || l.Name != want {
			t.Errorf("red %q: %v, %+v; want %s", readings, err, l, want)
		}
	}
}

// A run of which no user could log in is about the refused logins, not about the busy core beside
// them.
func TestRefusedHandshakesMakeTheHeadline(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(dir, record.Manifest{
		ID:     "refused",
		Phases: []record.Phase{{Name: "measure", To: 2 * time.Second, Users: 6}},
	})
	if err != nil {
		t.Fatal(err)
	}
	login, password := measure.NewWindow("login_websocket"), measure.NewWindow("login")
	login.Classes[measure.Status4xx], password.Classes[measure.OK] = 12, 12
	refused := record.Event{
		Kind: "error",
		Text: "first failure of its kind: websocket: WebSocket handshake: the server answered 400 (4xx)",
	}
	if err := errors.Join(w.Windows(0, []*measure.Window{password, login}), w.Event(refused)); err != nil {
		t.Fatal(err)
	}
	busy := record.Finding{Gate: "core", Level: record.Red, Text: "100 %"}
	if _, err := w.Seal(t.Context(), record.Validity{
		Findings: []record.Finding{busy},
		Gates:    []record.GateOutcome{{Name: "core", Level: record.Red}},
	}, ""); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	events, err := r.Events()
	if err != nil {
		t.Fatal(err)
	}
	l, err := asked(r).Limiter(t.Context(), events)
	if err != nil || l == nil ||
		!strings.HasPrefix(
			l.Sentence,
			"ALL OPERATIONS FAILED, or nearly all: 12 of 12 login_websocket failed: 4xx 12",
		) ||
		!strings.Contains(l.Sentence, "WebSocket handshake: the server answered 400") {
		t.Errorf("%v: %+v", err, l)
	}
}

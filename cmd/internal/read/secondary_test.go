package read

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/evidence"
	"plimsoll/internal/failure"
	"plimsoll/judge/comparison"
	"plimsoll/judge/drift"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// seenRun is a run of a ramp of 10 s and a measured phase of 60 s, with series of a server every
// second: latency is that of posts in each second of the measured phase.
func seenRun(t *testing.T, latency func(second int) time.Duration) *record.Run {
	t.Helper()
	epoch := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(dir, record.Manifest{
		ID:    "r",
		Epoch: epoch,
		Seed:  7,
		Phases: []record.Phase{
			{
				Name:  "ramp",
				To:    10 * time.Second,
				Users: 5,
			}, {Name: "measure", From: 10 * time.Second, To: 70 * time.Second, Users: 5}},
	})
	failure.None(t, err)
	for s := range 72 {
		post, view := measure.NewWindow("post"), measure.NewWindow("view")
		for i := range 40 {
			post.Response.Record(latency(s-10) + time.Duration(i%20)*100*time.Microsecond)
			view.Response.Record(
				3*time.Millisecond + time.Duration((s*7+i)%10)*100*time.Microsecond,
			)
		}
		post.Classes[measure.OK], view.Classes[measure.OK] = 40, 40
		failure.None(t, w.Windows(s, []*measure.Window{post, view}))
	}
	db, err := series.Create(filepath.Join(dir, record.SeriesDir))
	failure.None(t, err)
	app := []series.Label{{Name: "role", Value: "app"}, {Name: "instance", Value: "app-0"}}
	with := func(more ...series.Label) []series.Label { return append(slices.Clone(app), more...) }
	for s := range 73 {
		at := float64(s)
		samples := []series.Sample{
			{Name: "go_goroutines", Labels: app, Value: 120},
			{Name: "go_memstats_heap_inuse_bytes", Labels: app, Value: 64 << 20},
			{Name: "plimsoll_process_cpu_seconds_total", Labels: app, Value: 0.4 * at},
			{Name: "plimsoll_process_resident_memory_bytes", Labels: app, Value: 200 << 20},
			{Name: "mattermost_http_requests_total", Labels: app, Value: 80 * at},
			{Name: "go_cpu_classes_gc_total_cpu_seconds_total", Labels: app, Value: 0.05 * at},
			{Name: "go_cpu_classes_total_cpu_seconds_total", Labels: app, Value: 2 * at},
			{Name: "go_cpu_classes_idle_cpu_seconds_total", Labels: app, Value: 1.5 * at},
			{
				Name:   "plimsoll_cpu_steal_ratio",
				Labels: []series.Label{{Name: "role", Value: "generator"}},
				Value:  0.4,
			},
			{
				Name:   "plimsoll_cpu_steal_ratio",
				Labels: []series.Label{{Name: "role", Value: "host"}},
				Value:  0.21,
			},
			{
				Name:   "plimsoll_cpu_steal_ratio",
				Labels: []series.Label{{Name: "role", Value: "target"}},
				Value:  0.02,
			},
			{Name: "node_pressure_io_stalled_seconds_total", Value: 0.1 * at},
		}
		for method, perSecond := range map[string]float64{
			"PostStore.Save": 100,
			"UserStore.Get":  2,
			"TeamStore.Rare": 0.1,
		} {
			m := series.Label{Name: "method", Value: method}
			ok := series.Label{Name: "success", Value: "true"}
			samples = append(samples,
				series.Sample{
					Name:   "mattermost_db_store_time_count",
					Labels: with(m, ok),
					Value:  perSecond * at,
				},
				series.Sample{
					Name:   "mattermost_db_store_time_sum",
					Labels: with(m, ok),
					Value:  0.004 * perSecond * at,
				})
			for le, share := range map[string]float64{
				"0.0025": 0,
				"0.005":  0.98,
				"0.01":   1,
				"+Inf":   1,
			} {
				samples = append(samples, series.Sample{
					Name:   "mattermost_db_store_time_bucket",
					Labels: with(m, ok, series.Label{Name: "le", Value: le}),
					Value:  share * perSecond * at,
				})
			}
		}
		failure.None(t, db.Append(epoch.Add(time.Duration(s)*time.Second), samples))
	}
	return sealed(t, w, db, dir)
}

// sealed ends a run whose series are written, and opens it.
func sealed(t *testing.T, w *record.Writer, db *series.DB, dir string) *record.Run {
	t.Helper()
	failure.None(t, db.Close())
	failure.None(t, failure.Of(w.Seal(t.Context(), record.Validity{Valid: true}, "")))
	r, err := record.Open(dir)
	failure.None(t, err)
	return r
}

func TestSecondaryOfARun(t *testing.T) {
	r := seenRun(t, func(int) time.Duration { return 10 * time.Millisecond })
	got, err := new(app.App).Catalog().Secondary(t.Context())(r)
	failure.None(t, err)
	byName := map[string]comparison.SecondaryValue{}
	calls := map[string]float64{}
	for _, f := range got {
		if f.Name != "" {
			byName[f.Name] = f
		}
		if f.Calls != "" {
			calls[f.Calls] = f.Count
		}
	}
	for name, want := range map[string]float64{
		"CPU of app":                 40,
		"cost(app)":                  5,
		"most memory of app":         200,
		"goroutines of app":          120,
		"heap of app":                64,
		"requests served":            80,
		"garbage collection of app":  10,
		"mean(store PostStore.Save)": 4,
		"mean(store UserStore.Get)":  4,
		"p99(store PostStore.Save)":  7.5,
	} {
		if f, ok := byName[name]; !ok || math.Abs(f.Value-want) > 0.02*want {
			t.Errorf("%s is %v, want %v", name, f.Value, want)
		}
	}
	if byName["requests served"].Better != plan.Higher || !byName["CPU of app"].Alone ||
		byName["mean(store PostStore.Save)"].Alone ||
		!byName["mean(store PostStore.Save)"].Mean {
		t.Errorf("%+v", byName)
	}
	// Too few calls, or not shown.
	for _, name := range []string{"p99(store UserStore.Get)", "mean(store TeamStore.Rare)", "connected devices", "stack of app"} {
		if f, ok := byName[name]; ok {
			t.Errorf("%s is %v and should not be there", name, f.Value)
		}
	}
	for name, want := range map[string]float64{
		"store PostStore.Save": 6000,
		"store UserStore.Get":  120,
		"store TeamStore.Rare": 6,
	} {
		if math.Abs(calls[name]-want) > 0.05*want {
			t.Errorf("%s: %v calls, want %v", name, calls[name], want)
		}
	}
}

// show reports a run that climbs, with the operation that does, and how well it knows its
// percentiles; in text and JSON.
func TestInsideARun(t *testing.T) {
	r := seenRun(t, func(s int) time.Duration {
		return time.Duration(41+19*float64(max(s, 0))/60) * time.Millisecond
	})
	s, err := new(app.App).Catalog().Of(r).Show(context.Background())
	failure.None(t, err)
	i := slices.IndexFunc(s.Drift, func(d drift.Drift) bool { return d.Signal == "mean response" })
	if i < 0 || s.Drift[i].State != drift.Rises || len(s.Drift[i].Parts) != 1 ||
		s.Drift[i].Parts[0].Name != "post" {
		t.Fatalf("%+v", s.Drift)
	}
	ops := map[string]evidence.ShownOp{}
	for _, o := range s.Ops {
		ops[o.Name] = o
	}
	if w, p := ops["view"].Interval, ops["view"].P95; w == nil || w.P95 == nil ||
		!(w.P95[0] <= p*1.01 && p*0.99 <= w.P95[1] && w.P95[0] > 3.5 && w.P95[1] < 4.5) ||
		w.P50 == nil ||
		w.P99 != nil ||
		w.Block < 6 {
		t.Errorf("within the run: %+v, p95 %v", w, p)
	}
	if w := ops["post"].Interval; w == nil || w.P95 == nil || !(w.P95[0] < w.P95[1]) {
		t.Errorf("within the run, of what varies: %+v", w)
	}
	var out strings.Builder
	failure.None(t, s.Text(&out))
	for _, want := range []string{"95 % of p95", "Runs differ by more", "mean response: rises by +", "ms at last", "post (4"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	short := s
	short.Manifest.Phases = []record.Phase{{Name: "measure", To: 8 * time.Second}}
	out.Reset()
	failure.None(t, short.Text(&out))
	if !strings.Contains(
		out.String(),
		"a measured phase of 8 s is too short to tell whether it was steady from its beginning; 50 s are needed",
	) {
		t.Error("a short phase is not told")
	}
}

// A phase that was not checked for steadiness has a note with the reason.
func TestWhyNothingIsSaidOfSettling(t *testing.T) {
	r := seenRun(t, func(int) time.Duration { return 41 * time.Millisecond })
	s, err := new(app.App).Catalog().Of(r).Show(t.Context())
	failure.None(t, err)
	if s.Intervals != 60 || s.Silent != 0 {
		t.Errorf("%d of %d intervals are silent, want 0 of 60", s.Silent, s.Intervals)
	}
	group := func(timed ...uint64) *record.Course {
		return &record.Course{
			N:      len(timed),
			Groups: map[string]*record.Intervals{"op": {Timed: timed}},
		}
	}
	if n := evidence.Silent(group(3, 0, 1, 0)); n != 2 {
		t.Errorf("%d silent intervals of 4, want 2", n)
	}
	if n := evidence.Silent(&record.Course{N: 50}); n != 50 {
		t.Errorf("%d silent intervals of a phase without operations, want all", n)
	}
	for _, tt := range []struct {
		name   string
		storms int
		silent int
		want   string // "" for nothing
	}{
		{"asked", 0, 0, ""},
		{"with a tenth of its intervals silent", 0, 6, ""},
		{"too many silent intervals", 0, 7, "  settling: 7 of 60 intervals of the measured phase had no answer"},
		{"storms", 1, 0, "  settling: a measured phase with storms is not asked whether it was steady"},
		{"storms and silence", 1, 7, "  settling: a measured phase with storms is not asked whether it was steady"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			x := s
			x.Silent = tt.silent
			x.Users = &record.Users{Storms: make([]record.StormOutcome, tt.storms)}
			failure.None(t, x.Text(&out))
			if got := out.String(); !strings.Contains(got, tt.want) ||
				tt.want == "" && strings.Contains(got, "settling:") {
				t.Errorf("%s\nwant %q", got, tt.want)
			}
		})
	}
}

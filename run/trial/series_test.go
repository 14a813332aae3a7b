package trial

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/watch/series"
)

// ask evaluates an expression that has one value.
func ask(t *testing.T, db *series.DB, expr string, at time.Time) float64 {
	t.Helper()
	res, err := db.Query(t.Context(), expr, at)
	if err != nil {
		t.Fatal(err)
	}
	if len(res) != 1 {
		t.Errorf("%s: %d values at %v, want one: %v", expr, len(res), at, res)
		return math.NaN()
	}
	return res[0].Value
}

// recordSeries carries out a trial with series and opens its store.
func recordSeries(t *testing.T, s Config) (*series.DB, Outcome) {
	t.Helper()
	dir := t.TempDir() + "/series"
	db, err := series.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Series = db
	out := carryOut(t, s)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	events := eventsOf(t, finish(t, s, out))
	for _, e := range events {
		if e.Kind == "error" {
			t.Errorf("event: %s", e.Text)
		}
	}
	if db, err = series.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, out
}

func TestSeriesOfABoundedTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := boundedSpec(t, l)
		s.Rules = rules(
			t,
			"p99(post) < 5ms",
			"mean(op) < 1s",
			"cpu(app) < 85%",
			"rate(5xx) < 1% min 10",
			"p99(nothing) < 1s",
		)
		db, _ := recordSeries(t, s)
		_, end, _ := db.Bounds()
		mid := s.Clock.Epoch().
			Add(s.Bounded.Ramp + s.Bounded.Settle + s.Bounded.Measure/2).
			Truncate(time.Second)
		users := float64(s.Bounded.Users)
		perSecond := 20 * math.Ceil(users/10)
		for expr, want := range map[string]float64{
			`plimsoll_users{state="active"}`:                     users,
			`plimsoll_slo_threshold{rule="p99(post) < 5ms"}`:     0.005,
			`plimsoll_slo_violated{stat="p99",op="post"}`:        1,
			`plimsoll_slo_violated{op="op"}`:                     0,
			`plimsoll_slo_no_data{op="nothing"}`:                 1,
			`plimsoll_slo_no_data{role="app"}`:                   0,
			`plimsoll_slo_threshold{class="5xx"}`:                0.01,
			`plimsoll_slo_value{class="5xx"}`:                    0,
			`count(plimsoll_slo_value)`:                          4,
			`rate(plimsoll_ops_total{op="post",class="ok"}[2s])`: perSecond,
			`rate(plimsoll_ops_total{op="op",class="ok"}[2s])`:   perSecond,
			`plimsoll_phase{phase="measure"}`:                    1,
			`plimsoll_phase{phase="ramp"}`:                       0,
			`count(plimsoll_ops_total)`:                          2,
			`count(plimsoll_gate) > bool 2`:                      1,
			`plimsoll_slo_value{rule="cpu(app) < 85%"}`:          users / 1000 * 0.85,
			`sum(plimsoll_deliveries_total)`:                     0,
		} {
			if got := ask(t, db, expr, mid); math.Abs(got-want) > 0.055*want {
				t.Errorf("%s: %v, want %v", expr, got, want)
			}
		}
		for _, stat := range statNames {
			got := ask(t, db, `plimsoll_op_seconds{op="post",stat="`+stat+`"}`, mid)
			if math.Abs(got-0.010) > 0.0002 {
				t.Errorf("%s of post: %v, want 10 ms", stat, got)
			}
		}
		if got := ask(t, db, `plimsoll_lag_seconds{stat="p99"}`, mid); math.Abs(got-1e-4) > 1e-5 {
			t.Errorf("lag: %v, want 0.1 ms", got)
		}
		got := ask(t, db, `plimsoll_slo_measured{op="post"}`, end)
		if math.Abs(got-0.010) > 0.0002 {
			t.Errorf("p99(post) over the measured phase: %v, want 10 ms", got)
		}
		// The first second counts too: the counter began at 0 before it.
		first, _, _ := db.Bounds()
		if got := ask(t, db, `plimsoll_ops_total{op="post",class="ok"}`, s.Clock.Epoch()); got != 0 ||
			first.Before(s.Clock.Epoch().Add(-time.Millisecond)) {
			t.Errorf(
				"%v operations at the epoch; the first sample is of %v before it",
				got,
				s.Clock.Epoch().Sub(first),
			)
		}
	})
}

func TestSeriesOfASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := searchSpec(spec(t, newLab(600)), 480, 2000)
		s.Bounded = nil
		s.Rules = rules(t, "cpu(app) < 85%")
		db, out := recordSeries(t, s)
		if out.Capacity == nil {
			t.Fatal("no capacity")
		}
		_, end, _ := db.Bounds()
		if got := ask(t, db, `max_over_time(plimsoll_slo_violated{role="app"}[1h])`, end); got != 1 {
			t.Errorf("violated at most %v", got)
		}
		if got := ask(t, db, `max_over_time((plimsoll_slo_value / plimsoll_slo_threshold)[1h:1s])`, end); got < 1 ||
			got > 1.5 {
			t.Errorf("value over threshold at most %v", got)
		}
		if got := ask(t, db, `max_over_time(plimsoll_users{state="desired"}[1h])`, end); got < 500 {
			t.Errorf("at most %v users", got)
		}
	})
}

// TestSeriesChangeNoJudgement: looking at a rule that must be violated for a while changes neither
// the broken rules nor the events.
func TestSeriesChangeNoJudgement(t *testing.T) {
	judged := func(with bool) string {
		var text string
		synctest.Test(t, func(t *testing.T) {
			s := boundedSpec(t, newLab(1000))
			s.Rules = rules(t, "mean(op) < 5ms for 4s", "p99(op) < 5ms")
			if with {
				s.Series = new(discard)
			}
			out := carryOut(t, s)
			events := eventsOf(t, finish(t, s, out))
			text = fmt.Sprintln("broken:", len(out.Broken))
			for _, e := range events {
				if e.Kind == "slo" {
					text += fmt.Sprintln(e.Rule, e.Violated, e.NoData)
				}
			}
		})
		return text
	}
	if got, want := judged(true), judged(false); got != want {
		t.Errorf("with series:\n%swithout:\n%s", got, want)
	}
}

// TestEverySeriesIsListed compares the series that a trial stores with the documented list.
func TestEverySeriesIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		l.wait = time.Millisecond
		s := boundedSpec(t, l)
		s.Rules = rules(t, "p99(post) < 5s", "cpu(app) < 85%")
		s.CPU = func() map[string]float64 {
			return map[string]float64{
				"app":      0.5,
				"database": 0.25,
			}
		}
		db, _ := recordSeries(t, s)
		_, end, _ := db.Bounds()
		if got := ask(t, db, `plimsoll_cpu_share{role="db"}`, s.Clock.Epoch().Add(2*time.Second)); got != 0.25 {
			t.Errorf("CPU of the database: %v", got)
		}
		stored := map[string]map[string]bool{}
		res, err := db.Query(t.Context(), `last_over_time({__name__!=""}[1h])`, end)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range res {
			name := r.Labels["__name__"]
			if stored[name] == nil {
				stored[name] = map[string]bool{}
			}
			for l := range r.Labels {
				stored[name][l] = true
			}
		}
		for _, m := range AllSeries() {
			labels, ok := stored[m.Name]
			if !ok {
				t.Errorf("%s is listed and not stored", m.Name)
			}
			delete(stored, m.Name)
			for _, l := range m.Labels {
				delete(labels, l)
			}
			if delete(labels, "__name__"); len(labels) > 0 {
				t.Errorf("%s has labels that are not listed: %v", m.Name, labels)
			}
			if m.Help == "" || m.Type != "gauge" && m.Type != "counter" {
				t.Errorf("%s: %+v", m.Name, m)
			}
		}
		if len(stored) > 0 {
			t.Errorf("stored and not listed: %v", stored)
		}
	})
}

// discard is a store that costs nothing.
type discard struct{ samples int }

func (d *discard) Append(_ time.Time, s []series.Sample) error { d.samples += len(s); return nil }

// busySecond is a trial with 60 operations and four rules over a window of 15 s, one of which has
// just ended a second.
func busySecond(tb testing.TB, to Store) *run {
	tb.Helper()
	l := newLab(1000)
	tb.Cleanup(func() { l.Stop(0) })
	var rs []plan.SLO
	for _, text := range []string{"p99(op) < 2s", "mean(op) < 100ms", "rate(5xx) < 1%", "rate(timeout) < 1%"} {
		r, err := plan.ParseSLO(text)
		if err != nil {
			tb.Fatal(err)
		}
		rs = append(rs, r)
	}
	r := &run{
		Config: Config{
			Window:  15 * time.Second,
			Clock:   clock.New(time.Now()),
			Driver:  l,
			Signals: l,
			Rules:   rs,
			Series:  to,
		},
		judging: rs,
		tick:    time.Second,
		rules:   map[string]*ruleState{},
		seen:    map[string]bool{},
	}
	r.series = newExporter(to, rs)
	for sec := range 16 {
		reg := measure.NewRegistry(1)
		rec := reg.Recorder(0)
		for op := range 60 {
			n := rec.Name(fmt.Sprint("op", op))
			for i := range 20 {
				d := time.Duration(1+op%7*i) * time.Millisecond
				rec.Record(n, &measure.Op{Sent: d / 10, Done: d})
			}
		}
		r.n++
		sl := slice{
			at:      r.now(),
			desired: 100,
			active:  100,
			windows: reg.Cut(),
			busy:    map[string][2]float64{},
		}
		r.trail.push(sl, r.Window)
		if sec == 15 {
			r.sec = measureSecond{}
			r.sec.add(sl.windows)
		}
	}
	return r
}

func BenchmarkExport(b *testing.B) {
	d := new(discard)
	r := busySecond(b, d)
	b.ReportAllocs()
	for b.Loop() {
		r.export(b.Context(), slice{desired: 100, active: 100})
	}
	b.ReportMetric(float64(d.samples)/float64(b.N), "samples/s")
}

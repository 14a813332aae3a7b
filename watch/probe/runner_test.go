package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

// memory is a Store in memory.
type memory struct {
	mu      sync.Mutex
	batches []batch
	fail    error
}

type batch struct {
	t    time.Time
	s    string
	from string
}

func (m *memory) Append(t time.Time, s []series.Sample) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.batches = append(m.batches, batch{t: t, s: text(s)})
	return nil
}

func (m *memory) AppendText(
	t time.Time,
	body []byte,
	_ string,
	extra map[string]string,
) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.batches = append(m.batches, batch{t: t, s: string(body), from: extra["instance"]})
	return strings.Count(string(body), "\n"), m.fail
}

// with returns the times of the batches that contain part.
func (m *memory) with(part string) (ts []time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.batches {
		if strings.Contains(b.s, part) {
			ts = append(ts, b.t)
		}
	}
	return ts
}

// stub is a Probe made of a function.
type stub struct {
	name string
	f    func(ctx context.Context, t time.Time) ([]series.Sample, error)
}

func (s stub) Name() string { return s.name }
func (s stub) Sample(ctx context.Context, t time.Time) ([]series.Sample, error) {
	return s.f(ctx, t)
}

func sampleOf(name string, v float64) []series.Sample {
	return []series.Sample{{Name: name, Labels: Labels("role", "target"), Value: v}}
}

// healthy is a probe that never fails.
func healthy(name string) stub {
	return stub{name, func(context.Context, time.Time) ([]series.Sample, error) {
		return sampleOf(name, 1), nil
	}}
}

// runFor runs r for d of the bubble's time and returns its error.
func runFor(t *testing.T, r *Runner, d time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return r.Run(ctx)
}

func TestRunnerTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var db memory
		r := NewRunner(&db, time.Second)
		start := time.Now()
		n := 0.0
		r.Add(stub{"a", func(context.Context, time.Time) ([]series.Sample, error) {
			n++
			return sampleOf("a", n), nil
		}})
		r.Add(stub{"slow", func(ctx context.Context, _ time.Time) ([]series.Sample, error) {
			time.Sleep(300 * time.Millisecond)
			return sampleOf("slow", 1), nil
		}})
		failure.None(t, runFor(t, r, 9500*time.Millisecond))
		for _, name := range []string{"a{", "slow{"} {
			ts := db.with(name)
			if len(ts) != 10 {
				t.Fatalf("%s: %d samples, want 10", name, len(ts))
			}
			for i, at := range ts {
				if want := start.Add(time.Duration(i) * time.Second); !at.Equal(want) {
					t.Errorf(
						"%s: sample %d at %v, want %v",
						name,
						i,
						at.Sub(start),
						want.Sub(start),
					)
				}
			}
		}
		if v, at, ok := r.Last(`a{role="target"}`); !ok || v != 10 ||
			!at.Equal(start.Add(9*time.Second)) {
			t.Errorf("Last = %v, %v, %v", v, at.Sub(start), ok)
		}
		if _, _, ok := r.Last("a"); ok {
			t.Error("Last without labels finds a series that has some")
		}
		for _, st := range r.Status() {
			if st.Samples != 10 || st.Failures != 0 || st.Missed != 0 || st.LastErr != nil {
				t.Errorf("status %+v", st)
			}
		}
	})
}

func TestRunnerFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var db memory
		r := NewRunner(&db, time.Second)
		n := 0
		r.Add(stub{"half", func(context.Context, time.Time) ([]series.Sample, error) {
			if n++; n > 3 {
				return sampleOf("other", 1), errors.New("cpu: gone")
			}
			return append(sampleOf("cpu", 0.5), sampleOf("other", 1)...), nil
		}})
		r.Add(stub{"stuck", func(ctx context.Context, _ time.Time) ([]series.Sample, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		failure.None(t, runFor(t, r, 6500*time.Millisecond))
		st := r.Status()
		if st[0].Samples != 3 || st[0].Failures != 4 || st[0].LastErr == nil ||
			st[0].LastErr.Error() != "probe half: cpu: gone" {
			t.Errorf("half: %+v", st[0])
		}
		// A sample that is stuck ends at its deadline, one interval after its tick.
		if st[1].Samples != 0 || st[1].Failures < 5 ||
			!errors.Is(st[1].LastErr, context.DeadlineExceeded) ||
			st[1].Longest != time.Second {
			t.Errorf("stuck: %+v", st[1])
		}
		if got := len(db.with("other{")); got != 7 {
			t.Errorf("what could be read was stored %d times, want 7", got)
		}
		if got := len(db.with(`plimsoll_probe_up{probe="half"} 0`)); got != 4 {
			t.Errorf("down %d times, want 4", got)
		}
		if got := len(db.with(`plimsoll_probe_failures_total{probe="half"} 4`)); got != 1 {
			t.Errorf("the fourth failure was stored %d times", got)
		}
		// The signal that is missing stops answering, the other one does not.
		if _, _, ok := r.Last(`cpu{role="target"}`); !ok {
			t.Error("cpu is forgotten at once")
		}
		time.Sleep(series.Lookback - 3*time.Second)
		if _, _, ok := r.Last(`cpu{role="target"}`); ok {
			t.Error("a signal that stopped still answers")
		}
		if _, _, ok := r.Last(`other{role="target"}`); !ok {
			t.Error("the other signal does not answer")
		}
	})
}

func TestRunnerStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory{fail: errors.New("disk full")}
		r := NewRunner(&db, time.Second)
		r.Add(healthy("a"))
		failure.None(t, runFor(t, r, 2500*time.Millisecond))
		if st := r.Status()[0]; st.Samples != 0 || st.Failures != 3 ||
			!strings.Contains(st.LastErr.Error(), "disk full") {
			t.Errorf("status %+v", st)
		}
		if _, _, ok := r.Last(`a{role="target"}`); ok {
			t.Error("Last knows a value that the run does not hold")
		}
	})
}

// nothing is a Scraper whose target answers without a sample.
type nothing struct{}

func (nothing) Name() string { return "nothing" }
func (nothing) Labels() map[string]string {
	return map[string]string{"instance": "i"}
}
func (nothing) Scrape(context.Context) ([]byte, string, error) { return nil, "", nil }

func TestRunnerEmptyScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var db memory
		r := NewRunner(&db, time.Second)
		r.AddScraper(nothing{})
		failure.None(t, runFor(t, r, 500*time.Millisecond))
		if st := r.Status()[0]; st.Failures != 1 ||
			!strings.Contains(st.LastErr.Error(), "no sample") {
			t.Errorf("status %+v", st)
		}
		if len(db.with(`up{instance="i"} 0`)) != 1 {
			t.Error("an empty answer is up")
		}
	})
}

func TestRunnerRefuses(t *testing.T) {
	r := NewRunner(&memory{}, time.Second)
	r.Add(stub{name: "a"})
	r.Add(stub{name: "a"})
	failure.Says(t, r.Run(t.Context()), `"a"`)
}

// The whole way: this host, this process, a real endpoint, a real DB, and PromQL over it.
func TestRunnerReal(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, "# TYPE posts_total counter\nposts_total{op=\"post\"} 5\n")
	}))
	defer srv.Close()
	db, err := series.Create(filepath.Join(t.TempDir(), "series"))
	failure.None(t, err)
	defer db.Close()
	h, err := NewHost(HostOptions{Roles: map[string][]int{"target": {0}}})
	failure.None(t, err)
	defer h.Close()
	self, err := NewSelf()
	failure.None(t, err)
	sc, err := NewScrape(srv.URL+"/metrics", map[string]string{"role": "app"})
	failure.None(t, err)
	defer sc.Close()
	r := NewRunner(db, 200*time.Millisecond)
	r.Add(h)
	r.Add(self)
	r.AddScraper(sc)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	failure.Unless(t, func() bool {
		return !slices.ContainsFunc(r.Status(), func(st ProbeStatus) bool { return st.Samples < 3 })
	}, "three samples are not taken")
	cancel()
	failure.None(t, <-done)
	for _, st := range r.Status() {
		if st.Failures > 0 {
			t.Errorf("status %+v", st)
		}
	}
	busy, _, ok := r.Last(`plimsoll_cpu_busy_ratio{role="target"}`)
	if !ok || busy < 0 || busy > 1 {
		t.Errorf("busy = %v, %v", busy, ok)
	}
	_, last, _ := db.Bounds()
	for _, expr := range []string{
		`plimsoll_cpu_busy_ratio{role="target"}`, `sum(node_cpu_seconds_total{mode="idle"})`, `node_netstat_Tcp_RetransSegs`,
		`posts_total{role="app",instance=~"127.*"}`, `up == 1`, `plimsoll_generator_goroutines`, `plimsoll_probe_up{probe="host"} == 1`,
	} {
		res, err := db.Query(t.Context(), expr, last)
		if err != nil || len(res) != 1 {
			t.Errorf("%s: %v, %v", expr, res, err)
		}
	}
}

// flaky fails from the third sample to the sixth, and at the ninth.
type flaky struct {
	n    int
	fail []int
}

func (f *flaky) Name() string { return "flaky" }
func (f *flaky) Sample(context.Context, time.Time) ([]series.Sample, error) {
	if f.n++; slices.Contains(f.fail, f.n) {
		return nil, fmt.Errorf("failure %d", f.n)
	}
	return nil, nil
}

func TestRunnerKeepsTheLongestGap(t *testing.T) {
	for _, tt := range []struct {
		name     string
		fail     []int // numbers of the samples
		from, to time.Duration
		why      string
	}{
		{"in the middle", []int{3, 4, 5, 6, 9}, time.Second, 6 * time.Second, "failure 6"},
		{"at the beginning", []int{1, 2, 3, 4, 7}, 0, 4 * time.Second, "failure 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				r := NewRunner(&memory{}, time.Second)
				r.Add(&flaky{fail: tt.fail})
				failure.None(t, runFor(t, r, 11500*time.Millisecond))
				g := r.Status()[0].Gap
				if from, to := g.From.Sub(start), g.To.Sub(start); from != tt.from || to != tt.to ||
					g.Err == nil ||
					!strings.Contains(g.Err.Error(), tt.why) {
					t.Errorf(
						"gap from %v to %v: %v; want %v to %v, %s",
						from,
						to,
						g.Err,
						tt.from,
						tt.to,
						tt.why,
					)
				}
			})
		})
	}
}

// odd is a probe that panics in its third second.
func odd() stub {
	n := 0
	return stub{"odd", func(context.Context, time.Time) ([]series.Sample, error) {
		if n++; n == 3 {
			panic("odd page")
		}
		return sampleOf("odd", 1), nil
	}}
}

// A probe that panics has failed in that second, and is reported; the next second it is sampled
// again, and the others go on.
func TestAProbeThatPanicsHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var db memory
		r := NewRunner(&db, time.Second)
		var told []*boundary.Panic
		r.OnPanic(func(p *boundary.Panic) { told = append(told, p) })
		r.Add(odd())
		r.Add(healthy("well"))
		failure.None(t, runFor(t, r, 9500*time.Millisecond))
		if len(told) != 1 || told[0].Where != "probe odd" || told[0].Value != "odd page" {
			t.Errorf("told %v", told)
		}
		for _, st := range r.Status() {
			want := map[string]int{"odd": 1, "well": 0}[st.Name]
			if st.Failures != want || st.Samples != 10-want || (st.LastErr != nil) != (want > 0) {
				t.Errorf("%+v", st)
			}
		}
	})
}

// oddPage is a Scraper that panics in its third second.
type oddPage struct{ n int }

func (*oddPage) Name() string              { return "page" }
func (*oddPage) Labels() map[string]string { return map[string]string{"instance": "i"} }
func (o *oddPage) Scrape(context.Context) ([]byte, string, error) {
	if o.n++; o.n == 3 {
		panic("odd page")
	}
	return []byte("x 1\n"), "", nil
}

// In the second of a panic the series of a probe's and a scraper's health have a sample, once, and
// it is 0.
func TestAProbeThatPanicsIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := series.Create(t.TempDir())
		failure.None(t, err)
		defer db.Close()
		start := time.Now()
		r := NewRunner(db, time.Second)
		r.AddScraper(&oddPage{})
		r.Add(odd())
		failure.None(t, runFor(t, r, 4500*time.Millisecond))
		for _, expr := range []string{`up{instance="i"}`, `plimsoll_probe_up{probe="page"}`, `plimsoll_probe_up{probe="odd"}`} {
			var up []float64
			for s := range 5 {
				at := start.Add(time.Duration(s) * time.Second)
				res, err := db.Query(t.Context(), `last_over_time(`+expr+`[500ms])`, at)
				if err != nil || len(res) != 1 {
					t.Fatalf("%s at %d s: %v, %v", expr, s, res, err)
				}
				up = append(up, res[0].Value)
			}
			if !slices.Equal(up, []float64{1, 1, 0, 1, 1}) {
				t.Errorf("%s: %v, want 1 1 0 1 1", expr, up)
			}
		}
	})
}

package console

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plimsoll/evidence"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
	"plimsoll/run/live"
	"plimsoll/run/trial"
	"plimsoll/watch/series"
)

const smallPlan = `name: small
target: {driver: external, url: "http://127.0.0.1:9"}
workload: {behavior: poster, pace: 0.02}
bounded: {users: 40, ramp: 2s, settle: 1s, measure: 4s, slo: ["p95(op) < 1s"]}
unbounded: {start: 40, max_users: 2000, budget: 40s, slo: ["cpu(app) < 85%", "rate(5xx) < 50%"]}
`

// bench is a generator and a server in one, whose CPU follows the users; every 20th operation
// fails.
type bench struct {
	mu    sync.Mutex
	users int
	n     int
	busy  map[string][2]float64
	reg   *measure.Registry
	stop  chan struct{}
	wg    sync.WaitGroup
}

func newBench() *bench {
	b := &bench{
		busy: map[string][2]float64{},
		reg:  measure.NewRegistry(1),
		stop: make(chan struct{}),
	}
	b.wg.Go(func() {
		rec := b.reg.Recorder(0)
		time.Sleep(25 * time.Millisecond) // no operation at the instant of a tick
		post := rec.Name("post")
		login := rec.Name("login")
		delivery := rec.Name(workload.Delivery)
		for {
			select {
			case <-b.stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			b.mu.Lock()
			for range b.users / 4 {
				b.n++
				took := time.Duration(5+b.n%13) * time.Millisecond
				op := &measure.Op{Done: took, Scheduled: true}
				if b.n%20 == 0 {
					op.Class = measure.Status5xx
				}
				rec.Record(post, op)
				if b.n%7 == 0 {
					rec.Record(delivery, &measure.Op{Done: 2 * took})
				}
				if b.n%90 == 0 {
					rec.Record(login, &measure.Op{Done: took, Class: measure.Timeout})
				}
			}
			for role, share := range map[string]float64{
				"app":       float64(b.users) / 200,
				"generator": 0.3,
			} {
				t := b.busy[role]
				b.busy[role] = [2]float64{t[0] + 0.05*min(share, 1), t[1] + 0.05}
			}
			b.mu.Unlock()
		}
	})
	return b
}

func (b *bench) SetUsers(n int, _ time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users = n
	return nil
}
func (b *bench) Users() (int, int, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.users, max(b.users-1, 0), 0
}
func (b *bench) Stop(time.Duration) {
	_ = b.SetUsers(0, 0)
	select {
	case <-b.stop:
	default:
		close(b.stop)
	}
	b.wg.Wait()
}
func (b *bench) Busy(role string) (float64, float64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.busy[role]
	return t[0], t[1], nil
}
func (b *bench) Query(context.Context, string) (float64, bool, error) { return 0, false, nil }
func (b *bench) Health(int, float64) map[string]trial.Reading {
	return map[string]trial.Reading{"core": {Value: 30}}
}
func (b *bench) Failing() map[string]trial.Failure { return nil }

// viewer is an audience that plays both servers: one that has followed from the beginning, and at
// every fourth second one that has just started and reads the directory.
type viewer struct {
	t      *testing.T
	f      *followed
	dir    string
	seen   int
	search bool
}

func (v *viewer) Watched() bool            { return true }
func (v *viewer) Progress(string)          {}
func (v *viewer) Orders() []live.Order     { return nil }
func (v *viewer) LastOrders() []live.Order { return nil }
func (v *viewer) Publish(f *live.Frame) {
	f.ID = testRun
	b, err := json.Marshal(f)
	if err != nil {
		v.t.Fatal(err)
	}
	v.f.line1(b)
	v.search = v.search || f.Search != nil && f.Search.Lo > 0
	if v.seen++; v.seen%4 == 0 {
		v.compare()
	}
}

// restoredFrom is a run as a server begins with it that has just been started.
func restoredFrom(t *testing.T, dir string) *followed {
	t.Helper()
	h, f := newHub(nil), newFollowed("run", dir)
	h.recorded = func(ctx context.Context, dir string) (*recorded, error) {
		r, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := recordedOf(ctx, new(evidence.Catalog).Of(r), newColumns(mostPoints, kept))
		if err != nil {
			t.Fatal(err)
		}
		return rec, nil
	}
	h.restore(t.Context(), f)
	return f
}

// compare holds the past from the directory against the one from the frames.
func (v *viewer) compare() {
	v.t.Helper()
	restored := restoredFrom(v.t, v.dir)
	flat := func(f *followed) (out map[string]any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		p := f.past(-1)
		delete(p, "log") // frames have the last eight lines alone
		b, err := json.Marshal(p)
		if err == nil {
			err = json.Unmarshal(b, &out)
		}
		if err != nil {
			v.t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(flat(v.f), flat(restored), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
		v.t.Fatalf("second %d: followed -, restored +:\n%s", v.seen, diff)
	}
	if restored.seq != v.f.seq || !cmp.Equal(restored.classes, v.f.classes) ||
		restored.window != v.f.window {
		v.t.Fatalf(
			"second %d: restored to second %d, window %v, classes %v; followed to %d, %v, %v",
			v.seen,
			restored.seq,
			restored.window,
			restored.classes,
			v.f.seq,
			v.f.window,
			v.f.classes,
		)
	}
}

// TestRestoredIsFollowed carries out a trial with both tests. A server that has just been started
// has the same past as one that followed it from the beginning, at any time; and so has the page of
// the stored run.
func TestRestoredIsFollowed(t *testing.T) {
	p, err := plan.ParseStored([]byte(smallPlan))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		b, dir := newBench(), filepath.Join(t.TempDir(), testRun)
		epoch := time.Now().Add(345678 * time.Nanosecond) // series have milliseconds
		w, err := record.Create(dir, record.Manifest{
			ID:    testRun,
			Name:  "small",
			Plan:  smallPlan,
			Epoch: epoch,
		})
		if err != nil {
			t.Fatal(err)
		}
		db, err := series.Create(filepath.Join(dir, record.SeriesDir))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		defer b.Stop(0)
		v := &viewer{t: t, f: restoredFrom(t, dir), dir: dir}
		u, _ := p.Search()
		was := map[string][2]float64{}
		out, err := trial.Run(t.Context(), trial.Config{
			Window:   u.Window,
			Clock:    clock.New(epoch),
			Driver:   b,
			Registry: b.reg,
			Signals:  b,
			Writer:   w,
			Series:   db,
			Live:     v,
			Rules:    u.SLO,
			Bounded: &trial.BoundedTest{
				Users:   40,
				Ramp:    2 * time.Second,
				Settle:  time.Second,
				Measure: 4 * time.Second,
				Rules:   p.BoundedRules(),
			},
			Search: &trial.SearchTest{
				Config: capacity.Config{
					Start:    40,
					Max:      2000,
					RampRate: 0.05,
					Window:   u.Window,
					Budget:   40 * time.Second,
				},
				Rush: time.Second,
			},
			CPU: func() map[string]float64 {
				out := map[string]float64{}
				for _, role := range []string{"app", "generator"} {
					busy, all, _ := b.Busy(role)
					if all > was[role][1] {
						out[role] = (busy - was[role][0]) / (all - was[role][1])
					}
					was[role] = [2]float64{busy, all}
				}
				return out
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if v.seen < 12 || !v.search || out.Capacity == nil {
			t.Fatalf("%d seconds, an interval %v, capacity %+v", v.seen, v.search, out.Capacity)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.Update(func(m *record.Manifest) {
			m.Phases, m.Capacity = out.Phases, out.Capacity
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Seal(t.Context(), out.Validity, ""); err != nil {
			t.Fatal(err)
		}
		r, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := recordedOf(
			t.Context(),
			new(evidence.Catalog).Of(r),
			newColumns(mostPoints, kept),
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"users.wanted", "users.active", "ops", "p95", "delivery.p95", "errors", "errors.5xx", "errors.timeout", "cpu.app", "cpu.generator",
			"search.level", "search.lo", "search.hi", "rule.0", "rule.1", "rule.2"} {
			if len(rec.cols.by[name]) != len(rec.cols.t) || sumOf(rec.cols.by[name]) == 0 {
				t.Errorf("the stored run has no %s", name)
			}
		}
		if len(rec.windows) < 5 || rec.search == nil || rec.search.Result == "" ||
			rec.search.Level < 40 ||
			len(rec.rules) != 3 ||
			rec.rules[1].Rule != "cpu(app) < 85%" ||
			rec.rules[1].Unit != "share" {
			t.Errorf("%d windows, search %+v, rules %+v", len(rec.windows), rec.search, rec.rules)
		}
	})
}

// TestRuleWithTooFewOperations checks that a rule of an ended run that could not be judged does not
// count as held.
func TestRuleWithTooFewOperations(t *testing.T) {
	rec := &recorded{rules: []live.Rule{{
		Rule:   "rate(errors) < 0.1%",
		Status: live.Holds,
	}, {Rule: "p99(op) < 2s", Status: live.Holds}, {Rule: "cpu(app) < 85%", Status: live.NoData}}}
	rec.undecided([]record.Event{
		{
			Kind: "slo",
			Rule: "rate(errors) < 0.1%",
		}, {Kind: "slo", Rule: "rate(errors) < 0.1%", Undecided: true},
		{Kind: "slo", Rule: "p99(op) < 2s", Undecided: true}, {Kind: "slo", Rule: "p99(op) < 2s"},
	})
	for i, want := range []string{live.Undecided, live.Holds, live.NoData} {
		if got := rec.rules[i]; got.Status != want {
			t.Errorf("%s %s, want %s", got.Rule, got.Status, want)
		}
	}
}

func sumOf(col []point) (sum float64) {
	for _, p := range col {
		sum += math.Abs(p.mean)
	}
	return sum
}

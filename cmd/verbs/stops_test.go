package verbs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/reference/refnull"
	"plimsoll/run/record"
	"plimsoll/run/trial"
)

// quietHost is a host where nothing is amiss.
type quietHost struct{ busy float64 }

func (c *quietHost) Busy(string) (busy, total float64, err error) {
	c.busy++
	return c.busy / 10, c.busy, nil
}
func (*quietHost) Query(context.Context, string) (float64, bool, error) { return 0, false, nil }
func (*quietHost) Health(int, float64) map[string]trial.Reading {
	return map[string]trial.Reading{"core": {Value: 30}}
}
func (*quietHost) Failing() map[string]trial.Failure { return nil }

// A trial over real sockets whose clock is stopped and started every 50 ms is a trial like others: its phases have
// their seconds, each with operations, none fails, and the server gets next to no request in the stops.
func TestTrialOverSocketsThroughStops(t *testing.T) {
	s, err := refnull.New(refnull.Config{Push: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	done := inBackground(func() error { return s.Run(ctx) })
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	reg, tally, ledger := measure.NewRegistry(2), new(workload.Tally), workload.NewLedger(0, 1)
	weights := map[string]float64{}
	for _, mix := range mattermost.Mixes() {
		for action := range mix {
			weights[action] = 1
		}
	}
	env := workload.Env{Weights: weights, URL: s.URL(), Seed: 7, Pace: 0.02, Registry: reg, Timeout: 5 * time.Second, Ledger: ledger, Tally: tally,
		Secret: func(name string) string { return map[string]string{"admin_password": "Aa1!aaaaaaaa"}[name] }}
	b := mattermost.Behaviors()["mattermost"]()
	if err := b.Provision(ctx, env, 20); err != nil {
		t.Fatal(err)
	}
	reg.Cut()
	c := clock.NewStopped(time.Now())
	l, err := engine.New(ctx, engine.Config{Env: env, Mix: []engine.Part{{Behavior: b, Share: 1}}, Clock: c, OnError: func(user int, err error) { t.Errorf("user %d: %v", user, err) }})
	if err != nil {
		t.Fatal(err)
	}
	w, err := record.Create(filepath.Join(t.TempDir(), "run"), record.Manifest{ID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	inStops, over := int64(0), make(chan struct{})
	var turns sync.WaitGroup
	turns.Go(func() {
		var settled int64
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if n%2 == 0 {
				if now := s.Stats().Requests; n > 0 {
					inStops += now - settled
				}
				c.Start()
				continue
			}
			c.Stop()
			time.Sleep(20 * time.Millisecond) // requests that were written before the stop arrive
			settled = s.Stats().Requests
		}
	})
	before := s.Stats().Requests
	out, err := trial.Run(ctx, trial.Config{Window: 1500 * time.Millisecond, Timeout: 5 * time.Second, Clock: c, Registry: reg, Signals: new(quietHost), Writer: w, Driver: l,
		Conduct: trial.Conduct{Tally: tally, Ledger: ledger}, Bounded: &trial.BoundedTest{Users: 20, Ramp: time.Second, Settle: time.Second, Measure: 3 * time.Second}})
	close(over)
	turns.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if all := s.Stats().Requests - before; all < 100 || inStops > all/20 {
		t.Errorf("%d of %d requests came in stops", inStops, all)
	}
	var phases []string
	for _, p := range out.Phases {
		if p.Name != "drain" {
			phases = append(phases, fmt.Sprint(p.Name, " ", p.From, " ", p.To))
		}
	}
	if want := []string{"ramp 0s 1s", "settle 1s 2s", "measure 2s 5s"}; !slices.Equal(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
	for _, f := range out.Validity.Findings {
		// How late the generator is depends on this host alone.
		if f.Level == record.Red && f.Gate != "lag" && f.Gate != "late" {
			t.Errorf("red: %s: %s", f.Gate, f.Text)
		}
	}
	if _, err := w.Seal(ctx, out.Validity, out.Interrupted); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	seconds := map[int]uint64{}
	if _, err := r.EachSecond(func(second int, ws []*measure.Window) bool {
		for _, w := range ws {
			if workload.Steady(w.Name) || workload.OfLogins(w.Name) {
				seconds[second] += w.Count()
				if w.Errors() > 0 {
					t.Errorf("second %d, %s: %v", second, w.Name, w.Classes)
				}
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for second := range 5 {
		if seconds[second] == 0 {
			t.Errorf("no operation in second %d: %v", second, seconds)
		}
	}
}

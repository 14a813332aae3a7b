package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/run/trial"
)

// turns starts and stops a clock again and again, after about a length each, until the function
// that it returns is called.
func turns(c *clock.Clock, length time.Duration) (end func()) {
	r := rand.New(rand.NewPCG(3, 3))
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-time.After(length/2 + time.Duration(r.Int64N(int64(length)))):
			}
			if n%2 == 0 {
				c.Start()
			} else {
				c.Stop()
			}
		}
	}()
	return func() { close(over); <-done }
}

// A stored run as a test compares it: phases with their tails, findings, and the operations of each
// second.
type stored struct {
	Phases  []record.Phase
	Gates   []string
	Seconds map[int]map[string][2]int64 // count, and the largest response in microseconds
}

func read(t *testing.T, r *record.Run, out trial.Outcome) stored {
	t.Helper()
	s := stored{
		Phases:  out.Phases,
		Gates:   []string{fmt.Sprint(out.Validity.Valid)},
		Seconds: map[int]map[string][2]int64{},
	}
	for _, f := range out.Validity.Findings {
		s.Gates = append(s.Gates, fmt.Sprint(f.Level, " ", f.Gate))
	}
	for _, g := range out.Validity.Gates {
		s.Gates = append(s.Gates, fmt.Sprint(g.Name, " ", g.Level))
	}
	if _, err := r.EachSecond(func(second int, ws []*measure.Window) bool {
		if s.Seconds[second] == nil {
			s.Seconds[second] = map[string][2]int64{}
		}
		for _, w := range ws {
			v := s.Seconds[second][w.Name]
			s.Seconds[second][w.Name] = [2]int64{v[0] + int64(w.Response.Count()), max(v[1], w.Response.Max().Round(time.Microsecond).Microseconds())}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// A trial whose clock is stopped again and again, with the server, is the trial of a clock that
// runs: the same phases, gates and tails, and the same operations in each second. That also holds
// for the drain.
func TestTrialThroughStops(t *testing.T) {
	for _, tt := range []struct {
		name    string
		server  stalled
		timeout time.Duration
	}{
		{"a server that answers", stalled{
			from:     time.Hour,
			to:       time.Hour,
			service:  12 * time.Millisecond,
			patience: time.Second,
		}, 5 * time.Second},
		{"a stall that ends in the drain", stalled{
			from:     16900 * time.Millisecond,
			to:       21930 * time.Millisecond,
			patience: 5 * time.Second,
		}, 5 * time.Second},
		{"timeouts in the drain", stalled{
			from:     16900 * time.Millisecond,
			to:       time.Hour,
			patience: 5 * time.Second,
		}, 5 * time.Second},
		{"no drain", stalled{
			from:     16900 * time.Millisecond,
			to:       time.Hour,
			patience: time.Hour,
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(length time.Duration) (s stored) {
				synctest.Test(t, func(t *testing.T) {
					server := tt.server
					if length > 0 {
						server.clock = clock.NewStopped(time.Now())
						defer turns(server.clock, length)()
					}
					r, out := measured(t, server, 0, func(c *trial.Config) {
						c.Timeout = tt.timeout
					})
					s = read(t, r, out)
				})
				return s
			}
			want := run(0)
			if n := len(slices.Collect(maps.Keys(want.Seconds))); n < 25 {
				t.Fatalf("%d seconds without stops, want 25 at least", n)
			}
			for _, length := range []time.Duration{50 * time.Millisecond, 2 * time.Second} {
				if diff := cmp.Diff(want, run(length)); diff != "" {
					t.Errorf("turns of %v (-without +with):\n%s", length, diff)
				}
			}
		})
	}
}

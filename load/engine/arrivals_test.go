package engine

import (
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// openFor runs 60 s of arrivals against a server that stops from 20 s to 22 s, and returns the
// records and the content of each arrival that was served.
func openFor(t *testing.T, a Arrivals, service time.Duration, agent, agents int) (
	ws map[string]*measure.Window, content map[int64]uint64, act workload.Activity,
) {
	t.Helper()
	began := time.Now()
	from, to := began.Add(20*time.Second), began.Add(22*time.Second)
	s := &stub{ends: func(sent time.Time) time.Time {
		if end := sent.Add(service); !end.After(from) || !sent.Before(to) {
			return end
		}
		return to.Add(service)
	}}
	content = map[int64]uint64{}
	s.at = func(a *stubActor, where string) {
		if where == "serve" {
			s.mu.Lock()
			defer s.mu.Unlock()
			content[a.served] = a.u.Content.Uint64()
		}
	}
	a.Behavior = s
	l := begin(t, s, Config{Env: workload.Env{Seed: 7}, Arrivals: &a, Agent: agent, Agents: agents})
	time.Sleep(60*time.Second - time.Millisecond)
	act = l.Activity()
	l.Stop(time.Minute)
	if ws = cut(l); int(ws["op"].Count()) != len(content) {
		t.Errorf("%d operations of %d arrivals", ws["op"].Count(), len(content))
	}
	return ws, content, act
}

// A stop of 2 s at 200/s: 400 arrivals fall into it, the k-th of them waits 2 s - k/200, so that 1
// % of all 12,000 wait longer than 1.4 s. With a place for each, service time shows the same; with
// one connection for all, service time sees one slow operation and nothing else.
func TestStopMatchesTheSchedule(t *testing.T) {
	const rate = 200
	for _, tt := range []struct {
		name            string
		inFlight        int
		service         time.Duration
		p99, serviceP99 time.Duration
	}{
		{"a place for each", 500, 2 * time.Millisecond, 1402 * time.Millisecond, 1402 * time.Millisecond},
		{"ten connections", 10, 2 * time.Millisecond, 0, 2 * time.Millisecond},
		{"one connection", 1, 2 * time.Millisecond, 0, 2 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ws, _, act := openFor(t, Arrivals{Rate: rate, InFlight: tt.inFlight, Queue: 1000},
					tt.service, 0, 1)
				op := ws["op"]
				dropped := ws[workload.Arrival]
				lag := ws[workload.Schedule]
				// The schedule's arithmetic: an arrival is sent when it comes or when a place is
				// free, and done a service time later, or a service time after the stop.
				var responses []time.Duration
				affected := 0
				free := make([]time.Duration, tt.inFlight)
				for k := range 60 * rate {
					at := time.Duration(k) * time.Second / rate
					i := slices.Index(free, slices.Min(free))
					sent := max(at, free[i])
					done := sent + tt.service
					if done > 20*time.Second && sent < 22*time.Second {
						done = 22*time.Second + tt.service
					}
					free[i] = done
					responses = append(responses, done-at)
					if done-at > 10*time.Millisecond {
						affected++
					}
				}
				slices.Sort(responses)
				want := responses[len(responses)*99/100-1]
				if tt.p99 > 0 && (want-tt.p99).Abs() > 10*time.Millisecond {
					t.Errorf("the arithmetic gives p99 %v, by hand it is %v", want, tt.p99)
				}
				if n := op.Count(); n != 60*rate || dropped.Count() != 0 {
					t.Errorf(
						"%d operations, %d dropped, want %d and 0",
						n,
						dropped.Count(),
						60*rate,
					)
				}
				far := func(got, want time.Duration) bool {
					return math.Abs(float64(got)/float64(want)-1) > 0.01
				}
				if got := op.Response.Quantile(0.99); far(got, want) {
					t.Errorf("response p99 %v, want %v", got, want)
				}
				if got := op.Response.CountOver(10 * time.Millisecond); got != uint64(affected) {
					t.Errorf("%d operations took more than 10 ms, want %d", got, affected)
				}
				if got := op.Service.Quantile(0.99); far(got, tt.serviceP99) {
					t.Errorf("service p99 %v, want %v", got, tt.serviceP99)
				}
				if slow := op.Service.CountOver(10 * time.Millisecond); tt.inFlight < 500 &&
					slow != uint64(tt.inFlight) {
					t.Errorf("service time saw %d slow operations, want %d", slow, tt.inFlight)
				}
				if lag.Lag.Count() != 60*rate || lag.Lag.Max() != 0 {
					t.Errorf(
						"%d lags up to %v; virtual time is never late",
						lag.Lag.Count(),
						lag.Lag.Max(),
					)
				}
				if act.Wanted != 60*rate || act.Served != act.Wanted {
					t.Errorf("%d wanted, %d served", act.Wanted, act.Served)
				}
			})
		})
	}
}

func TestDroppedBeyondTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := Arrivals{Rate: 200, InFlight: 10, Queue: 100}
		ws, _, act := openFor(t, a, 2*time.Millisecond, 0, 1)
		op, dropped := ws["op"], ws[workload.Arrival]
		// 400 come during the stop and one before the first is done after it: 10 are under way, 100
		// wait, 291 are dropped.
		if n := dropped.Classes[measure.Dropped]; n != 291 || op.Count() != 60*200-291 {
			t.Errorf("%d dropped, %d done; want 291 and %d", n, op.Count(), 60*200-291)
		}
		if act.Wanted != 60*200 || act.Served != 60*200-291 {
			t.Errorf(
				"%d wanted, %d served; want %d, and the dropped not among the served",
				act.Wanted,
				act.Served,
				60*200,
			)
		}
	})
}

// Three agents together act as one does, arrival by arrival.
func TestAgentsShareTheArrivals(t *testing.T) {
	run := func(agent, agents int) (content map[int64]uint64) {
		synctest.Test(t, func(t *testing.T) {
			_, content, _ = openFor(t, Arrivals{Rate: 50, Poisson: true, InFlight: 20, Queue: 1000},
				time.Millisecond, agent, agents)
		})
		return content
	}
	whole := run(0, 1)
	parts := map[int64]uint64{}
	for i := range int64(3) {
		for k, c := range run(int(i), 3) {
			if k%3 != i {
				t.Fatalf("agent %d served arrival %d", i, k)
			}
			parts[k] = c
		}
	}
	if n := len(whole); !maps.Equal(parts, whole) || n < 2700 || n > 3300 {
		t.Fatalf("%d arrivals in parts, %d as a whole, want about 3000, and the same content",
			len(parts), n)
	}
}

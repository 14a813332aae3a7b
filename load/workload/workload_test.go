package workload

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
)

func TestStrataHoldTheirShares(t *testing.T) {
	s := NewStrata(0.9, 0.1)
	var counts [2]int
	for id := range 200 {
		k, rank := s.Next()
		if rank != counts[k] {
			t.Fatalf("user %d: rank %d, want %d", id, rank, counts[k])
		}
		counts[k]++
		if d := float64(counts[1]) - 0.1*float64(id+1); d > 1 || d < -1 {
			t.Fatalf("after %d users %d of class 1", id+1, counts[1])
		}
	}
	if counts != [2]int{180, 20} {
		t.Fatalf("counts %v", counts)
	}
}

func TestStreamsAreAFunctionOfSeedAndID(t *testing.T) {
	now := time.Now()
	a := NewUser(7, 0, 42, 1, nil, clock.New(now))
	b := NewUser(7, 3, 42, 0.1, nil, clock.New(now.Add(time.Hour)))
	c := NewUser(8, 0, 42, 1, nil, clock.New(now))
	same := true
	for range 100 {
		x := a.Think.Uint64()
		if x != b.Think.Uint64() {
			t.Fatal("one seed and id, two think times")
		}
		same = same && x == c.Think.Uint64()
	}
	if same {
		t.Fatal("users 7 and 8 share a stream")
	}
	if a.Action.Uint64() == a.Content.Uint64() {
		t.Fatal("two streams of a user are one")
	}
}

// An action of two operations that was woken 30 ms late and needed 20 ms for its first request, 15
// ms for a connection, and 20 ms after the first answer to read it and to prepare the second
// request: only the connection is in a latency.
func TestGeneratorsOwnTimeIsLag(t *testing.T) {
	reg := measure.NewRegistry(1)
	rec := reg.Recorder(0)
	epoch := time.Now()
	u := NewUser(0, 0, 1, 1, rec, clock.New(epoch))
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	u.Schedule(100 * time.Millisecond)
	u.Done(rec.Name("upload"), at(150), at(165), at(200), measure.OK, 0)
	u.Done(rec.Name("post"), at(220), at(220), at(280), measure.OK, 0)
	if got := u.Free(at(300).Sub(epoch)); got != 280*time.Millisecond {
		t.Errorf("the user was free at %v, want 280ms, when its last answer arrived", got)
	}
	// An arrival that waited 300 ms for a place, and of which the generator needed 7 ms to begin.
	u.Schedule(1000 * time.Millisecond)
	u.Waited(300 * time.Millisecond)
	u.Done(rec.Name("arrival"), at(1307), at(1307), at(1317), measure.OK, 0)
	b := u.Beside(u.Since(at(500)))
	b.Done(rec.Name("beside"), at(509), at(510), at(520), measure.OK, 0)
	b.Done(rec.Name("beside"), at(523), at(523), at(533), measure.OK, 0)
	spent(t, reg, map[string][4]int64{
		"upload":  {50, 15, 35, 50},
		"post":    {20, 0, 60, 60},
		"arrival": {7, 300, 10, 310},
		"beside":  {9, 1, 10, 11},
	})
}

// spent compares the longest lag, wait, service and response of the operations of each name, in
// milliseconds.
func spent(t *testing.T, reg *measure.Registry, want map[string][4]int64) {
	t.Helper()
	for _, w := range reg.Cut() {
		got := [4]int64{
			w.Lag.Max().Milliseconds(),
			w.Wait.Max().Milliseconds(),
			w.Service.Max().Milliseconds(),
			w.Response.Max().Milliseconds(),
		}
		if got != want[w.Name] {
			t.Errorf(
				"%s: lag, wait, service and response %v ms, want %v",
				w.Name,
				got,
				want[w.Name],
			)
		}
		delete(want, w.Name)
	}
	if len(want) > 0 {
		t.Errorf("not recorded: %v", want)
	}
}

func TestRejoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := measure.NewRegistry(1)
		rec := reg.Recorder(0)
		u := NewUser(0, 0, 1, 1, rec, clock.New(time.Now()))
		op := func(name string, d time.Duration) {
			sent := time.Now()
			time.Sleep(d)
			u.Done(rec.Name(name), sent, sent, time.Now(), measure.OK, 0)
		}
		time.Sleep(130 * time.Millisecond)
		u.Schedule(100 * time.Millisecond)
		u.Rejoin(90 * time.Millisecond) // an action's first op is still intended by the schedule
		op("upload", 50*time.Millisecond)
		time.Sleep(200 * time.Millisecond) // others of the user's are at work
		last := u.Now()
		time.Sleep(20 * time.Millisecond) // until the user's goroutine runs again
		u.Rejoin(last)
		op("post", 5*time.Millisecond)
		must(t, u.Pause(t.Context(), time.Second))
		time.Sleep(7 * time.Millisecond)
		u.Rejoin(last) // as is the first one after a pause
		op("search", 5*time.Millisecond)
		spent(t, reg, map[string][4]int64{"upload": {30, 0, 50, 50}, "post": {20, 0, 5, 5},
			"search": {7, 0, 5, 5}})
	})
}

func TestPauseIsScaledAndScheduled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := measure.NewRegistry(1)
		u := NewUser(0, 0, 1, 0.1, reg.Recorder(0), clock.New(time.Now()))
		start := time.Now()
		must(t, u.Pause(t.Context(), 10*time.Second))
		if d := time.Since(start); d != time.Second {
			t.Fatalf("paused %v, want 1s", d)
		}
		stop := errors.New("over")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		if err := u.Pause(ctx, time.Hour); !errors.Is(err, stop) {
			t.Fatalf("got %v, want the cause", err)
		}
	})
}

func TestSlowOpsAreNotHeldBack(t *testing.T) {
	reg := measure.NewRegistry(1)
	epoch := time.Now()
	u := NewUser(0, 0, 1, 1, reg.Recorder(0), clock.New(epoch))
	u.Buffer()
	n, lag := reg.Name("post"), reg.Name(Schedule)
	count := func() (ops, lags uint64) {
		for _, w := range reg.Cut() {
			ops += w.Count()
			lags += w.Lag.Count()
		}
		return ops, lags
	}
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	u.Schedule(0)
	u.Lag(lag, 0)
	u.Done(n, at(0), at(0), at(1), measure.OK, 0)
	if ops, lags := count(); ops != 0 || lags != 0 {
		t.Errorf("%d quick ops and %d lags were recorded before the action ended", ops, lags)
	}
	u.Done(n, at(1), at(1), at(200), measure.OK, 0)
	if ops, lags := count(); ops != 2 || lags != 3 {
		t.Errorf(
			"a slow op brought %d ops and %d lags, want 2 and 3 (its action's, and those of both ops)",
			ops,
			lags,
		)
	}
	u.Lag(lag, 10*time.Millisecond)
	if _, lags := count(); lags != 1 {
		t.Errorf("a lag of 10 ms was held back")
	}
	u.Done(n, at(201), at(201), at(202), measure.OK, 0)
	u.Flush()
	if ops, _ := count(); ops != 1 {
		t.Errorf("flush brought %d ops, want 1", ops)
	}
}

func TestArrivalsAreOneSequence(t *testing.T) {
	for _, poisson := range []bool{false, true} {
		whole := NewArrivals(37, poisson, 5, 0, Evenly(1))
		const n = 7 * 300
		type arrival struct {
			k  int64
			at time.Duration
		}
		var want []arrival
		sum := 0.0
		squares := 0.0
		last := 0.0
		for range n {
			k, at := whole.Next()
			want = append(want, arrival{k, at})
			if k > 0 {
				gap := at.Seconds() - last
				sum += gap
				squares += gap * gap
			}
			last = at.Seconds()
		}
		mean := sum / (n - 1)
		cv := math.Sqrt(squares/(n-1)-mean*mean) / mean
		if math.Abs(mean*37-1) > 0.06 || poisson && math.Abs(cv-1) > 0.06 || !poisson && cv > 1e-6 {
			t.Errorf(
				"poisson %v: mean gap %v s at 37/s, coefficient of variation %v",
				poisson,
				mean,
				cv,
			)
		}
		for _, tt := range []struct {
			agents  int
			ratings []int
		}{{1, nil}, {2, nil}, {3, nil}, {7, nil}, {2, []int{3, 1}}, {6, []int{1, 20, 5}}} {
			deal, err := NewDeal(tt.agents, tt.ratings)
			must(t, err)
			schedules, next := make([]*ArrivalTimes, tt.agents), make([]int, tt.agents)
			for agent := range schedules {
				schedules[agent] = NewArrivals(37, poisson, 5, agent, deal)
			}
			for i, w := range want {
				agent, nth := deal.Of(i)
				if k, at := schedules[agent].Next(); k != w.k || at != w.at || nth != next[agent] {
					t.Fatalf(
						"poisson %v, %v: arrival %d of agent %d is %d at %v, want %+v",
						poisson,
						tt,
						next[agent],
						agent,
						k,
						at,
						w,
					)
				}
				next[agent]++
			}
		}
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

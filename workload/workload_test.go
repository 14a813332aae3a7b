package workload

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/measure"
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
	a, b := NewUser(7, 0, 42, 1, nil, now), NewUser(7, 3, 42, 0.1, nil, now.Add(time.Hour))
	c := NewUser(8, 0, 42, 1, nil, now)
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

func TestOpsOfAnActionFollowEachOther(t *testing.T) {
	reg := measure.NewRegistry(1)
	rec := reg.Recorder(0)
	epoch := time.Now()
	u := NewUser(0, 0, 1, 1, rec, epoch)
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	u.Schedule(100*time.Millisecond, 130*time.Millisecond)
	u.Done(rec.Name("upload"), at(150), at(200), measure.OK, 0)
	u.Done(rec.Name("post"), at(200), at(260), measure.OK, 0)
	for _, w := range reg.Cut() {
		switch w.Name {
		case "upload":
			if w.Lag.Max() != 30*time.Millisecond || w.Response.Max() != 70*time.Millisecond || w.Service.Max() != 50*time.Millisecond {
				t.Errorf("upload: lag %v response %v service %v", w.Lag.Max(), w.Response.Max(), w.Service.Max())
			}
		case "post":
			if w.Lag.Count() != 0 || w.Response.Max() != 60*time.Millisecond {
				t.Errorf("post: %d lags, response %v; want none and 60ms", w.Lag.Count(), w.Response.Max())
			}
		}
	}
}

func TestRejoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := measure.NewRegistry(1)
		rec := reg.Recorder(0)
		u := NewUser(0, 0, 1, 1, rec, time.Now())
		op := func(name string, d time.Duration) {
			sent := time.Now()
			time.Sleep(d)
			u.Done(rec.Name(name), sent, time.Now(), measure.OK, 0)
		}
		time.Sleep(130 * time.Millisecond)
		u.Schedule(100*time.Millisecond, 110*time.Millisecond)
		u.Rejoin() // an action's first op is still what the schedule wanted
		op("upload", 50*time.Millisecond)
		time.Sleep(200 * time.Millisecond) // others of the user's are at work
		u.Rejoin()
		op("post", 5*time.Millisecond)
		if err := u.Pause(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Millisecond)
		u.Rejoin() // as is the first one after a pause
		op("search", 5*time.Millisecond)
		want := map[string][3]time.Duration{
			"upload": {10 * time.Millisecond, 20 * time.Millisecond, 70 * time.Millisecond},
			"post":   {0, 0, 5 * time.Millisecond},
			"search": {0, 7 * time.Millisecond, 12 * time.Millisecond},
		}
		for _, w := range reg.Cut() {
			if got := [3]time.Duration{w.Lag.Max(), w.Wait.Max(), w.Response.Max()}; got != want[w.Name] {
				t.Errorf("%s: lag, wait and response %v, want %v", w.Name, got, want[w.Name])
			}
			delete(want, w.Name)
		}
		if len(want) > 0 {
			t.Errorf("not recorded: %v", want)
		}
	})
}

func TestPauseIsScaledAndScheduled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := measure.NewRegistry(1)
		u := NewUser(0, 0, 1, 0.1, reg.Recorder(0), time.Now())
		start := time.Now()
		if err := u.Pause(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
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
	u := NewUser(0, 0, 1, 1, reg.Recorder(0), epoch)
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
	u.Schedule(0, 0)
	u.Lag(lag, 0)
	u.Done(n, at(0), at(1), measure.OK, 0)
	if ops, lags := count(); ops != 0 || lags != 0 {
		t.Errorf("%d quick ops and %d lags were recorded before the action ended", ops, lags)
	}
	u.Done(n, at(1), at(200), measure.OK, 0)
	if ops, lags := count(); ops != 2 || lags != 2 {
		t.Errorf("a slow op brought %d ops and %d lags, want 2 and 2 (its action's, and that of the first op)", ops, lags)
	}
	u.Lag(lag, 10*time.Millisecond)
	if _, lags := count(); lags != 1 {
		t.Errorf("a lag of 10 ms was held back")
	}
	u.Done(n, at(201), at(202), measure.OK, 0)
	u.Flush()
	if ops, _ := count(); ops != 1 {
		t.Errorf("flush brought %d ops, want 1", ops)
	}
}

func TestArrivalsAreOneSequence(t *testing.T) {
	for _, poisson := range []bool{false, true} {
		whole := NewArrivals(37, poisson, 5, 0, 1)
		const n = 7 * 300
		type arrival struct {
			k  int64
			at time.Duration
		}
		var want []arrival
		sum, squares, last := 0.0, 0.0, 0.0
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
			t.Errorf("poisson %v: mean gap %v s at 37/s, coefficient of variation %v", poisson, mean, cv)
		}
		for _, agents := range []int{1, 2, 3, 7} {
			for agent := range agents {
				a := NewArrivals(37, poisson, 5, agent, agents)
				for i := agent; i < n; i += agents {
					if k, at := a.Next(); k != want[i].k || at != want[i].at {
						t.Fatalf("poisson %v, agent %d of %d: arrival %d at %v, want %+v", poisson, agent, agents, k, at, want[i])
					}
				}
			}
		}
	}
}

package refchat

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func testOutside(t *testing.T, text string) *outside {
	t.Helper()
	f, err := parseFaults([]string{text}, 1)
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{}
	met := &metrics{poolWait: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "p"}, []string{"pool"}), faultTime: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "f"}, []string{"fault"})}
	t.Cleanup(o.stop)
	if err := o.start(t.Context(), f, met); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWorkersAreAsManyAsTheFaultSays has three requests of ten seconds for two workers: the third is handled when the
// first is done.
func TestWorkersAreAsManyAsTheFaultSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOutside(t, "workers:2")
		start := time.Now()
		ended := make(chan time.Duration, 3)
		for range 3 {
			go func() {
				done, err := o.enter(t.Context(), false)
				defer done()
				if err != nil {
					t.Error(err)
				}
				time.Sleep(10 * time.Second)
				ended <- time.Since(start)
			}()
		}
		if a, b, c := <-ended, <-ended, <-ended; a != 10*time.Second || b != 10*time.Second || c != 20*time.Second {
			t.Errorf("three requests ended after %v, %v, %v; want 10, 10 and 20 s", a, b, c)
		}
		if got := testutil.ToFloat64(o.met.poolWait.WithLabelValues("workers")); got != 10 {
			t.Errorf("%v s were waited, want 10", got)
		}
	})
}

// TestAWorkerThatIsWaitedForInVainIsNobodys ends a request while it waits.
func TestAWorkerThatIsWaitedForInVainIsNobodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOutside(t, "workers:1")
		first, err := o.enter(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done, err := o.enter(ctx, false)
		if done(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second request: %v", err)
		}
		if len(o.workers) != 1 {
			t.Errorf("%d workers are taken, want the first's", len(o.workers))
		}
		first()
	})
}

// TestTheReplicaFallsBehind writes five posts at once, of one second each: who reads then waits for five seconds, who
// reads later for less, and the authors for their own.
func TestTheReplicaFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOutside(t, "replica:1s")
		start := time.Now()
		ended := make(chan time.Duration, 5)
		for range 5 {
			go func() {
				if err := o.posted(t.Context()); err != nil {
					t.Error(err)
				}
				ended <- time.Since(start)
			}()
		}
		synctest.Wait()
		done, err := o.enter(t.Context(), true)
		done()
		if d := time.Since(start); err != nil || d != 5*time.Second {
			t.Errorf("a read: %v after %v, want 5 s", err, d)
		}
		for range 5 { // each author waits for all that was written before it read
			if d := <-ended; d < time.Second || d > 5*time.Second {
				t.Errorf("an author was answered after %v", d)
			}
		}
		before := time.Now()
		if done, err := o.enter(t.Context(), true); err != nil || time.Since(before) != 0 {
			t.Errorf("a read of a replica that has all: %v after %v", err, time.Since(before))
		} else {
			done()
		}
		if done, err := o.enter(t.Context(), false); err != nil || time.Since(before) != 0 {
			t.Errorf("what is no read waited: %v", err)
		} else {
			done()
		}
	})
}

func TestJitterHasItsMean(t *testing.T) {
	o := testOutside(t, "jitter:20ms")
	sum, longest := time.Duration(0), time.Duration(0)
	for range 20000 {
		d := o.pause.next()
		sum += d
		longest = max(longest, d)
	}
	if mean := sum / 20000; mean < 19*time.Millisecond || mean > 21*time.Millisecond || longest < 100*time.Millisecond {
		t.Errorf("mean %v, longest %v", mean, longest)
	}
}

func TestLimitRefusesWhatIsBeyondTheRate(t *testing.T) {
	l := limitFault{rate: 10, handler: "createPost"}
	now := time.Unix(1e9, 0)
	taken := func(n int) (ok int) {
		for range n {
			if !l.refuses("createPost", now) {
				ok++
			}
		}
		return ok
	}
	if n := taken(50); n != 10 {
		t.Errorf("%d of 50 at once, want the burst of 10", n)
	}
	now = now.Add(500 * time.Millisecond)
	if n := taken(50); n != 5 {
		t.Errorf("%d after half a second, want 5", n)
	}
	now = now.Add(time.Minute)
	if n := taken(50); n != 10 {
		t.Errorf("%d after a minute, want no more than 10", n)
	}
	if l.refuses("getChannel", now) {
		t.Error("another handler was limited")
	}
	if (&limitFault{}).refuses("createPost", now) {
		t.Error("no limit refused")
	}
}

// TestNameServerAnswersOneAtATime resolves names at once and adds up the least waits.
func TestNameServerAnswersOneAtATime(t *testing.T) {
	var lc net.ListenConfig
	conn, err := lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := newNameServer(conn, 5*time.Millisecond)
	defer n.close()
	waits := make(chan time.Duration, 4)
	start := time.Now()
	for range 4 {
		go func() {
			if err := n.lookup(t.Context()); err != nil {
				t.Error(err)
			}
			waits <- time.Since(start)
		}()
	}
	var last time.Duration
	for range 4 {
		last = max(last, <-waits)
	}
	if last < 20*time.Millisecond { // a server cannot be faster than its own sleeps
		t.Errorf("the last of four answers came after %v, want 4 x 5 ms at least", last)
	}
}

// TestCallsShareTheirConnections makes six calls at once over two connections: HTTP/1.1 has one request at a time on
// each.
func TestCallsShareTheirConnections(t *testing.T) {
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newCalledService(ln, 2, 20*time.Millisecond)
	defer s.close()
	ended, waits := make(chan time.Duration, 6), make(chan time.Duration, 6)
	start := time.Now()
	for range 6 {
		go func() {
			waited, err := s.call(t.Context())
			if err != nil {
				t.Error(err)
			}
			waits <- waited
			ended <- time.Since(start)
		}()
	}
	var last, waited time.Duration
	for range 6 {
		last, waited = max(last, <-ended), max(waited, <-waits)
	}
	if last < 60*time.Millisecond { // three after each other, whose service sleeps
		t.Errorf("the last of six calls ended after %v, want 3 x 20 ms at least", last)
	}
	if waited <= 0 {
		t.Errorf("nobody waited for a connection: %v", waited)
	}
}

package probe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

// hostProbes returns all probes of this host, with two roles.
func hostProbes(b *testing.B) []Probe {
	me := func() []int { return []int{os.Getpid()} }
	roles := []Role{{Name: "app", PIDs: me}, {Name: "db", PIDs: me}}
	host, err := NewHost(HostOptions{})
	failure.None(b, err)
	self, err := NewSelf()
	failure.None(b, err)
	all := []Probe{host, NewProcesses(roles), NewCgroups(roles), self}
	if n, err := NewNIC("eth0"); err == nil {
		all = append(all, n)
	}
	return all
}

// BenchmarkProbes measures a sample of each probe; those of nginx and pprof with their server's
// side in this process, and pprof by the one of five samples that reads.
func BenchmarkProbes(b *testing.B) {
	stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(
			w,
			"Active connections: 291 \nserver accepts handled requests\n 16630948 16630948 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n",
		)
	}))
	defer stub.Close()
	nginx, err := NewNginx(stub.URL)
	failure.None(b, err)
	pprof, err := NewPprof(profiles(b, nil).URL + "/debug/pprof")
	failure.None(b, err)
	sample := func(p Probe) func(*testing.B) {
		return func(b *testing.B) {
			t := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				t = t.Add(time.Second)
				pprof.round = 0
				_, _ = p.Sample(b.Context(), t) // the host's sees that no tick has passed
			}
		}
	}
	for _, p := range append(hostProbes(b), nginx, pprof) {
		b.Run(fmt.Sprintf("%T", p), sample(p))
	}
	done := make(chan struct{})
	defer close(done)
	for range 10_000 {
		go func() { <-done }()
	}
	b.Run("pprof of 10,000 goroutines", sample(pprof))
}

// BenchmarkSecond measures the work of all probes of this host in one second, storing included.
func BenchmarkSecond(b *testing.B) {
	db, err := series.Create(b.TempDir())
	failure.None(b, err)
	defer db.Close()
	all := hostProbes(b)
	t, stored := time.Now(), 0
	b.ReportAllocs()
	for b.Loop() {
		t = t.Add(time.Second)
		stored = 0
		for _, p := range all {
			s, _ := p.Sample(b.Context(), t) // the host's sees that no tick has passed
			failure.None(b, db.Append(t, s))
			stored += len(s)
		}
	}
	b.ReportMetric(float64(stored), "samples")
}

// BenchmarkTurn measures the two ends of a turn on this host, with all counters of the host probe,
// and the parsing of their texts by a sample after ten turns.
func BenchmarkTurn(b *testing.B) {
	turns := newTurns(b, "")
	h, err := NewHost(HostOptions{Turns: turns})
	failure.None(b, err)
	defer h.Close()
	b.Run("ends", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			turns.Begin()
			turns.End()
			if n%100 == 0 {
				_, _ = h.Sample(b.Context(), t0)
			}
		}
	})
	b.Run("sample", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			for range 10 {
				turns.Begin()
				turns.End()
			}
			b.StartTimer()
			_, _ = h.Sample(b.Context(), t0)
		}
	})
}

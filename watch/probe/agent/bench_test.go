package agent

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// BenchmarkRemote is one sample of a host with one process tree and one device, both sides without
// their link; CPU-ms is the processor time of both.
func BenchmarkRemote(b *testing.B) {
	r := remote(reading(b, What{
		Role:      "app",
		NICs:      []string{"lo"},
		Processes: []Processes{{"app", []string{fmt.Sprint(os.Getpid())}}},
	}), "a run")
	failure.None(b, failure.Of(r.Sample(b.Context(), time.Now())))
	b.ReportAllocs()
	before := processor(b)
	n := 0
	for b.Loop() {
		got, err := r.Sample(b.Context(), time.Now())
		failure.None(b, err)
		n = len(got)
	}
	b.ReportMetric(float64((processor(b)-before).Microseconds())/1e3/float64(b.N), "CPU-ms/op")
	b.ReportMetric(float64(n), "samples")
}

func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	failure.None(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package agent

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRemote is one sample of a host with one process tree and one device, both sides, TLS and loopback
// included; CPU-ms is the processor time of both.
func BenchmarkRemote(b *testing.B) {
	cert, err := SelfMade()
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(Config{What: What{Role: "app", NICs: []string{"lo"}, Processes: []Processes{{"app", []string{fmt.Sprint(os.Getpid())}}}}, Token: geheim, Certificate: cert})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() { cancel(); <-done }()
	r, err := NewRemote(RemoteConfig{URL: "https://" + l.Addr().String(), Token: geheim, Fingerprint: s.Fingerprint(), Role: "app", Instance: "app-0"})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Sample(b.Context(), time.Now()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	before := processor(b)
	n := 0
	for b.Loop() {
		got, err := r.Sample(b.Context(), time.Now())
		if err != nil {
			b.Fatal(err)
		}
		n = len(got)
	}
	b.ReportMetric(float64((processor(b)-before).Microseconds())/1e3/float64(b.N), "CPU-ms/op")
	b.ReportMetric(float64(n), "samples")
}

// BenchmarkRead measures the generator's cost of reading a page besides TLS.
func BenchmarkRead(b *testing.B) {
	w, err := newWatch(What{Role: "app", NICs: []string{"lo"}, Processes: []Processes{{"app", []string{fmt.Sprint(os.Getpid())}}}})
	if err != nil {
		b.Fatal(err)
	}
	defer w.close()
	var p page
	if failed := w.sample(b.Context(), &p); len(failed) > 0 {
		b.Fatal(failed)
	}
	body := p.bytes()
	var r parser
	out, err := r.parse(body, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if out, err = r.parse(body, out[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(body)), "bytes")
}

func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package cgroup

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
	"plimsoll/target/lab/postgresql"
)

// BenchmarkPause pauses and continues a PostgreSQL with 50 busy sessions, by the means that this
// host has: the middle and the longest times of a pause and of a continuation.
func BenchmarkPause(b *testing.B) {
	var s lab.Stopper
	defer s.Close()
	b.Run("signals", func(b *testing.B) {
		server := busyServer(b)
		benchmarkPause(b, func(ctx context.Context) error {
			return s.Stop(ctx, server.PIDs())
		}, s.Continue)
	})
	if os.Geteuid() != 0 {
		b.Skip("control groups need root")
	}
	for version, root := range hierarchies(b) {
		b.Run("freezer"+version, func(b *testing.B) {
			g := group(b, root)
			server := busyServer(b) // ends before the group
			for _, pid := range server.PIDs() {
				failure.None(b, g.Add(pid))
			}
			benchmarkPause(b, g.Freeze, g.Thaw)
		})
	}
}

func benchmarkPause(b *testing.B, pause func(context.Context) error, resume func() error) {
	var pauses, resumes []time.Duration
	for b.Loop() {
		began := time.Now()
		failure.None(b, pause(b.Context()))
		paused := time.Now()
		time.Sleep(2 * time.Millisecond)
		again := time.Now()
		failure.None(b, resume())
		pauses, resumes = append(pauses, paused.Sub(began)), append(resumes, time.Since(again))
		time.Sleep(10 * time.Millisecond)
	}
	b.ReportMetric(0, "ns/op") // it holds the sleeps
	for name, all := range map[string][]time.Duration{"pause": pauses, "continue": resumes} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Nanoseconds())/1e3, name+"-p50-µs")
		b.ReportMetric(float64(all[len(all)*95/100].Nanoseconds())/1e3, name+"-p95-µs")
		b.ReportMetric(float64(all[len(all)-1].Nanoseconds())/1e3, name+"-max-µs")
	}
}

// busyServer starts a server with 50 sessions that compute.
func busyServer(b *testing.B) *postgresql.Server {
	ctx, cancel := context.WithCancel(b.Context())
	server, err := postgresql.Start(ctx, postgresql.Config{Dir: b.TempDir()})
	if err != nil {
		cancel()
		b.Fatal(err)
	}
	var sessions, ready sync.WaitGroup
	b.Cleanup(func() {
		cancel()
		sessions.Wait()
		failure.None(b, server.Stop(context.Background()))
	})
	for range 50 {
		ready.Add(1)
		sessions.Go(func() {
			conn, err := pgx.Connect(ctx, server.DSN("postgres"))
			ready.Done()
			if err != nil {
				b.Error(err)
				return
			}
			defer func() { _ = conn.Close(context.Background()) }()
			for ctx.Err() == nil {
				if _, err := conn.Exec(ctx, "SELECT sum(i) FROM generate_series(1, 1000) AS g (i)"); err != nil &&
					ctx.Err() == nil {
					b.Error(err)
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	ready.Wait()
	return server
}

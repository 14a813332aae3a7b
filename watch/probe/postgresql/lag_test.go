package postgresql_test

import (
	"context"
	"testing"
	"time"

	"plimsoll/internal/failure"
	server "plimsoll/target/lab/postgresql"
	"plimsoll/watch/probe"
	"plimsoll/watch/probe/postgresql"
)

var _ probe.Probe = (*postgresql.StandbyLag)(nil)

// TestLag: a standby that does not replay is behind by the time since the first write that it lacks, and by nothing
// when it has all.
func TestLag(t *testing.T) {
	ctx, s := start(t, server.ForStandbys())
	r, err := s.StartReplica(ctx, server.Config{Dir: t.TempDir()}, 0)
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, r.Stop(context.Background())) })
	p, err := postgresql.NewLag(s.DSN("postgres"), server.StandbyName(0), role...)
	failure.None(t, err)
	defer p.Close()
	began := time.Now()
	lag := func(second int) (seconds, bytes float64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		out, err := p.Sample(ctx, began.Add(time.Duration(second)*time.Second))
		if err != nil || len(out) != 2 || out[0].Name != "plimsoll_replication_lag_seconds" {
			t.Fatalf("%v, %v", out, err)
		}
		return out[0].Value, out[1].Value
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if seconds, bytes := lag(0); seconds == 0 && bytes == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the standby does not catch up")
		}
	}
	c, standby := connect(t, ctx, s.DSN("postgres")), connect(t, ctx, r.DSN("postgres"))
	exec(t, ctx, standby, "SELECT pg_wal_replay_pause()")
	exec(t, ctx, c, "CREATE TABLE x (i int)", "INSERT INTO x SELECT generate_series(1, 1000)")
	lag(10)
	if seconds, bytes := lag(15); seconds != 5 || bytes < 1000 {
		t.Errorf("5 s after the write the standby is behind by %v s and %v bytes", seconds, bytes)
	}
	failure.None(t, r.Stop(ctx))
	if seconds, _ := lag(17); seconds != 7 {
		t.Errorf("a standby that has ended is behind by %v s, want 7", seconds)
	}
	failure.None(t, r.Follow(ctx))
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if seconds, _ := lag(20); seconds < 2 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the lag does not end")
		}
	}
}

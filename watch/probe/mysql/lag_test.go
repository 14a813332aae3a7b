package mysql_test

import (
	"context"
	"testing"
	"time"

	"plimsoll/internal/failure"
	server "plimsoll/target/lab/mysql"
	"plimsoll/watch/probe"
	"plimsoll/watch/probe/mysql"
)

var _ probe.Probe = (*mysql.MirrorLag)(nil)

// TestLag: a mirror that repeats nothing is behind by the time since the first write that it lacks, also when it does
// not answer, and by nothing when it has all.
func TestLag(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	s, err := server.Start(ctx, server.Config{Dir: t.TempDir(), Settings: server.ForMirrors()})
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, s.Stop(context.Background())) })
	if d, err := s.Describe(ctx); err != nil || d.Name != "MariaDB" {
		return // which alone has mirrors
	}
	failure.None(t, s.CreateDatabase(ctx, "chat"))
	m, err := s.StartReplica(ctx, server.Config{Dir: t.TempDir()}, 0)
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, m.Stop(context.Background())) })
	p, err := mysql.NewLag(s.DSN("chat"), m.DSN("chat"), role...)
	failure.None(t, err)
	defer p.Close()
	began := time.Now()
	lag := func(second int) (seconds, transactions float64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		out, err := p.Sample(ctx, began.Add(time.Duration(second)*time.Second))
		if err != nil || len(out) != 2 || out[0].Name != "plimsoll_replication_lag_seconds" {
			t.Fatalf("%v, %v", out, err)
		}
		return out[0].Value, out[1].Value
	}
	caughtUp := func(second int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if seconds, n := lag(second); seconds == 0 && n == 0 {
				return
			}
			if time.Now().After(end) {
				t.Fatal("the mirror does not catch up")
			}
		}
	}
	caughtUp(0)
	c, mirror := connect(t, ctx, s.DSN("chat")), connect(t, ctx, m.DSN("chat"))
	exec(t, ctx, mirror, "STOP SLAVE SQL_THREAD")
	exec(t, ctx, c, "CREATE TABLE x (i int)", "INSERT INTO x VALUES (1)")
	lag(10)
	if seconds, n := lag(15); seconds != 5 || n != 2 {
		t.Errorf("5 s after the writes the mirror is behind by %v s and %v transactions, want 5 and 2", seconds, n)
	}
	exec(t, ctx, mirror, "START SLAVE SQL_THREAD")
	caughtUp(16)
	failure.None(t, m.Stop(ctx))
	exec(t, ctx, c, "INSERT INTO x VALUES (2)")
	lag(20)
	if seconds, n := lag(23); seconds != 3 || n != 1 {
		t.Errorf("3 s after its end the mirror is behind by %v s and %v transactions, want 3 and 1", seconds, n)
	}
}

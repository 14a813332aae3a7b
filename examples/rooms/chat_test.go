package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/script"
	"plimsoll/load/script/bundle"
	"plimsoll/load/workload"
)

// serveRooms starts the server of rooms and returns its URL.
func serveRooms(t *testing.T, args ...string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "chat")
	if out, err := exec.Command("go", "build", "-o", exe, "./server").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(exe, append(args, "-listen", addr)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if resp, err := http.Get("http://" + addr + "/health"); err == nil {
			resp.Body.Close()
			return "http://" + addr
		}
		if time.Now().After(end) {
			t.Fatal("the server does not answer within 20 s")
		}
	}
}

// TestChat has users follow chat.js at a server that loses every tenth delivery to others: the ledger
// finds how many that are, and the audit all messages.
func TestChat(t *testing.T) {
	t.Parallel()
	const users, each, lose = 12, 20, 10
	b, err := bundle.Read("chat.js")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	env := workload.Env{URL: serveRooms(t, "-lose", "10"), Seed: 3, Pace: 0.002, Timeout: 10 * time.Second,
		Params: map[string]string{"MEMBERS": "6"}, Clock: clock.New(time.Now()), Script: text,
		Registry: measure.NewRegistry(1), Ledger: workload.NewLedger(0, 1), Log: t.Logf}
	env.Ledger.UseClock(env.Clock)
	behavior := script.New()
	if err := behavior.Provision(t.Context(), env, users); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range users {
		u := workload.NewUser(i, i, env.Seed, env.Pace, env.Registry.Recorder(i), env.Clock)
		a, err := behavior.NewActor(env, u)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		wg.Go(func() {
			for range each {
				u.Schedule(u.Now())
				if err := a.Act(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}
			u.Flush()
		})
	}
	wg.Wait()
	count := env.Ledger.Count()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if now := env.Ledger.Count(); now == count && now.Seen > 0 {
			break // a server that is done
		}
		count = env.Ledger.Count()
	}
	env.Ledger.Settle(time.Now().Add(11 * time.Second))
	count = env.Ledger.Count()
	if count.Acked < users*each/2 || count.Judged != count.Acked || count.Duplicated != 0 ||
		count.Misordered != 0 || count.Foreign != 0 || count.Unanswered != 0 {
		t.Errorf("%+v", count)
	}
	if part := float64(count.Lost) / float64(count.Expected()); part < 0.9/lose || part > 1.1/lose {
		t.Errorf("%d of %d deliveries are lost; the server loses every %d-th", count.Lost, count.Expected(), lose)
	}
	acked, _ := env.Ledger.Messages()
	audit, err := behavior.Audit(t.Context(), env, acked)
	if err != nil || audit.Readable != int(count.Acked) || audit.Missing != 0 {
		t.Errorf("audit: %+v, %v", audit, err)
	}
	for _, w := range env.Registry.Cut() {
		if w.Errors() > 0 {
			t.Errorf("%s: %v", w.Name, w.ByClass())
		}
	}
}

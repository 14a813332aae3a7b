package sandbox

import (
	"os"
	"testing"
	"time"

	"plimsoll/target/lab"
	"plimsoll/target/lab/cgroup"
)

// TestPausable places a target that can be paused: its roles are frozen together, and their CPU
// times are counted apart. An ordinary one is counted where that changes nothing else.
func TestPausable(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("control groups need root")
		}
		t.Skip("control groups need root")
	}
	for _, pausable := range []bool{true, false} {
		h, err := New(t.Context(), Config{Pausable: pausable})
		if err != nil {
			t.Fatal(err)
		}
		if h.group == nil {
			if !pausable && !cgroup.Passive() {
				continue
			}
			t.Fatal("there is no group")
		}
		p := h.Placed("")
		var loops []*lab.Process
		if (p.Freezer != nil) != pausable {
			t.Errorf("pausable: %t; freezer: %v", pausable, p.Freezer)
		}
		for _, role := range []string{"app", "db"} {
			loop, err := lab.Start(t.Context(), lab.Spec{
				Path: "/bin/sh",
				Args: []string{"-c", "while :; do :; done"},
			})
			if err != nil {
				t.Fatal(err)
			}
			loops = append(loops, loop)
			defer func() { _ = loop.Kill() }()
			if err := p.Started(role, loop.PID()); err != nil {
				t.Fatal(err)
			}
		}
		used := func(role string) time.Duration {
			now, err := h.CPU(role)()
			if err != nil {
				t.Fatal(err)
			}
			return now.Total
		}
		limit := time.Now().Add(20 * time.Second)
		for used("app") == 0 || used("db") == 0 {
			if time.Now().After(limit) {
				t.Fatalf("app used %v, db %v", used("app"), used("db"))
			}
			time.Sleep(time.Millisecond)
		}
		if pausable {
			if err := p.Freezer.Freeze(t.Context()); err != nil {
				t.Fatal(err)
			}
			app, db := used("app"), used("db")
			time.Sleep(10 * time.Millisecond)
			if app, db = used("app")-app, used("db")-db; app > time.Millisecond ||
				db > time.Millisecond {
				t.Errorf("while frozen, app used %v, db %v", app, db)
			}
			if err := p.Freezer.Thaw(); err != nil {
				t.Fatal(err)
			}
		}
		app := used("app") // first: it goes on
		if got, err := h.group.CPUTime(); err != nil || got.Total < app {
			t.Errorf("the whole used %v of the app's %v, %v", got, app, err)
		}
		dirs := h.group.Dirs()
		for _, loop := range loops {
			if err := loop.Kill(); err != nil {
				t.Error(err)
			}
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, dir := range dirs {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		}
	}
}

// A quota of a target that takes turns has a short period, which holds 2 ms of CPU time at least.
func TestPeriodOfQuotas(t *testing.T) {
	for _, tt := range []struct {
		cores float64
		turns bool
		want  time.Duration
	}{
		{0.9, false, 100 * time.Millisecond}, {0.9, true, 10 * time.Millisecond}, {4, true, 10 * time.Millisecond},
		{0.1, true, 20 * time.Millisecond}, {0.01, true, 100 * time.Millisecond},
	} {
		if got := periodOf(tt.cores, tt.turns); got != tt.want {
			t.Errorf("%g cores, turns %t: %v, want %v", tt.cores, tt.turns, got, tt.want)
		}
	}
}

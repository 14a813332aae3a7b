package lab_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
)

func TestIdentity(t *testing.T) {
	// A name with spaces and parentheses breaks a careless reader of /proc/PID/stat.
	odd := filepath.Join(t.TempDir(), "a) R (b")
	failure.None(t, os.Symlink("/bin/sleep", odd))
	before := start(t, sleeper)
	p := start(t, lab.Spec{Path: odd, Args: []string{"300"}})
	after := start(t, sleeper)
	id := identify(t, p.PID())
	if id.Start < before.Identity().Start || id.Start > after.Identity().Start {
		t.Errorf(
			"start time %d is not between those of its neighbors, %d and %d",
			id.Start,
			before.Identity().Start,
			after.Identity().Start,
		)
	}
	if id != p.Identity() || id.PID != p.PID() || id.Start == 0 || len(id.Boot) != 36 {
		t.Errorf("identity %+v of the process, want %+v", id, p.Identity())
	}
	if !id.Alive() {
		t.Error("a running process is not alive")
	}
	stranger := id
	stranger.Start--
	if stranger.Alive() {
		t.Error("a process with another start time is alive")
	}
	stranger = id
	stranger.Boot = strings.Repeat("0", 36)
	if stranger.Alive() {
		t.Error("a process of another boot is alive")
	}
	failure.None(t, p.Kill())
	if id.Alive() {
		t.Error("a killed process is alive")
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	// The shell has become sleep when its child ends, and sleep never collects it.
	p := start(t, shell("sleep 0.5 & echo $!; exec sleep 300"))
	var pid int
	failure.Unless(t, func() bool {
		_, err := fmt.Sscan(p.Tail(), &pid)
		return err == nil && state(pid) == "Z"
	}, "there is no zombie")
	if identify(t, pid).Alive() {
		t.Error("a zombie is alive")
	}
}

func TestTerminate(t *testing.T) {
	for _, script := range []string{"exec sleep 300", "trap '' TERM; echo set; while :; do sleep 300; done"} {
		p := start(t, shell(script))
		id := p.Identity()
		stranger := id
		stranger.Start++
		failure.None(t, stranger.Terminate(t.Context(), syscall.SIGKILL, time.Second))
		if !id.Alive() {
			t.Fatal("a stranger with the same pid was killed")
		}
		failure.None(t, id.Terminate(t.Context(), syscall.SIGTERM, 200*time.Millisecond))
		waitDone(t, p)
	}
}

// TestSweep writes the journal that a crashed program would leave: one process that still runs, one
// that ended in order, one whose pid belongs to another process now, and a line cut short.
func TestSweep(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "sub", "journal")
	ended := start(t, lab.Spec{Name: "ended", Path: "/bin/true", Journal: journal})
	waitDone(t, ended)
	left := start(t, lab.Spec{Name: "left", Path: "/bin/sleep", Args: []string{"300"}})
	bystander := start(t, lab.Spec{Name: "bystander", Path: "/bin/sleep", Args: []string{"300"}})
	f, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	failure.None(t, err)
	id, owner := left.Identity(), ended.Identity() // a program that is gone
	fmt.Fprintf(
		f,
		`{"name":"left","pid":%d,"start":%d,"boot":%q,"owner":{"pid":%d,"start":%d,"boot":%q}}`+"\n",
		id.PID,
		id.Start,
		id.Boot,
		owner.PID,
		owner.Start,
		owner.Boot,
	)
	id = bystander.Identity()
	fmt.Fprintf(
		f,
		`{"name":"reused","pid":%d,"start":%d,"boot":%q}`+"\n",
		id.PID,
		id.Start-1,
		id.Boot,
	)
	fmt.Fprint(f, `{"name":"cut","pid":`)
	failure.None(t, f.Close())
	swept, err := lab.Sweep(t.Context(), journal, 2*time.Second)
	failure.None(t, err)
	if len(swept) != 1 || swept[0].Name != "left" || swept[0].Identity != left.Identity() {
		t.Errorf("swept %v, want the process left over", swept)
	}
	waitDone(t, left)
	if !bystander.Identity().Alive() {
		t.Error("a bystander was killed")
	}
	if swept, err := lab.Sweep(t.Context(), filepath.Join(t.TempDir(), "none"), time.Second); err != nil ||
		len(swept) != 0 {
		t.Errorf("without a journal: %v, %v", swept, err)
	}
}

// TestSweepKeepsOffTheLiving sweeps a journal whose owner, this program, runs.
func TestSweepKeepsOffTheLiving(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	p := start(t, lab.Spec{
		Name:    "mine",
		Path:    "/bin/sleep",
		Args:    []string{"300"},
		Journal: journal,
	})
	_, err := lab.Sweep(t.Context(), journal, time.Second)
	if !errors.Is(err, lab.ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("Sweep() = %v, want ErrInUse and this program's pid", err)
	}
	if !p.Identity().Alive() {
		t.Error("the process was ended")
	}
}

func TestParseSignal(t *testing.T) {
	for name, want := range map[string]os.Signal{
		"":       nil,
		"SIGINT": syscall.SIGINT,
		"TERM":   syscall.SIGTERM,
	} {
		if got, err := lab.ParseSignal(name); err != nil || got != want {
			t.Errorf("ParseSignal(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	if _, err := lab.ParseSignal("SIGMUND"); err == nil {
		t.Error("an unknown signal was accepted")
	}
}

func TestRun(t *testing.T) {
	failure.None(t, lab.Run(t.Context(), lab.Spec{Path: "/bin/true"}))
	err := lab.Run(t.Context(), lab.Spec{
		Name: "it",
		Path: "/bin/sh",
		Args: []string{"-c", "echo why; exit 2"},
	})
	failure.Says(t, err, "it ended: exit status 2", "why")
}

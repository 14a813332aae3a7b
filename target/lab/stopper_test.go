package lab_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
)

// state returns the state letter of a process; "" when it is gone.
func state(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))[0]
}

// halted reports whether a process is stopped. One in state D waits for a child that was stopped before exec.
func halted(pid int) bool { return state(pid) == "T" || state(pid) == "D" }

// becomes waits until a process is stopped, or until it is not.
func becomes(t *testing.T, pid int, stopped bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); halted(pid) != stopped; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("process %d is in state %q; want it stopped: %t", pid, state(pid), stopped)
		}
	}
}

// family starts a shell with a child in its group and another in a session of its own, and returns the three, the
// shell first.
func family(t *testing.T) (p *lab.Process, pids [3]int) {
	t.Helper()
	r, w, err := os.Pipe()
	failure.None(t, err)
	defer r.Close()
	p = start(t, lab.Spec{Path: "/bin/sh", Args: []string{"-c", familyScript}, Stdout: w})
	w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	failure.None(t, err)
	if _, err := fmt.Sscan(line, &pids[0], &pids[1], &pids[2]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pids[2], syscall.SIGKILL) }) // no process group of ours holds it
	return p, pids
}

// The third line ends when its session exists, whose leader it is.
const familyScript = `(while :; do :; done) & a=$!
setsid sh -c 'while :; do sleep 0.01; done' & b=$!
while [ "$(ps -o sid= -p $b | tr -d ' ')" != "$b" ]; do sleep 0.01; done
echo $$ $a $b
wait`

func TestStopper(t *testing.T) {
	p, pids := family(t)
	var s lab.Stopper
	defer s.Close()
	for range 5 {
		failure.None(t, s.Stop(t.Context(), []int{p.PID()}))
		for _, pid := range pids {
			if !halted(pid) {
				t.Errorf("after Stop process %d of %v is in state %q", pid, pids, state(pid))
			}
		}
		failure.None(t, s.Continue())
		for _, pid := range pids {
			becomes(t, pid, false)
		}
	}
	// The context ends before all are stopped: all go on.
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if err := s.Stop(ctx, []int{p.PID()}); err != nil && !errors.Is(err, over) {
		t.Errorf("Stop() = %v, want the cause of the context", err)
	} else if err != nil {
		for _, pid := range pids {
			becomes(t, pid, false)
		}
	}
	failure.None(t, s.Continue())
	failure.None(t, p.Kill())
	if err := s.Stop(t.Context(), []int{p.PID()}); err != nil {
		t.Errorf("stopping a process that has ended: %v", err)
	}
}

// stopping is the program that TestKilledWhileStopped kills.
func stopping() {
	p, err := lab.Start(context.Background(), lab.Spec{Path: "/bin/sh", Args: []string{"-c", familyScript}, Stdout: os.Stdout, Quit: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var s lab.Stopper
	if err := s.Stop(context.Background(), []int{p.PID()}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("stopped")
	select {}
}

// TestKilledWhileStopped kills a program whose child is stopped, with a child of that child in a session of its own,
// as a database server has them: the guard ends those that it ends otherwise, and lets the other go on, so that it can
// notice the end of its parent.
func TestKilledWhileStopped(t *testing.T) {
	in, order, err := os.Pipe()
	failure.None(t, err)
	defer order.Close()
	out, w, err := os.Pipe()
	failure.None(t, err)
	defer out.Close()
	p := start(t, lab.Spec{Path: os.Args[0], Env: append(os.Environ(), "LAB_TEST_STOPPING=yes"), Stdin: in, Stdout: w, Stderr: w})
	w.Close()
	in.Close()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	failure.None(t, err)
	var ids [3]lab.Identity
	for i, f := range strings.Fields(line) {
		pid, err := strconv.Atoi(f)
		if err != nil || i > 2 {
			t.Fatalf("the program printed %q", line)
		}
		ids[i] = identify(t, pid)
	}
	stranger := ids[2].PID
	t.Cleanup(func() { _ = syscall.Kill(stranger, syscall.SIGKILL) })
	if _, err := order.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); err != nil || line != "stopped\n" {
		t.Fatalf("the program printed %q, %v", line, err)
	}
	for _, id := range ids {
		becomes(t, id.PID, true)
	}
	failure.None(t, p.Signal(syscall.SIGKILL))
	waitDone(t, p)
	gone(t, ids[0], ids[1])
	becomes(t, stranger, false)
	if state(stranger) == "" {
		t.Error("the process in a session of its own has ended: the test shows nothing")
	}
}

// TestTerminateStopped ends a process that is stopped, with time to do what it does at its stop signal.
func TestTerminateStopped(t *testing.T) {
	file := t.TempDir() + "/ended"
	r, w, err := os.Pipe()
	failure.None(t, err)
	defer r.Close()
	p := start(t, lab.Spec{Path: "/bin/sh", Args: []string{"-c", `trap 'echo >"$0"; exit' TERM; echo; while :; do sleep 0.01; done`, file}, Stdout: w})
	w.Close()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var s lab.Stopper
	defer s.Close()
	failure.None(t, s.Stop(t.Context(), []int{p.PID()}))
	failure.None(t, p.Identity().Terminate(t.Context(), syscall.SIGTERM, 20*time.Second))
	waitDone(t, p)
	if _, err := os.Stat(file); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
}

package lab_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
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

// halted reports whether a process is stopped. One in state D waits for a child that was stopped
// before exec.
func halted(pid int) bool { return state(pid) == "T" || state(pid) == "D" }

// becomes waits until a process is stopped, or until it is not.
func becomes(t *testing.T, pid int, stopped bool) {
	t.Helper()
	failure.Unless(t, func() bool {
		return halted(pid) == stopped
	}, "process ", pid, " does not become stopped: ", stopped)
}

// family starts a shell with a child in its group and another in a session of its own, and returns
// the three, the shell first.
func family(t *testing.T) (p *lab.Process, pids [3]int) {
	t.Helper()
	p, out := talker(t, shell(familyScript))
	failure.None(t, failure.Of(fmt.Fscan(out, &pids[0], &pids[1], &pids[2])))
	// no process group of ours holds it
	t.Cleanup(func() { _ = syscall.Kill(pids[2], syscall.SIGKILL) })
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
	failure.None(t, s.Stop(t.Context(), []int{p.PID()}))
}

// stopping is the program that TestKilledWhileStopped kills.
func stopping() {
	spec := shell(familyScript)
	spec.Stdout, spec.Quit = os.Stdout, true
	p, err := lab.Start(context.Background(), spec)
	must(err)
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	must(err)
	var s lab.Stopper
	must(s.Stop(context.Background(), []int{p.PID()}))
	fmt.Println("stopped")
	select {}
}

// TestKilledWhileStopped kills a program whose child is stopped, with a child of that child in a
// session of its own, as a database server has them: the guard ends those that it ends otherwise,
// and lets the other go on, so that it can notice the end of its parent.
func TestKilledWhileStopped(t *testing.T) {
	in, order, err := os.Pipe()
	failure.None(t, err)
	defer order.Close()
	p, out := talker(t, lab.Spec{
		Path:  os.Args[0],
		Env:   append(os.Environ(), "LAB_TEST_STOPPING=yes"),
		Stdin: in,
	})
	in.Close()
	var ids [3]lab.Identity
	for i := range ids {
		var pid int
		failure.None(t, failure.Of(fmt.Fscan(out, &pid)))
		ids[i] = identify(t, pid)
	}
	failure.None(t, failure.Of(out.ReadString('\n')))
	stranger := ids[2].PID
	t.Cleanup(func() { _ = syscall.Kill(stranger, syscall.SIGKILL) })
	failure.None(t, failure.Of(order.WriteString("\n")))
	if line, err := out.ReadString('\n'); err != nil || line != "stopped\n" {
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

// TestTerminateStopped ends a process that is stopped, with time to do what it does at its stop
// signal.
func TestTerminateStopped(t *testing.T) {
	file := t.TempDir() + "/ended"
	spec := shell(`trap 'echo >"$0"; exit' TERM; echo; while :; do sleep 0.01; done`)
	spec.Args = append(spec.Args, file)
	p, out := talker(t, spec)
	failure.None(t, failure.Of(out.ReadString('\n')))
	var s lab.Stopper
	defer s.Close()
	failure.None(t, s.Stop(t.Context(), []int{p.PID()}))
	failure.None(t, p.Identity().Terminate(t.Context(), syscall.SIGTERM, 20*time.Second))
	waitDone(t, p)
	failure.None(t, failure.Of(os.Stat(file)))
}

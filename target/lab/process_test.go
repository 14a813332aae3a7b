package lab_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
)

// TestMain lets the test binary play the program that is killed: see TestKilledParent.
func TestMain(m *testing.M) {
	if journal := os.Getenv("LAB_TEST_PARENT"); journal != "" {
		parent(journal)
		return
	}
	if state := os.Getenv("LAB_TEST_IMAGE"); state != "" {
		mounting(state)
		return
	}
	if os.Getenv("LAB_TEST_STOPPING") != "" {
		stopping()
		return
	}
	if os.Getenv(offMainEnv) != "" {
		os.Exit(offMain())
	}
	os.Exit(m.Run())
}

// must ends a program that the test binary plays unless err is nil.
func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// parent starts a child with a grandchild, prints the pids, and waits to be killed.
func parent(journal string) {
	spec := shell("trap '' TERM; sleep 300 & echo $$ $!; wait")
	spec.Name = "holder"
	spec.Journal = journal
	spec.Stdout = os.Stdout
	p, err := lab.Start(context.Background(), spec)
	must(err)
	<-p.Done()
}

func start(t *testing.T, spec lab.Spec) *lab.Process {
	t.Helper()
	p, err := lab.Start(t.Context(), spec)
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, p.Kill()) })
	return p
}

// shell returns the Spec of a shell that runs a script.
func shell(script string) lab.Spec {
	return lab.Spec{Path: "/bin/sh", Args: []string{"-c", script}}
}

// sleeper is a child that does nothing.
var sleeper = lab.Spec{Path: "/bin/sleep", Args: []string{"300"}}

// talker starts a child whose standard output is read here.
func talker(t *testing.T, spec lab.Spec) (*lab.Process, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	failure.None(t, err)
	t.Cleanup(func() { r.Close() })
	spec.Stdout = w
	p := start(t, spec)
	w.Close()
	return p, bufio.NewReader(r)
}

func waitDone(t *testing.T, p *lab.Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the process does not end")
	}
}

// gone waits until none of the processes exists.
func gone(t *testing.T, ids ...lab.Identity) {
	t.Helper()
	for _, id := range ids {
		failure.Unless(t, func() bool { return !id.Alive() }, id, " survived")
	}
}

func identify(t *testing.T, pid int) lab.Identity {
	t.Helper()
	id, err := lab.Identify(pid)
	failure.None(t, err)
	return id
}

func TestOutputAndStatus(t *testing.T) {
	spec := shell("echo out; echo err >&2; exit 3")
	spec.Name = "talker"
	p := start(t, spec)
	waitDone(t, p)
	failure.Says(t, p.Err(), "talker ended: exit status 3")
	if got := p.Tail(); !strings.Contains(got, "out\n") || !strings.Contains(got, "err\n") {
		t.Errorf("Tail() = %q, want both outputs", got)
	}
	failure.None(t, p.Stop(t.Context()))
}

func TestTailIsBounded(t *testing.T) {
	p := start(t, shell("i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done"))
	waitDone(t, p)
	if got := p.Tail(); len(got) > 16<<10 || !strings.HasSuffix(got, "line 4999\n") {
		t.Errorf("Tail() has %d bytes and ends with %q", len(got), got[max(0, len(got)-20):])
	}
}

func TestTailOfLogFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	failure.None(t, err)
	defer f.Close()
	spec := shell("echo in file")
	spec.Stdout, spec.Stderr = f, f
	p := start(t, spec)
	waitDone(t, p)
	if got := p.Tail(); got != "in file\n" {
		t.Errorf("Tail() = %q", got)
	}
}

func TestStop(t *testing.T) {
	tests := []struct{ name, script string }{
		{"obedient", "sleep 300 & echo $!; wait"},
		{"deaf", "trap '' TERM; sleep 300 & echo $!; wait; wait; sleep 300"},
		{"leader leaves its group behind", "sleep 300 & echo $!; exit 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := shell(tt.script)
			spec.StopTimeout = 200 * time.Millisecond
			p, out := talker(t, spec)
			var pid int
			failure.None(t, failure.Of(fmt.Fscan(out, &pid)))
			// may be gone already when its leader left at once
			grandchild, identErr := lab.Identify(pid)
			failure.None(t, p.Stop(t.Context()))
			if p.Err() != nil {
				t.Errorf("Err() after Stop = %v, want nil", p.Err())
			}
			if identErr == nil {
				gone(t, grandchild)
			}
			gone(t, p.Identity())
		})
	}
}

// TestStopBy stops a child by the end of another process, and by a signal of its own when that does
// not end.
func TestStopBy(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{
			"ends with the other",
			"sleep 300 & echo $!; wait; echo saw its end; exit 3",
			"saw its end\n",
		},
		{
			"the other is deaf",
			"trap 'echo asked; exit 3' TERM; sh -c 'trap \"\" TERM; echo $$; exec sleep 300' & wait",
			"asked\n",
		},
		{
			"the other is gone",
			"trap 'echo asked; exit 3' TERM; true & echo $!; wait; sleep 300 & wait",
			"asked\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := shell(tt.script)
			spec.StopTimeout = time.Second
			p, out := talker(t, spec)
			var pid int
			failure.None(t, failure.Of(fmt.Fscanln(out, &pid)))
			other, err := lab.Identify(pid)
			if tt.name == "the other is gone" {
				gone(t, other)
			} else {
				failure.None(t, err)
			}
			failure.None(t, p.StopBy(t.Context(), other))
			if p.Err() != nil {
				t.Errorf("Err() after StopBy = %v, want nil", p.Err())
			}
			if rest, err := io.ReadAll(out); err != nil || string(rest) != tt.want {
				t.Errorf("the child said %q, %v; want %q", rest, err, tt.want)
			}
			gone(t, other, p.Identity())
		})
	}
}

func TestStopWithEndedContextKillsAtOnce(t *testing.T) {
	spec := shell("trap '' TERM; sleep 300")
	spec.StopTimeout = time.Hour
	p := start(t, spec)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failure.None(t, p.Stop(ctx))
	gone(t, p.Identity())
}

func TestStartErrors(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		spec lab.Spec
		err  string
	}{
		{"nothing to start", t.Context(), lab.Spec{}, "needs a program"},
		{"no such program", t.Context(), lab.Spec{
			Name: "ghost",
			Path: "/no/such/program",
		}, "starting ghost: "},
		{"no such CPU", t.Context(), lab.Spec{
			Path: "/bin/true",
			CPUs: []int{1000},
		}, "none of the CPUs [1000]"},
		{"empty placement", t.Context(), lab.Spec{
			Path: "/bin/true",
			CPUs: []int{},
		}, "list of CPUs is empty"},
		{"ended context", canceled, lab.Spec{Path: "/bin/true"}, "context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := lab.Start(tt.ctx, tt.spec)
			if err == nil {
				_ = p.Kill()
			}
			failure.Says(t, err, tt.err)
		})
	}
}

// startParent starts this test binary as a program with a child and a grandchild, and returns it
// and them.
func startParent(t *testing.T, journal string) (*exec.Cmd, [2]lab.Identity) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LAB_TEST_PARENT="+journal)
	out, err := cmd.StdoutPipe()
	failure.None(t, err)
	failure.None(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var child, grandchild int
	failure.None(t, failure.Of(fmt.Fscan(out, &child, &grandchild)))
	return cmd, [2]lab.Identity{identify(t, child), identify(t, grandchild)}
}

// TestKilledParent kills a program with SIGKILL and expects its child and its grandchild to be
// gone. The child ignores SIGTERM.
func TestKilledParent(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "state", "journal")
	cmd, ids := startParent(t, journal)
	failure.Unless(t, func() bool {
		left, err := lab.Leftovers(journal)
		return err == nil && len(left) == 1 && left[0].Name == "holder" &&
			left[0].Identity == ids[0]
	}, "the journal does not know the child")
	failure.None(t, cmd.Process.Kill())
	gone(t, ids[:]...)
	_ = cmd.Wait()
	if left, err := lab.Leftovers(journal); err != nil || len(left) != 0 {
		t.Errorf("leftovers = %v, %v, want none", left, err)
	}
}

func TestPlacement(t *testing.T) {
	all, err := lab.AllowedCPUs(0)
	failure.None(t, err)
	want := all[len(all)-1:]
	// The child reports its own affinity as its first act, and that of a grandchild.
	script := "grep Cpus_allowed_list /proc/$$/status; sh -c 'grep Cpus_allowed_list /proc/$$/status'"
	spec := shell(script)
	spec.CPUs = want
	p := start(t, spec)
	waitDone(t, p)
	line := fmt.Sprintf("Cpus_allowed_list:\t%d\n", want[0])
	if got := p.Tail(); got != line+line {
		t.Errorf("affinity of the child:\n%swant twice\n%s", got, line)
	}
	p = start(t, sleeper)
	if got, err := lab.AllowedCPUs(p.PID()); err != nil || !slices.Equal(got, all) {
		t.Errorf("a child started later without placement may use %v (%v), want %v", got, err, all)
	}
}

func TestPinSelf(t *testing.T) {
	all, err := lab.AllowedCPUs(0)
	failure.None(t, err)
	defer func() { failure.None(t, lab.PinSelf(all)) }()
	failure.None(t, lab.PinSelf(all[:1]))
	tasks, err := os.ReadDir("/proc/self/task")
	failure.None(t, err)
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		failure.None(t, err)
		if got, err := lab.AllowedCPUs(tid); err == nil && !slices.Equal(got, all[:1]) {
			t.Errorf("thread %d may use %v, want %v", tid, got, all[:1])
		}
	}
	failure.Says(t, lab.PinSelf([]int{4095}), "no CPU 4095")
}

// TestChildOutlivesTheThreadOfItsCaller ends the thread on which Start was called: a parent-death
// signal tied to it would kill the child.
func TestChildOutlivesTheThreadOfItsCaller(t *testing.T) {
	type result struct {
		p   *lab.Process
		tid int
		err error
	}
	done := make(chan result)
	var start func()
	start = func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if syscall.Gettid() == syscall.Getpid() {
			// The first thread of a program never ends: Go parks it. While this goroutine holds it,
			// the next one runs on another.
			next := make(chan struct{})
			go func() {
				defer close(next)
				start()
			}()
			<-next
			runtime.UnlockOSThread()
			return
		}
		p, err := lab.Start(context.Background(), sleeper)
		done <- result{p, syscall.Gettid(), err}
	}
	go start()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	defer func() { failure.None(t, r.p.Kill()) }()
	failure.Unless(t, func() bool {
		return failure.Of(os.Stat(fmt.Sprintf("/proc/self/task/%d", r.tid))) != nil
	}, "the thread does not end")
	time.Sleep(50 * time.Millisecond) // a wrong signal would be on its way
	if !r.p.Identity().Alive() {
		t.Error("the child died with the thread on which Start was called")
	}
}

// TestKilledParentAndGuard kills the guard first: the parent-death signal alone must end the child.
func TestKilledParentAndGuard(t *testing.T) {
	cmd, ids := startParent(t, filepath.Join(t.TempDir(), "journal"))
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	failure.None(t, err)
	guards := 0
	for _, name := range procs {
		b, _ := os.ReadFile(name)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(cmd.Process.Pid) ||
			!strings.Contains(string(b), "while read") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		failure.None(t, err)
		guards++
		failure.None(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	if guards != 1 {
		t.Errorf("found %d guards of the helper, want 1", guards)
	}
	failure.None(t, cmd.Process.Kill())
	gone(t, ids[0])
	// the grandchild, which only the guard would have reached
	_ = syscall.Kill(-ids[0].PID, syscall.SIGKILL)
	gone(t, ids[1])
	_ = cmd.Wait()
}

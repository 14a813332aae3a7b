package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
)

// capable skips where namespaces cannot be made, and fails under CI, where they can.
func capable(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		failure.Lacks(t, "network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		failure.Lacks(t, "network namespaces need ip, of iproute2")
	}
}

func create(t *testing.T, role string) *Namespace {
	t.Helper()
	n, err := Create(t.Context(), role)
	failure.None(t, err)
	t.Cleanup(func() {
		if err := n.Delete(context.Background()); err != nil && !errors.Is(err, os.ErrNotExist) {
			if _, there := os.Stat(n.Path()); there == nil {
				t.Error(err)
			}
		}
	})
	return n
}

// TestWire sends bytes between two namespaces, of which the host's own network has no device.
func TestWire(t *testing.T) {
	capable(t)
	a, b := create(t, "a"), create(t, "b")
	failure.None(
		t,
		Wire(t.Context(), End{a, "to-b", "198.18.77.1/24"}, End{b, "to-a", "198.18.77.2/24"}),
	)
	server, err := lab.Start(t.Context(), lab.Spec{
		Path: "/bin/sh", Args: []string{"-c", `cat /proc/net/dev; sleep 10`}, NetNS: b.Path(),
	})
	failure.None(t, err)
	defer func() { _ = server.Kill() }()
	failure.Unless(t, func() bool {
		return strings.Contains(server.Tail(), "to-a")
	}, "the child does not see its device")
	if strings.Contains(server.Tail(), "to-b") {
		t.Error("a child sees a device of another namespace")
	}
	if out, err := b.Output(t.Context(), "/bin/sh", "-c", "cat /proc/net/dev"); err != nil ||
		!strings.Contains(out, "to-a") {
		t.Errorf("Output: %q, %v", out, err)
	}
	failure.Says(t, failure.Of(a.Dial(t.Context(), "tcp", "198.18.77.2:9")), "refused")
	if host, err := os.ReadFile("/proc/net/dev"); err != nil ||
		strings.Contains(string(host), "to-a") {
		t.Errorf("this program sees the device, or nothing: %v", err)
	}
	// A child that is started afterwards is where this program is.
	out, err := exec.Command("cat", "/proc/net/dev").Output()
	if err != nil || strings.Contains(string(out), "to-a") {
		t.Errorf("a later child is in the namespace: %v", err)
	}
	var sb strings.Builder
	if err := lab.Run(t.Context(), lab.Spec{
		Path:   "cat",
		Args:   []string{"/proc/net/dev"},
		Stdout: &sb,
	}); err != nil || strings.Contains(sb.String(), "to-a") {
		t.Errorf("a later child of lab is in the namespace: %v", err)
	}
}

// enterOften enters a namespace from the main goroutine and from several at once, and ends with 1
// unless every call was in it and the program as a whole, which is its main thread, stayed where it
// was.
func enterOften(path string) int {
	n := &Namespace{path: path}
	before, err1 := os.Readlink("/proc/self/ns/net")
	there := ""
	err2 := n.Do(func() (err error) {
		there, err = os.Readlink("/proc/thread-self/ns/net")
		return err
	})
	if err1 != nil || err2 != nil || there == before {
		fmt.Println("entering", there, "from", before, err1, err2)
		return 1
	}
	call := func() error {
		return n.Do(func() error {
			if in, err := os.Readlink("/proc/thread-self/ns/net"); err != nil || in != there {
				return fmt.Errorf("a call was in %s: %w", in, err)
			}
			return nil
		})
	}
	errs := make([]error, 9)
	for range 50 {
		errs[8] = errors.Join(errs[8], call())
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				errs[i] = errors.Join(errs[i], call())
			}
		})
	}
	all.Wait()
	if after, err := os.Readlink("/proc/self/ns/net"); err != nil || after != before ||
		errors.Join(errs...) != nil {
		fmt.Println("the program was in", before, "and is in", after, err, errors.Join(errs...))
		return 1
	}
	return 0
}

// TestDoLeavesTheProgram: entering a namespace moves one thread, never the main one, which is what
// /proc/net shows.
func TestDoLeavesTheProgram(t *testing.T) {
	capable(t)
	n := create(t, "do")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NETNS_TEST_DO="+n.Path())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSetIsTheNamespacesOwn(t *testing.T) {
	capable(t)
	n := create(t, "set")
	before, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	failure.None(t, err)
	failure.None(t, n.Set(t.Context(), "net.core.somaxconn", "3"))
	if out, err := n.Output(t.Context(), "cat", "/proc/sys/net/core/somaxconn"); err != nil ||
		strings.TrimSpace(out) != "3" {
		t.Errorf("inside %q, %v", out, err)
	}
	if after, _ := os.ReadFile("/proc/sys/net/core/somaxconn"); string(after) != string(before) {
		t.Errorf("the host's own setting went from %s to %s", before, after)
	}
	if err := n.Set(t.Context(), "net.core.nonsense", "3"); err == nil {
		t.Error("a setting that is not there was set")
	}
}

// TestSweep checks that networks of an ended program are removed, and those of a running one are
// not.
func TestSweep(t *testing.T) {
	capable(t)
	mine := create(t, "mine")
	dead := exec.Command("true")
	failure.None(t, dead.Start())
	id, err := lab.Identify(dead.Process.Pid)
	failure.None(t, err)
	_ = dead.Wait()
	left := &Namespace{
		name: strings.Replace(
			mine.name,
			mark(t),
			"plimsoll-"+strconv.Itoa(id.PID)+"-"+strconv.FormatUint(id.Start, 10),
			1,
		),
	}
	failure.None(t, ip(t.Context(), "netns", "add", left.name))
	gone, err := Sweep(t.Context())
	failure.None(t, err)
	found := false
	for _, g := range gone {
		found = found || g == left.name
		if g == mine.name {
			t.Error("a namespace of a program that runs was removed")
		}
	}
	if !found {
		t.Errorf("swept %v, want %s", gone, left.name)
	}
	failure.Gone(t, left.Path())
	failure.None(t, failure.Of(os.Stat(mine.Path())))
}

func TestNoSuchNamespace(t *testing.T) {
	capable(t)
	_, err := lab.Start(t.Context(), lab.Spec{
		Path:   "true",
		NetNS:  "/run/netns/plimsoll-none",
		Stdout: io.Discard,
		Stderr: io.Discard,
	})
	failure.Says(t, err, "plimsoll-none")
	failure.None(t, lab.Run(t.Context(), lab.Spec{Path: "true"}))
}

func mark(t *testing.T) string {
	t.Helper()
	m, err := lab.Mark()
	failure.None(t, err)
	return m
}

// TestKilledProgram kills a program that made a namespace and a control group with a process in it,
// and expects the guard to have removed both soon, without a later program.
func TestKilledProgram(t *testing.T) {
	capable(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProgramItself$")
	cmd.Env = append(os.Environ(), "NETNS_TEST_VICTIM=1")
	out, err := cmd.StdoutPipe()
	failure.None(t, err)
	failure.None(t, cmd.Start())
	var paths [2]string
	failure.None(t, failure.Of(fmt.Fscan(out, &paths[0], &paths[1])))
	for _, p := range paths {
		failure.None(t, failure.Of(os.Stat(p)))
	}
	failure.None(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, p := range paths {
		failure.Unless(t, func() bool {
			return errors.Is(failure.Of(os.Stat(p)), os.ErrNotExist)
		}, p, " is left")
	}
}

// TestKilledProgramItself is the program that is killed.
func TestKilledProgramItself(t *testing.T) {
	if os.Getenv("NETNS_TEST_VICTIM") == "" {
		return // it has nothing to test by itself
	}
	n, err := Create(t.Context(), "victim")
	failure.None(t, err)
	mark, err := lab.Mark()
	failure.None(t, err)
	group := "/sys/fs/cgroup/cpu/" + mark + "-victim"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group = "/sys/fs/cgroup/" + mark + "-victim"
	}
	failure.None(t, failure.Of(lab.UndoCgroup(mark+"-victim")))
	failure.None(t, os.MkdirAll(group+"/inner", 0o755))
	p, err := lab.Start(t.Context(), lab.Spec{
		Path:  "/bin/sleep",
		Args:  []string{"60"},
		NetNS: n.Path(),
	})
	failure.None(t, err)
	failure.None(t, os.WriteFile(group+"/inner/cgroup.procs", []byte(strconv.Itoa(p.PID())), 0))
	fmt.Println(n.Path(), group)
	<-p.Done()
}

// TestUndoKnowsItsOwn: nothing but names of this program reaches the guard's shell.
func TestUndoKnowsItsOwn(t *testing.T) {
	for _, name := range []string{"", "plimsoll-1-1-x", mark(t), mark(t) + "-a b", mark(t) + "-../x", mark(t) + "-$(x)"} {
		if _, err := lab.UndoNetNS(name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

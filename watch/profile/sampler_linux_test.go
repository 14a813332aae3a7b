package profile

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/watch/profile/symbols"
)

// worker is the variable of the environment that makes the test's program a process to sample.
const worker = "PLIMSOLL_TEST_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(worker) {
	case "parent":
		parent()
	case "child":
		child()
	default:
		os.Exit(m.Run())
	}
}

// parent works, and then has a child work, once for each line of its input; it answers each.
func parent() {
	for buf := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(buf); err != nil {
			return
		}
		spinInParent(300_000_000)
		writeMuch(60_000)
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), worker+"=child")
		if err := cmd.Run(); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.Write(buf)
	}
}

func child() { spinInChild(300_000_000) }

var sink uint64

//go:noinline
func spinInParent(n int) {
	for range n / 1000 {
		spin(1000)
	}
}

//go:noinline
func spinInChild(n int) {
	for range n / 1000 {
		spin(1000)
	}
}

// spin has no frame, being the innermost function.
//
//go:noinline
func spin(n int) {
	x := uint64(1)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink += x
}

// writeMuch spends time in the kernel.
//
//go:noinline
func writeMuch(n int) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	defer r.Close()
	defer w.Close()
	buf := make([]byte, 32<<10)
	for range n {
		_, _ = w.Write(buf)
		_, _ = io.ReadFull(r, buf)
	}
}

// A work is a process of this test that works on demand.
type work struct {
	*exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

// start starts the test's program from a copy at a path.
func start(t *testing.T, path string) *work {
	t.Helper()
	program, err := os.ReadFile("/proc/self/exe")
	failure.None(t, err)
	failure.None(t, os.WriteFile(path, program, 0o755))
	w := &work{Cmd: exec.Command(path)}
	w.Env = append(os.Environ(), worker+"=parent")
	w.in, err = w.StdinPipe()
	failure.None(t, err)
	w.out, err = w.StdoutPipe()
	failure.None(t, err)
	failure.None(t, w.Start())
	t.Cleanup(func() { w.in.Close(); _ = w.Wait() })
	return w
}

// do has it work once.
func (w *work) do(t *testing.T) {
	t.Helper()
	_, err := w.in.Write([]byte{'\n'})
	failure.None(t, err)
	_, err = w.out.Read(make([]byte, 1))
	failure.None(t, err)
}

// sampled returns the profile of a role that works once while the gate is open, and once before and
// after. The binary of its program is removed meanwhile.
func sampled(t *testing.T, open func(pids func() []int, cpus []int) (*events, error)) Stored {
	t.Helper()
	path := t.TempDir() + "/worker"
	w := start(t, path)
	pids := func() []int { return []int{w.Process.Pid} }
	s, err := openWith([]Roots{{Name: "app", PIDs: pids}}, nil, open)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) ||
		errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOENT) {
		failure.Lacks(t, err)
	}
	failure.None(t, err)
	t.Cleanup(func() { _ = s.Close() })
	w.do(t)
	failure.None(t, os.Remove(path))
	s.Gate(true)
	w.do(t)
	s.Gate(false)
	w.do(t)
	all, err := s.Profiles()
	failure.None(t, err)
	return all["app"]
}

// The samples of a process and its child add up to their CPU time while the gate was open, by
// function, with the system call that was under way, though the file of the program is gone.
func TestSampler(t *testing.T) {
	p := sampled(t, func(_ func() []int, cpus []int) (*events, error) { return openEvents(cpus) })
	cpu := float64(p.all()) * p.Period.Seconds()
	t.Logf("%d samples: %.3f s of %.3f s in %.3f s; %d lost", p.all(), cpu, p.CPU, p.Seconds, p.Lost)
	if cpu < 0.8*p.CPU || cpu > 1.2*p.CPU || p.CPU > 4*p.Seconds {
		t.Errorf("%.3f s by samples, %.3f s by the kernel", cpu, p.CPU)
	}
	for _, function := range []string{"spinInParent", "spinInChild", "writeMuch", "[kernel] write"} {
		if n := p.sum(function); n < p.all()/50 {
			t.Errorf("%s has %d samples of %d", function, n, p.all())
		}
	}
	// The two loops have a thousandth of the instructions themselves, which is a sample or two.
	callers, both := p.sum("spinInParent")+p.sum("spinInChild"), p.sum(".spin")
	if both < callers*49/50 {
		t.Errorf("the function that both call has %d samples, they have %d", both, callers)
	}
	for _, f := range p.Functions {
		if f.Name == "[unknown]" && f.Binary == "worker" {
			t.Errorf("%+v", f)
		}
	}
	if first := p.Binaries[0].Name; cmp.Or(p.Module, "-") != "plimsoll" || first != "worker" {
		t.Errorf("module %q, first binary %q", p.Module, first)
	}
	var b bytes.Buffer
	failure.None(t, Write(&b, p))
	again, err := Read(&b)
	failure.None(t, err)
	if again.sum("[kernel] write") != p.sum("[kernel] write") || again.CPU != p.CPU {
		t.Errorf("what is read differs from what was written")
	}
}

// Without the right to the events of a CPU, a program samples its own children in user space.
func TestSamplerOfThreads(t *testing.T) {
	p := sampled(t, func(pids func() []int, cpus []int) (*events, error) {
		return openThreadsWith(pids, cpus, threadsOfUsers)
	})
	t.Logf("%d samples of %.3f s", p.all(), p.CPU)
	for _, function := range []string{"spinInParent", "spinInChild"} {
		if n := p.sum(function); n < p.all()/5 {
			t.Errorf("%s has %d samples of %d", function, n, p.all())
		}
	}
	for _, f := range p.Functions {
		if f.Kind == symbols.Kernel {
			t.Errorf("%+v, want no kernel time", f)
		}
	}
}

// A sampler leaves no file behind, and one whose gate was never opened has no profile.
func TestSamplerCloses(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		failure.None(t, err)
		return len(entries)
	}
	before := files()
	s, err := Open([]Roots{{Name: "app", PIDs: func() []int { return []int{os.Getpid()} }}}, nil)
	if err != nil {
		failure.Lacks(t, err)
	}
	during := files()
	all, err := s.Profiles()
	if failure.Is(t, err, ErrNoSamples); len(all) != 0 {
		t.Errorf("%v", all)
	}
	failure.None(t, s.Close())
	s.Gate(true)
	if after := files(); after != before || during <= before {
		t.Errorf("%d files before, %d while it samples, %d after", before, during, after)
	}
}

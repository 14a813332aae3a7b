package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/internal/race"
	"plimsoll/watch/series"
)

// fake is a /proc that a test writes.
type fake struct {
	t   *testing.T
	dir string
}

func newFake(t *testing.T) fake { return fake{t, t.TempDir()} }

type fakeProc struct {
	ppid                             int
	user, system, cuser, csystem     int
	start, threads, resident, shared int
	state, comm                      string
	voluntary, involuntary, limit    int
}

// set writes one process; files that the probe holds open change with it.
func (f fake) set(pid int, p fakeProc) {
	f.t.Helper()
	if p.state == "" {
		p.state = "S"
	}
	if p.comm == "" {
		p.comm = "app"
	}
	if p.limit == 0 {
		p.limit = 1000
	}
	dir := filepath.Join(f.dir, fmt.Sprint(pid))
	for _, d := range []string{filepath.Join(dir, "fd"), filepath.Join(dir, "task", fmt.Sprint(pid))} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			f.t.Fatal(err)
		}
	}
	f.write(
		dir+"/stat",
		fmt.Sprintf("%d (%s) %s %d 1 1 0 -1 4194304 10 0 0 0 %d %d %d %d 20 0 %d 0 %d 1000 500\n",
			pid, p.comm, p.state, p.ppid, p.user, p.system, p.cuser, p.csystem, p.threads, p.start),
	)
	f.write(dir+"/statm", fmt.Sprintf("1000 %d %d 1 0 1 0\n", p.resident, p.shared))
	f.write(
		dir+"/limits",
		fmt.Sprintf("Limit Soft Hard Units\nMax open files            %d 20000 files\n", p.limit),
	)
	f.write(fmt.Sprintf("%s/task/%d/status", dir, pid), fmt.Sprintf(
		"Name:\tx\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n",
		p.voluntary,
		p.involuntary,
	))
}

func (f fake) write(path, text string) {
	f.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		f.t.Fatal(err)
	}
}

// end removes a process; a file that is held open reads as empty, which is an error as ESRCH is of
// a real one.
func (f fake) end(pid int) {
	f.t.Helper()
	dir := filepath.Join(f.dir, fmt.Sprint(pid))
	f.write(dir+"/stat", "")
	if err := os.RemoveAll(dir); err != nil {
		f.t.Fatal(err)
	}
}

func (f fake) probe(role string, pids ...int) *ProcessProbe {
	p := NewProcess(role, func() []int { return pids })
	p.proc = f.dir
	f.t.Cleanup(func() { p.Close() })
	return p
}

func (f fake) sample(p *ProcessProbe, s int) map[string]float64 {
	f.t.Helper()
	out, err := p.Sample(context.Background(), at(s))
	if err != nil {
		f.t.Fatal(err)
	}
	return values(f.t, out)
}

func want(t *testing.T, m map[string]float64, wants map[string]float64) {
	t.Helper()
	for k, w := range wants {
		if got, ok := m[k]; !ok || math.Abs(got-w) > 1e-9 {
			t.Errorf("%s = %v (there: %v), want %v", k, got, ok, w)
		}
	}
}

const (
	userCPU   = `plimsoll_process_cpu_seconds_total{mode="user",role="db"}`
	systemCPU = `plimsoll_process_cpu_seconds_total{mode="system",role="db"}`
)

// A role with a control group has the group's CPU time, from the first sample on, in its proportion
// of user and system.
func TestProcessesInGroup(t *testing.T) {
	f := newFake(t)
	f.set(100, fakeProc{ppid: 1, user: 500, system: 100, start: 7, threads: 1})
	now, failed := CPUTime{10 * time.Second, 6 * time.Second, 4 * time.Second}, error(nil)
	p := NewProcesses([]Role{{
		Name: "db",
		PIDs: func() []int { return []int{100} },
		CPU:  func() (CPUTime, error) { return now, failed },
	}})
	p.proc = f.dir
	t.Cleanup(func() { p.Close() })
	want(t, f.sample(p, 0), map[string]float64{userCPU: 0, systemCPU: 0})
	f.set(100, fakeProc{ppid: 1, user: 900, system: 100, start: 7, threads: 1})
	now = CPUTime{
		12 * time.Second,
		6*time.Second + 300*time.Millisecond,
		4*time.Second + 100*time.Millisecond,
	}
	want(t, f.sample(p, 2), map[string]float64{
		userCPU:                                 1.5,
		systemCPU:                               0.5,
		`plimsoll_process_cpu_ratio{role="db"}`: 1,
	})
	// A division that is not there, and one that turns back, never make a counter fall.
	now.Total += time.Second
	want(t, f.sample(p, 3), map[string]float64{userCPU: 2.5, systemCPU: 0.5})
	now.Total = now.Total + time.Second
	now.User = now.User - time.Second
	now.System = now.System + time.Second
	want(t, f.sample(p, 4), map[string]float64{userCPU: 2.5, systemCPU: 1.5})
	failed = errors.New("the group is gone")
	failure.Is(t, failure.Of(p.Sample(t.Context(), at(5))), failed)
}

// A server with a process per connection, as PostgreSQL: the sum must neither lose nor repeat the
// use of a child.
func TestProcessTree(t *testing.T) {
	f := newFake(t)
	f.set(1, fakeProc{comm: "init"})
	f.set(50, fakeProc{ppid: 1, user: 99999, comm: "other (x) y"})
	f.set(100, fakeProc{
		ppid:        1,
		user:        500,
		system:      100,
		start:       7,
		threads:     1,
		resident:    300,
		shared:      200,
		voluntary:   10,
		involuntary: 5,
	})
	f.set(101, fakeProc{ppid: 100, user: 200, start: 8, threads: 1, resident: 250, shared: 240})
	p := f.probe("db", 100)

	m := f.sample(p, 0)
	want(t, m, map[string]float64{
		userCPU:                               0,
		systemCPU:                             0, // counters start with the probe
		`plimsoll_process_count{role="db"}`:   2,
		`plimsoll_process_threads{role="db"}`: 2,
		`plimsoll_process_resident_memory_bytes{role="db"}`:                     (100 + 10 + 240) * pageSize,
		`plimsoll_process_context_switches_total{kind="voluntary",role="db"}`:   0,
		`plimsoll_process_context_switches_total{kind="involuntary",role="db"}`: 0,
	})

	// The root uses 10 ticks, the backend 20, and a new backend starts and uses 30.
	f.set(100, fakeProc{
		ppid:        1,
		user:        510,
		system:      100,
		start:       7,
		threads:     1,
		resident:    300,
		shared:      200,
		voluntary:   60,
		involuntary: 6,
	})
	f.set(101, fakeProc{ppid: 100, user: 220, start: 8, threads: 1})
	f.set(102, fakeProc{ppid: 101, user: 30, start: 9, threads: 3}) // a grandchild
	m = f.sample(p, 1)
	want(t, m, map[string]float64{
		userCPU:                                 0.60,
		`plimsoll_process_cpu_ratio{role="db"}`: 0.60,
		`plimsoll_process_count{role="db"}`:     3,
		`plimsoll_process_threads{role="db"}`:   5,
	})

	// Backend 101 uses 5 more, ends, and the root waits for it: 225 go to the root's children
	// times. Its child 102 ended too, and had used 30+4 by then.
	f.end(102)
	f.end(101)
	f.set(100, fakeProc{ppid: 1, user: 510, system: 100, cuser: 225 + 34, start: 7, threads: 1})
	m = f.sample(p, 2)
	want(t, m, map[string]float64{
		userCPU:                             0.60 + 0.05 + 0.04,
		systemCPU:                           0,
		`plimsoll_process_count{role="db"}`: 1,
	})

	// A backend that lived and died between two samples: its 12 ticks come by the root alone.
	f.set(100, fakeProc{
		ppid:    1,
		user:    510,
		system:  103,
		cuser:   225 + 34 + 12,
		start:   7,
		threads: 1,
	})
	m = f.sample(p, 3)
	want(t, m, map[string]float64{userCPU: 0.69 + 0.12, systemCPU: 0.03})

	f.sample(p, 4)
	f.set(100, fakeProc{
		ppid:        1,
		user:        510,
		system:      103,
		cuser:       271,
		start:       7,
		threads:     1,
		voluntary:   110,
		involuntary: 6,
	})
	m = f.sample(p, 5)
	want(t, m, map[string]float64{
		`plimsoll_process_context_switches_total{kind="voluntary",role="db"}`:   100,
		`plimsoll_process_context_switches_total{kind="involuntary",role="db"}`: 1,
	})
}

// Every generation counts, in any order of the processes.
func TestProcessGenerations(t *testing.T) {
	f := newFake(t)
	for i := range 30 {
		f.set(100+i, fakeProc{ppid: 99 + i, start: 7, threads: 1})
	}
	f.set(200, fakeProc{ppid: 1, start: 7, threads: 1})
	want(
		t,
		f.sample(f.probe("db", 100), 0),
		map[string]float64{`plimsoll_process_count{role="db"}`: 30},
	)
}

func TestProcessErrors(t *testing.T) {
	for name, c := range map[string]struct {
		pids  []int
		spoil func(f fake)
		err   string
	}{
		"no process":  {nil, nil, "role db: no process"},
		"never there": {[]int{999}, nil, "role db: process 999 has exited"},
		"exits":       {[]int{100}, func(f fake) { f.end(100) }, "process 100 has exited"},
		"zombie": {[]int{100}, func(f fake) {
			f.set(100, fakeProc{state: "Z", start: 7})
		}, "waits for its parent"},
		"pid given again": {[]int{100}, func(f fake) {
			f.set(100, fakeProc{start: 8})
		}, "belongs to another process"},
		"broken stat": {[]int{100}, func(f fake) {
			f.write(f.dir+"/100/stat", "100 (x")
		}, "process 100: stat has no command"},
		"one of two": {[]int{100, 101}, func(f fake) { f.end(101) }, "process 101 has exited"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.set(100, fakeProc{ppid: 1, start: 7, threads: 1})
			f.set(101, fakeProc{ppid: 1, start: 7, threads: 1})
			p := f.probe("db", c.pids...)
			if c.spoil != nil {
				f.sample(p, 0)
				c.spoil(f)
			}
			out, err := p.Sample(t.Context(), at(1))
			failure.Says(t, err, c.err)
			for _, s := range out { // but that it is gone
				if s.Name == "plimsoll_process_gone" && s.Value != 1 && name != "broken stat" {
					t.Errorf("%s", text(out))
				}
			}
			out = slices.DeleteFunc(out, func(s series.Sample) bool {
				return s.Name == "plimsoll_process_gone" ||
					s.Name == "plimsoll_process_start_seconds"
			})
			if len(out) > 0 {
				t.Errorf("a role without its process has samples:\n%s", text(out))
			}
		})
	}
}

// One role that fails does not take the other's samples with it, and a restart counts on.
func TestProcessRolesAndRestart(t *testing.T) {
	f := newFake(t)
	f.set(100, fakeProc{ppid: 1, start: 7, user: 40})
	f.set(200, fakeProc{ppid: 1, start: 7, user: 40})
	app := 100
	p := NewProcesses([]Role{{
		Name: "app",
		PIDs: func() []int { return []int{app} },
	}, {Name: "db", PIDs: func() []int { return []int{200} }}})
	p.proc = f.dir
	defer p.Close()
	f.sample(p, 0)
	f.end(100)
	f.set(200, fakeProc{ppid: 1, start: 7, user: 50})
	out, err := p.Sample(t.Context(), at(1))
	failure.Says(t, err, "role app")
	failure.Hides(t, err, "role db")
	want(t, values(t, out), map[string]float64{userCPU: 0.10})
	app = 300
	f.set(300, fakeProc{ppid: 1, start: 9, user: 25})
	want(t, f.sample(p, 2), map[string]float64{
		`plimsoll_process_cpu_seconds_total{mode="user",role="app"}`: 0.25,
		userCPU: 0.10,
	})
}

// The probe against real processes: a shell that burns CPU in itself and in children.
func TestProcessReal(t *testing.T) {
	cmd := exec.Command(
		"sh",
		"-c",
		`read x; sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done'; read x; sleep 60 & read x; kill $!`,
	)
	in, err := cmd.StdinPipe()
	failure.None(t, err)
	failure.None(t, cmd.Start())
	defer func() { in.Close(); cmd.Process.Kill(); cmd.Wait() }()
	p := NewProcess("db", func() []int { return []int{cmd.Process.Pid} })
	defer p.Close()
	f := fake{t: t}
	m := f.sample(p, 0)
	for _, k := range []string{`plimsoll_process_open_fds{role="db"}`, `plimsoll_process_resident_memory_bytes{role="db"}`, `plimsoll_process_fds_used_ratio{role="db"}`} {
		if m[k] <= 0 {
			t.Errorf("%s = %v, want more than 0", k, m[k])
		}
	}
	fmt.Fprintln(in)
	s := 0
	failure.Unless(t, func() bool {
		s++
		m = f.sample(p, s)
		return m[userCPU]+m[systemCPU] > 0
	}, "a busy loop of a child used no CPU")
	cmd.Process.Kill()
	cmd.Wait()
	failure.Says(t, failure.Of(p.Sample(t.Context(), at(9999))), "has exited")
}

func TestSelf(t *testing.T) {
	s, err := NewSelf()
	failure.None(t, err)
	done := make(chan int)
	for range 200 { // transitions for the latency histogram
		go func() { done <- 1 }()
	}
	for range 200 {
		<-done
	}
	failure.None(t, failure.Of(s.Sample(t.Context(), at(0))))
	for range 2000 {
		go func() { done <- 1 }()
		<-done
	}
	out, err := s.Sample(t.Context(), at(1))
	failure.None(t, err)
	m := values(t, out)
	for _, k := range []string{"plimsoll_generator_goroutines", "plimsoll_generator_heap_bytes", "plimsoll_generator_cpu_seconds_total", "plimsoll_generator_sched_latency_p99_seconds"} {
		if m[k] <= 0 {
			t.Errorf("%s = %v, want more than 0", k, m[k])
		}
	}
	if r := m["plimsoll_generator_gc_cpu_ratio"]; r < 0 || r > 1 {
		t.Errorf("GC ratio %v", r)
	}
	if _, err := s.Sample(t.Context(), at(1)); err == nil {
		t.Error("two samples at one time give a CPU share")
	}
}

// Two collections of an idle program that end in a row take next to nothing of the time between
// samples.
func TestSelfCollectionsInARow(t *testing.T) {
	s, err := NewSelf()
	failure.None(t, err)
	for i := range 3 {
		runtime.GC()
		runtime.GC()
		out, err := s.Sample(t.Context(), at(1000*i))
		failure.None(t, err)
		if r, ok := values(t, out)["plimsoll_generator_gc_cpu_ratio"]; r > 0.01 || ok != (i > 0) {
			t.Errorf("sample %d after 1000 s: GC ratio %v, present %v", i, r, ok)
		}
	}
}

// The time of a long cycle is booked at its end, and is of the seconds before.
func TestSelfGCShare(t *testing.T) {
	var s Self
	cores := float64(runtime.GOMAXPROCS(0))
	for i, booked := range []float64{0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1} {
		want := 1 / float64(min(max(i, 1), 10))
		if i < 2 || i > 11 {
			want = 0
		}
		if got, ok := s.gcShare(at(i), booked*cores); math.Abs(got-want) > 1e-9 || ok != (i > 0) {
			t.Errorf("second %d: %v, %v; want %v", i, got, ok, want)
		}
	}
}

func TestWindowQuantile(t *testing.T) {
	w := window{edges: []float64{math.Inf(-1), 0, 1, 2, math.Inf(1)}, delta: []uint64{0, 98, 1, 1}}
	for q, want := range map[float64]float64{0.5: 1, 0.98: 1, 0.985: 2, 0.99: 2, 1: 2} {
		if got, ok := w.quantile(q); !ok || got != want {
			t.Errorf("quantile(%v) = %v, %v; want %v", q, got, ok, want)
		}
	}
	w.delta = []uint64{0, 0, 0, 0}
	if _, ok := w.quantile(0.99); ok {
		t.Error("a quantile of nothing")
	}
}

// The budget of one second on the generator's core, with this host's real files.
func TestSampleBudget(t *testing.T) {
	race.SkipBudget(t)
	h, err := NewHost(HostOptions{Roles: map[string][]int{"target": {0}}})
	failure.None(t, err)
	defer h.Close()
	me := os.Getpid()
	p := NewProcess("app", func() []int { return []int{me} })
	defer p.Close()
	s, err := NewSelf()
	failure.None(t, err)
	now := time.Now()
	step := func() {
		now = now.Add(time.Millisecond) // no tick need have passed
		failure.None(t, failure.Of(h.Sample(context.Background(), now)))
		failure.None(t, failure.Of(s.Sample(context.Background(), now)))
	}
	step()
	if got := testing.AllocsPerRun(20, step); got > 8 {
		t.Errorf("host and self: %v allocations per sample, want at most 8", got)
	}
	both := func() {
		failure.None(t, failure.Of(p.Sample(context.Background(), now)))
		now = now.Add(time.Second)
	}
	both()
	entries, err := os.ReadDir("/proc")
	failure.None(t, err)
	// A name per entry of /proc, and now and then a file per process.
	if got, most := testing.AllocsPerRun(20, both), float64(6*len(entries)+200); got > most {
		t.Errorf("process: %v allocations per sample, want at most %v", got, most)
	}
}

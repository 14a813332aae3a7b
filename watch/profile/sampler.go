package profile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Roots are the first processes of a role.
type Roots struct {
	Name string // of the role
	// PIDs returns the first processes; all that they start count too. It may return others after
	// a restart. It is safe for concurrent use.
	PIDs func() []int
}

// A Sampler samples the processes of roles while its gate is open. Its methods are safe for
// concurrent use.
type Sampler struct {
	roles   []Roots
	events  *events
	stop    chan struct{}
	done    chan struct{}
	ending  sync.Once
	members atomic.Pointer[[][]int] // processes by role
	broken  atomic.Pointer[error]   // of the gate

	gate struct {
		sync.Mutex
		open, closed bool
		began        time.Time
		before       []time.Duration
		seconds      float64
		cpu          []float64 // by role
	}

	// what follows is of the goroutine that reads, and of [Sampler.Profiles] after its end
	processes *processes
	tally     *tally
	frames    frames
	paths     map[kernelPath]uint32
	folded    *folded
	lost      int64
	raw       []byte
	batch     []rawRecord
	kernel    []uint64
	user      []uint64
	line      []uint32
}

// topOfStack says that a call of this processor leaves the caller's address at the top of the stack.
const topOfStack = runtime.GOARCH == "amd64"

// every is how often the rings are read.
const every = 100 * time.Millisecond

// Open returns a sampler with a closed gate, of processes that run on CPUs of this host; none means
// all. The error says what this program is not allowed, and the remedy. The caller calls Close.
func Open(roles []Roots, cpus []int) (*Sampler, error) {
	return openWith(roles, cpus, func(pids func() []int, cpus []int) (*events, error) {
		e, err := openEvents(cpus)
		if forbidden(err) {
			e, err = openThreads(pids, cpus)
		}
		return e, err
	})
}

// openWith is Open with the function that opens the events of processes on CPUs. It asks for the
// processes as often as it wants.
func openWith(
	roles []Roots, cpus []int, open func(pids func() []int, cpus []int) (*events, error),
) (*Sampler, error) {
	s := newSampler(roles)
	if len(cpus) == 0 {
		var err error
		if cpus, err = onlineCPUs(); err != nil {
			return nil, err
		}
	}
	all := s.processes.members()
	pids := func() []int {
		s.processes.forget()
		all = s.processes.members()
		return slices.Concat(all...)
	}
	var err error
	if s.events, err = open(pids, cpus); err != nil {
		s.processes.files.close()
		return nil, refusal(err)
	}
	s.members.Store(&all)
	go s.run()
	return s, nil
}

func newSampler(roles []Roots) *Sampler {
	s := &Sampler{
		roles:     roles,
		stop:      make(chan struct{}),
		done:      make(chan struct{}),
		processes: newProcesses(roles),
		tally:     newTally(len(roles)),
		paths:     map[kernelPath]uint32{},
		folded:    newFolded(len(roles)),
	}
	s.gate.cpu = make([]float64, len(roles))
	return s
}

// refusal returns the error of events that could not be opened, with its remedy.
func refusal(err error) error {
	if !forbidden(err) {
		return fmt.Errorf("%w; the kernel of this host has no events to sample by", err)
	}
	level, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	return fmt.Errorf("%w, with kernel.perf_event_paranoid=%s; run as root, or carry out: "+
		"sysctl -w kernel.perf_event_paranoid=0 kernel.kptr_restrict=0",
		err, cmp.Or(strings.TrimSpace(string(level)), "?"))
}

// onlineCPUs returns the CPUs of this host that are on.
func onlineCPUs() (cpus []int, err error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
		var from, to int
		if n, _ := fmt.Sscanf(part, "%d-%d", &from, &to); n < 2 {
			to = from
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Gate opens or closes the gate. It returns at once, and does nothing if the gate is so already.
func (s *Sampler) Gate(open bool) {
	g := &s.gate
	g.Lock()
	defer g.Unlock()
	if g.open == open || g.closed {
		return
	}
	g.open = open
	if open {
		g.before, g.began = s.use(), time.Now()
	}
	if err := s.events.gate(open); err != nil {
		s.broken.CompareAndSwap(nil, &err)
	}
	if open {
		return
	}
	g.seconds += time.Since(g.began).Seconds()
	for i, after := range s.use() {
		g.cpu[i] += (after - g.before[i]).Seconds()
	}
}

// use returns the CPU time of all roles so far: of their processes, and of the children of the
// first ones that have ended. A control group counts the time of a thread that runs in steps of the
// kernel's tick, which is too coarse for turns.
func (s *Sampler) use() []time.Duration {
	out := make([]time.Duration, len(s.roles))
	members := *s.members.Load()
	for i, r := range s.roles {
		for _, pid := range members[i] {
			t, _ := cpuOf(pid) // none of one that has ended
			out[i] += t
		}
		for _, pid := range r.PIDs() {
			out[i] += childrenCPU(pid)
		}
	}
	return out
}

// run reads the rings until the sampler is stopped.
func (s *Sampler) run() {
	defer close(s.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-s.stop:
			s.read()
			return
		}
		s.read()
		if n%10 == 0 {
			s.processes.refresh()
		}
		all := s.processes.members()
		s.members.Store(&all)
	}
}

// read counts the samples of the rings.
func (s *Sampler) read() {
	s.raw = s.events.read(s.raw[:0])
	s.take(s.raw)
}

// take counts the samples among the bytes of rings.
func (s *Sampler) take(raw []byte) {
	s.batch = records(raw, s.batch[:0])
	// A process may begin on one CPU and go on at another.
	slices.SortStableFunc(s.batch, func(a, b rawRecord) int { return cmp.Compare(a.time, b.time) })
	p := s.processes
	for _, r := range s.batch {
		switch r.kind {
		case recordSample:
			s.sample(r)
		case recordFork:
			if parent, forked := r.parent(); forked {
				p.forked(r.pid(), parent)
			}
		case recordExit:
			if r.leader() {
				p.ended(r.pid())
			}
		case recordComm:
			if r.misc&commOfExec != 0 {
				p.executed(r.pid())
			}
		case recordMmap2:
			if m, ok := r.mapping(); ok {
				p.mapped(r.pid(), m)
			}
		case recordLost:
			s.lost += r.lost()
			p.forget()
		}
	}
	if len(s.tally.nodes) > mostNodes {
		s.fold()
	}
}

// sample counts a sample of a process of a role.
func (s *Sampler) sample(r rawRecord) {
	pid := r.pid()
	x := s.processes.of(pid)
	if x == nil || x.role == noRole {
		return
	}
	var top uint64
	s.kernel, s.user, top = r.chain(s.kernel[:0], s.user[:0])
	s.line = s.line[:0] // innermost first
	if len(s.kernel) > 0 {
		s.line = append(s.line, s.frames.id(kernelBinary, uint64(s.path())))
	}
	for i, ip := range s.user {
		if i > 0 {
			ip-- // a caller's address is that behind its call
		}
		file, offset, ok := s.processes.find(pid, x, ip)
		if !ok && i > 0 {
			break // no frame pointer
		}
		if i == 0 && topOfStack {
			// Whether it is the address of the caller is seen in the symbols.
			if file, offset, ok := s.processes.find(pid, x, top-1); ok {
				s.line = append(s.line, s.frames.id(file|perhaps, offset))
			}
		}
		s.line = append(s.line, s.frames.id(file, offset))
	}
	n := uint32(x.role)
	for _, f := range slices.Backward(s.line) {
		n = s.tally.child(n, f)
	}
	s.tally.nodes[n].count++
}

// path returns the number of the way into the kernel; 0 is that of no meaning.
func (s *Sampler) path() uint32 {
	p := pathOf(s.kernel)
	n, ok := s.paths[p]
	if !ok && len(s.paths) < mostPaths {
		n = uint32(len(s.paths)) + 1
		s.paths[p] = n
	}
	return n
}

// end ends the sampling.
func (s *Sampler) end() {
	s.Gate(false)
	s.gate.Lock()
	s.gate.closed = true
	s.gate.Unlock()
	s.ending.Do(func() {
		close(s.stop)
		<-s.done
		s.events.close()
	})
}

// Close ends the sampling, and closes the files.
func (s *Sampler) Close() error {
	s.end()
	s.processes.files.close()
	return nil
}

// ErrNoSamples reports a role without a sample.
var ErrNoSamples = errors.New("no sample: its processes used no CPU time while it was sampled")

// Profiles ends the sampling and returns the profile of each role that has samples, by its name,
// and the errors of the others.
func (s *Sampler) Profiles() (map[string]Stored, error) {
	s.end()
	s.fold()
	var errs []error
	if err := s.broken.Load(); err != nil {
		errs = append(errs, *err)
	}
	out := map[string]Stored{}
	for i, r := range s.roles {
		p := s.folded.stored(i)
		if len(p.Stacks) == 0 {
			errs = append(errs, fmt.Errorf("role %s: %w", r.Name, ErrNoSamples))
			continue
		}
		p.Period = period
		p.Seconds, p.CPU = s.gate.seconds, max(s.gate.cpu[i], 0)
		p.Lost, p.Source = s.lost, FromKernel
		out[r.Name] = p
	}
	return out, errors.Join(errs...)
}

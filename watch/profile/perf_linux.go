package profile

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	frequency = 331                       // samples a second of a busy CPU: 22 µs each on a virtual one
	period    = 1_000_000_000 / frequency // nanoseconds
	ringSize  = 64 * 4096                 // bytes, of one CPU: a second of deep stacks
	mostEvent = 4096                      // of threads and CPUs, where events of a CPU are not allowed
	// mostOpenings is how often events are opened until no thread has begun meanwhile.
	mostOpenings = 20
)

// events are those of one sampler. Their rings hold what was not read yet.
type events struct {
	sampling []int // switched by the gate
	fds      []int // all
	rings    []*ring
}

// A ring is the memory that the kernel shares with a reader of the events of one CPU.
type ring struct {
	memory []byte
	page   *unix.PerfEventMmapPage
	data   []byte
}

const sideband = unix.PerfBitTask | unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm |
	unix.PerfBitCommExec

// openEvents opens an event for each CPU, which sees all processes.
func openEvents(cpus []int) (_ *events, err error) {
	e := &events{}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	for _, cpu := range cpus {
		// What processes begin and end is seen also while the gate is closed.
		notes := attributes(unix.PERF_COUNT_SW_DUMMY, sideband)
		fd, err := e.open(notes, -1, cpu)
		if err != nil {
			return nil, err
		}
		if err := e.share(fd); err != nil {
			return nil, err
		}
		clock := attributes(
			unix.PERF_COUNT_SW_CPU_CLOCK, unix.PerfBitDisabled|unix.PerfBitExcludeIdle,
		)
		sampling, err := e.open(clock, -1, cpu)
		if err != nil {
			return nil, err
		}
		if err := unix.IoctlSetInt(sampling, unix.PERF_EVENT_IOC_SET_OUTPUT, fd); err != nil {
			return nil, fmt.Errorf("joining two events: %w", err)
		}
		e.sampling = append(e.sampling, sampling)
	}
	return e, nil
}

// threadsOfUsers are the bits of an event that samples no kernel time.
const threadsOfUsers = unix.PerfBitExcludeKernel

// openThreads opens an event for each thread of processes on each CPU, in which their children take
// part. Kernel time is sampled if it is allowed.
func openThreads(pids func() []int, cpus []int) (e *events, err error) {
	for _, bits := range []uint64{0, threadsOfUsers} {
		if e, err = openThreadsWith(pids, cpus, bits); err == nil {
			return e, nil
		}
	}
	return nil, err
}

// openThreadsWith opens the events anew while threads begin: one that began after the threads were
// listed and before its parent had an event has none, nor have its children.
func openThreadsWith(pids func() []int, cpus []int, bits uint64) (*events, error) {
	threads := threadsOf(pids())
	for n := 1; ; n++ {
		e, err := openEach(threads, cpus, bits)
		if err != nil {
			return nil, err
		}
		before := threads
		threads = threadsOf(pids())
		began := slices.ContainsFunc(threads, func(tid int) bool { return !slices.Contains(before, tid) })
		if !began || n == mostOpenings {
			return e, nil
		}
		e.close()
	}
}

// threadsOf lists the threads of processes.
func threadsOf(pids []int) (tids []int) {
	for _, pid := range pids {
		tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task") // none: it has ended
		for _, t := range tasks {
			if tid, err := strconv.Atoi(t.Name()); err == nil {
				tids = append(tids, tid)
			}
		}
	}
	return tids
}

// openEach opens an event for each thread on each CPU.
func openEach(threads, cpus []int, bits uint64) (_ *events, err error) {
	e := &events{}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	clock := attributes(unix.PERF_COUNT_SW_CPU_CLOCK,
		sideband|unix.PerfBitDisabled|unix.PerfBitInherit|bits)
	if n := len(threads) * len(cpus); n > mostEvent {
		return nil, fmt.Errorf("%d threads on %d CPUs are too many", len(threads), len(cpus))
	}
	for _, cpu := range cpus {
		first := -1
		for _, tid := range threads {
			fd, err := e.open(clock, tid, cpu)
			switch {
			case errors.Is(err, unix.ESRCH): // it has ended
				continue
			case err != nil:
				return nil, err
			case first < 0:
				first, err = fd, e.share(fd)
			default:
				err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, first)
			}
			if err != nil {
				return nil, fmt.Errorf("the memory of an event: %w", err)
			}
			e.sampling = append(e.sampling, fd)
		}
	}
	return e, nil
}

func attributes(config, bits uint64) *unix.PerfEventAttr {
	return &unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config: config,
		Sample: period,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN |
			unix.PERF_SAMPLE_STACK_USER,
		Sample_stack_user: 8,
		Bits:              bits | unix.PerfBitSampleIDAll,
	}
}

func (e *events) open(attr *unix.PerfEventAttr, pid, cpu int) (int, error) {
	fd, err := unix.PerfEventOpen(attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("perf_event_open: %w", err)
	}
	e.fds = append(e.fds, fd)
	return fd, nil
}

// share maps the ring of an event.
func (e *events) share(fd int) error {
	size := os.Getpagesize() + ringSize
	memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("the memory of an event: %w", err)
	}
	e.rings = append(e.rings, &ring{
		memory: memory,
		page:   (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0])),
		data:   memory[os.Getpagesize():],
	})
	return nil
}

// gate switches the sampling on or off.
func (e *events) gate(on bool) error {
	op := uint(unix.PERF_EVENT_IOC_DISABLE)
	if on {
		op = unix.PERF_EVENT_IOC_ENABLE
	}
	var err error
	for _, fd := range e.sampling {
		err = errors.Join(err, unix.IoctlSetInt(fd, op, 0))
	}
	return err
}

// read moves the records of all rings to b.
func (e *events) read(b []byte) []byte {
	for _, r := range e.rings {
		head := atomic.LoadUint64(&r.page.Data_head)
		tail := r.page.Data_tail
		size := uint64(len(r.data))
		for tail < head {
			at := tail % size
			n := min(head-tail, size-at)
			b = append(b, r.data[at:at+n]...)
			tail += n
		}
		atomic.StoreUint64(&r.page.Data_tail, tail)
	}
	return b
}

// close closes the events, and gives their memory back.
func (e *events) close() {
	for _, r := range e.rings {
		_ = unix.Munmap(r.memory)
	}
	for _, fd := range e.fds {
		_ = unix.Close(fd)
	}
	*e = events{}
}

// forbidden reports whether an error of opening events is for want of the right to it.
func forbidden(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// cpuOf returns the CPU time of a process with all its threads, to the nanosecond; false if it is
// gone.
func cpuOf(pid int) (time.Duration, bool) {
	// CPUCLOCK_SCHED of a process, see clock_getcpuclockid(3).
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &ts)
	return time.Duration(ts.Nano()), err == nil
}

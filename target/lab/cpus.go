package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"plimsoll/internal/linux"
)

// setAffinity binds a thread (0: the calling one) to cpus.
func setAffinity(tid int, cpus []int) error {
	if len(cpus) == 0 {
		return errors.New("placement: the list of CPUs is empty")
	}
	var set linux.CPUSet
	for _, c := range cpus {
		if c < 0 || c >= len(set)*64 {
			return fmt.Errorf("placement: there is no CPU %d", c)
		}
		set.Set(c)
	}
	if err := linux.SetAffinity(tid, &set); err != nil {
		if errors.Is(err, syscall.EINVAL) {
			return fmt.Errorf(
				"placement: this host offers none of the CPUs %v to this program; it offers %s",
				cpus,
				offered(),
			)
		}
		return fmt.Errorf("placement on CPUs %v: %w", cpus, err)
	}
	return nil
}

// offered describes the CPUs that the calling thread may use.
func offered() string {
	cpus, err := AllowedCPUs(0)
	if err != nil {
		return "an unknown set"
	}
	return fmt.Sprint(cpus)
}

// AllowedCPUs returns the CPUs on which the main thread of a process may run, in ascending order;
// pid 0 is the calling thread.
func AllowedCPUs(pid int) ([]int, error) {
	var set linux.CPUSet
	if err := linux.Affinity(pid, &set); err != nil {
		return nil, fmt.Errorf("reading the CPU affinity of process %d: %w", pid, err)
	}
	var cpus []int
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// CheckCPUs reports an error when a list of CPUs is empty or names one that this host does not
// have.
func CheckCPUs(cpus []int) error {
	if len(cpus) == 0 {
		return errors.New("placement: the list of CPUs is empty")
	}
	// The kernel's list, such as "0-3,8".
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return fmt.Errorf("reading the list of CPUs: %w", err)
	}
	online, err := ParseCPUs(strings.TrimSpace(string(b)))
	if err != nil {
		return err
	}
	for _, c := range cpus {
		if !slices.Contains(online, c) {
			return fmt.Errorf("placement: there is no CPU %d; this host has %v", c, online)
		}
	}
	return nil
}

// ParseCPUs reads the kernel's notation of a set of CPUs, such as "0-3,8". It does not check
// whether this host has them.
func ParseCPUs(s string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		a, err1 := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || b < a {
			return nil, fmt.Errorf("CPU list %q: want a form such as 0-3,8", s)
		}
		for c := a; c <= b; c++ {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// PinSelf binds all threads of this program to cpus, now and in future: a new thread inherits its
// creator's affinity. It also lets the Go runtime choose GOMAXPROCS again, unless the environment
// sets it. Children started later without CPUs of their own inherit the binding.
func PinSelf(cpus []int) error {
	if err := CheckCPUs(cpus); err != nil {
		return err
	}
	f, err := theForker()
	if err != nil {
		return err
	}
	f.do(func() { // not while the forking thread has a child's affinity
		err = onceForEachThread([]int{os.Getpid()}, func(tid int) error {
			return setAffinity(tid, cpus)
		})
	})
	if err != nil {
		return err
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS()
	}
	return nil
}

// onceForEachThread calls f once for each thread of processes, until a whole pass has met no new
// one: a thread that was being created by a thread that was not bound yet appears in a later pass.
func onceForEachThread(pids []int, f func(tid int) error) error {
	met := map[int]bool{}
	for range 100 {
		fresh := false
		err := eachThread(pids, func(tid int) error {
			if met[tid] {
				return nil
			}
			met[tid], fresh = true, true
			return f(tid)
		})
		if err != nil || !fresh {
			return err
		}
	}
	return errors.New("placement: threads are created faster than they can be bound")
}

// A Confinement keeps processes that others started on some CPUs until it ends.
type Confinement struct {
	before map[int]linux.CPUSet // by thread
	whole  linux.CPUSet         // of the first thread
}

// Confine binds all threads of processes to cpus, or to the ones among them that a thread is bound
// to already. Threads and processes that they start later inherit it. After an error, they run
// where they ran before.
func Confine(pids, cpus []int) (*Confinement, error) {
	c := &Confinement{before: map[int]linux.CPUSet{}}
	if err := onceForEachThread(pids, func(tid int) error {
		return c.confine(tid, cpus)
	}); err != nil {
		return nil, errors.Join(err, c.End(pids))
	}
	return c, nil
}

func (c *Confinement) confine(tid int, cpus []int) error {
	var was linux.CPUSet
	if err := linux.Affinity(tid, &was); err != nil {
		return err
	}
	to := slices.DeleteFunc(slices.Clone(cpus), func(cpu int) bool { return !was.IsSet(cpu) })
	if len(to) == 0 {
		to = cpus
	}
	if err := setAffinity(tid, to); err != nil {
		return err
	}
	if len(c.before) == 0 {
		c.whole = was
	}
	c.before[tid] = was
	return nil
}

// End lets the threads of processes run where they ran before; those that began since, where the
// first of them ran.
func (c *Confinement) End(pids []int) error {
	if len(c.before) == 0 {
		return nil
	}
	return eachThread(pids, func(tid int) error {
		was, known := c.before[tid]
		if !known {
			was = c.whole
		}
		return linux.SetAffinity(tid, &was)
	})
}

// eachThread calls f for each thread of processes. A thread or process that has ended is left out.
func eachThread(pids []int, f func(tid int) error) error {
	for _, pid := range pids {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		} else if err != nil {
			return err
		}
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			if err := f(tid); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("process %d: %w", pid, err)
			}
		}
	}
	return nil
}

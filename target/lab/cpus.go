package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// setAffinity binds a thread (0: the calling one) to cpus.
func setAffinity(tid int, cpus []int) error {
	if len(cpus) == 0 {
		return errors.New("placement: the list of CPUs is empty")
	}
	var set unix.CPUSet
	for _, c := range cpus {
		if c < 0 || c >= len(set)*64 {
			return fmt.Errorf("placement: there is no CPU %d", c)
		}
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		if errors.Is(err, syscall.EINVAL) {
			return fmt.Errorf("placement: this host offers none of the CPUs %v to this program; it offers %s", cpus, offered())
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

// AllowedCPUs returns the CPUs on which the main thread of a process may run, in ascending order; pid 0 is
// the calling thread.
func AllowedCPUs(pid int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
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

// CheckCPUs reports an error when a list of CPUs is empty or names one that this host does not have.
func CheckCPUs(cpus []int) error {
	if len(cpus) == 0 {
		return errors.New("placement: the list of CPUs is empty")
	}
	online, err := onlineCPUs()
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

// ListedCPUs reads numbers of CPUs of this host that are separated by commas; an empty text has none.
func ListedCPUs(text string) (cpus []int, err error) {
	if text == "" {
		return nil, nil
	}
	for f := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("%q: want comma-separated numbers of cores", text)
		}
		cpus = append(cpus, n)
	}
	return cpus, CheckCPUs(cpus)
}

// onlineCPUs reads the kernel's list, such as "0-3,8".
func onlineCPUs() ([]int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("reading the list of CPUs: %w", err)
	}
	return ParseCPUs(strings.TrimSpace(string(b)))
}

// ParseCPUs reads the kernel's notation of a set of CPUs, such as "0-3,8". It does not check whether this host has
// them.
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
// creator's affinity. It also lets the Go runtime choose GOMAXPROCS again, unless the environment sets
// it. Children started later without CPUs of their own inherit the binding.
func PinSelf(cpus []int) error {
	if err := CheckCPUs(cpus); err != nil {
		return err
	}
	f, err := theForker()
	if err != nil {
		return err
	}
	f.do(func() { err = pinThreads(cpus) }) // not while the forking thread has a child's affinity
	if err != nil {
		return err
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS()
	}
	return nil
}

// pinThreads goes over the threads until a whole pass has met no new one: a thread that was being created
// by a thread that was not bound yet appears in a later pass.
func pinThreads(cpus []int) error {
	pinned := map[int]bool{}
	for range 100 {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("placement: listing the threads of this program: %w", err)
		}
		fresh := false
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || pinned[tid] {
				continue
			}
			if err := setAffinity(tid, cpus); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			pinned[tid], fresh = true, true
		}
		if !fresh {
			return nil
		}
	}
	return errors.New("placement: this program creates threads faster than they can be bound")
}

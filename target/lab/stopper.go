package lab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Stopper stops processes with all that they have started, and lets them go on, by signals: for
// hosts where no control group can be frozen. A process that has left the tree, as a daemon does,
// is not stopped. When this program is killed meanwhile, the guard continues the processes that it
// does not kill. The zero value is ready to use. It is for one goroutine.
type Stopper struct {
	stopped []int          // parents before their children
	quiet   map[int]bool   // those of stopped of which no thread runs
	guarded map[int]uint64 // start times of the processes of which the guard knows
}

// sleepers is how long a thread may be in uninterruptible sleep before it counts as stopped: it
// cannot run before it has taken the signal, and one that waits for its child to call exec waits
// for ever when the child is stopped.
const sleepers = 20 * time.Millisecond

// Stop stops the processes roots and their descendants, and returns when no thread of them runs.
// When ctx ends before, all of them are continued, and the error is the cause of ctx. Processes
// that have ended are not an error.
func (s *Stopper) Stop(ctx context.Context, roots []int) error {
	s.quiet = map[int]bool{}
	for began := time.Now(); ; {
		// Stopped processes start no others: a walk that meets no new one, when those before stand
		// still, is the last.
		var all []int
		for _, root := range roots {
			all = append(all, tree(root)...)
		}
		fresh := false
		for _, pid := range all {
			if slices.Contains(s.stopped, pid) {
				continue
			}
			if err := s.stop(pid, roots); err != nil {
				return errors.Join(err, s.Continue())
			}
			fresh = true
		}
		for look := 20 * time.Microsecond; !s.still(time.Since(began) > sleepers); look = min(2*look, time.Millisecond) {
			if ctx.Err() != nil {
				return errors.Join(
					fmt.Errorf("stopping processes: %w", context.Cause(ctx)),
					s.Continue(),
				)
			}
			time.Sleep(look)
		}
		if !fresh {
			s.forget(all)
			return nil
		}
	}
}

// still reports whether no thread of the stopped processes runs.
func (s *Stopper) still(sleeps bool) bool {
	still := true
	for _, pid := range s.stopped {
		if !s.quiet[pid] {
			s.quiet[pid] = quiet(pid, sleeps)
			still = still && s.quiet[pid]
		}
	}
	return still
}

// stop signals one process. The guard learns first of one that is in no group of roots, which it
// would kill.
func (s *Stopper) stop(pid int, roots []int) error {
	start, _, err := procStat(pid)
	if err != nil {
		return nil // it has ended
	}
	if group, err := syscall.Getpgid(pid); err == nil && !slices.Contains(roots, group) &&
		s.guarded[pid] != start {
		f, err := theForker()
		if err != nil {
			return err
		}
		if s.guarded == nil {
			s.guarded = map[int]uint64{}
		}
		if s.guarded[pid] == 0 {
			f.guard.say("+s %d\n", pid)
		}
		s.guarded[pid] = start
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return nil
		}
		return fmt.Errorf("stopping process %d: %w", pid, err)
	}
	s.stopped = append(s.stopped, pid)
	return nil
}

// forget takes from the guard the processes that have ended.
func (s *Stopper) forget(all []int) {
	for pid := range s.guarded {
		if !slices.Contains(all, pid) {
			if f, err := theForker(); err == nil {
				f.guard.say("-s %d\n", pid)
			}
			delete(s.guarded, pid)
		}
	}
}

// Continue lets the stopped processes go on, children first. It may be called when none is stopped.
func (s *Stopper) Continue() error {
	var errs []error
	for _, pid := range slices.Backward(s.stopped) {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("continuing process %d: %w", pid, err))
		}
	}
	s.stopped = nil
	return errors.Join(errs...)
}

// Close takes from the guard what it knows. The processes have ended, or run on.
func (s *Stopper) Close() { s.forget(nil) }

// quiet reports whether no thread of a process runs. Threads in uninterruptible sleep count as the
// caller decides.
func quiet(pid int, sleeps bool) bool {
	for b := range ofThreads(pid, "stat") {
		i := strings.LastIndexByte(string(b), ')')
		if i < 0 || i+2 >= len(b) {
			return false
		}
		switch b[i+2] {
		case 'T', 't', 'Z', 'X':
		case 'D':
			if !sleeps {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// ofThreads yields a file of each thread of a process.
func ofThreads(pid int, name string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		dir := "/proc/" + strconv.Itoa(pid) + "/task/"
		tasks, _ := os.ReadDir(dir) // none: the process has ended
		for _, task := range tasks {
			b, err := os.ReadFile(dir + task.Name() + "/" + name)
			if err == nil && !yield(b) { // or the thread has ended
				return
			}
		}
	}
}

// tree returns a process and its descendants, parents first; nothing when the process is gone.
func tree(root int) []int {
	if _, err := os.Stat("/proc/" + strconv.Itoa(root)); err != nil {
		return nil
	}
	out := []int{root}
	for i := 0; i < len(out); i++ {
		for _, child := range ChildPIDs(out[i]) {
			if !slices.Contains(out, child) {
				out = append(out, child)
			}
		}
	}
	return out
}

// continueTree continues a process and its descendants if one of them is stopped. Another may wait
// for that one, and be stopped only afterwards.
func continueTree(root int) {
	all := tree(root)
	if !slices.ContainsFunc(all, func(pid int) bool {
		_, state, err := procStat(pid)
		return err == nil && state == 'T'
	}) {
		return
	}
	for _, pid := range slices.Backward(all) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // one that has ended needs none
	}
}

// Package conditions describes and sets the conditions of the measurements that programs beside plimsoll make: the
// commit, the machine, and a neighbor on the target's core.
package conditions

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Disturb starts a neighbor, built from bench/neighbor, on the target's core; an empty program is none. The caller ends
// it with end, which fails if it had ended before.
func Disturb(ctx context.Context, program string, seed uint64) (end func() error, err error) {
	if program == "" {
		return func() error { return nil }, nil
	}
	cmd := exec.CommandContext(ctx, program, "-core", "0", "-d", "2h", "-seed", strconv.FormatUint(seed, 10))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the neighbor: %w", err)
	}
	return func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait tells whether it had ended
		err := cmd.Wait()
		if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || ok && state.Signal() == syscall.SIGTERM {
			return nil
		}
		return fmt.Errorf("the neighbor did not disturb to the end: %w", err)
	}, nil
}

// Revision returns the commit that runs, marked when files that git knows were changed, other than the outcomes.
func Revision(outcomes ...string) string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(out))
	args := []string{"status", "--porcelain", "--untracked-files=no", "--"}
	for _, path := range outcomes {
		args = append(args, ":!"+path)
	}
	if out, err := exec.Command("git", args...).Output(); err != nil || len(out) > 0 {
		commit += "-changed"
	}
	return commit
}

// Machine describes the kernel and the number of cores.
func Machine() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return fmt.Sprintf("%s %s, %d cores", runtime.GOOS, strings.TrimSpace(string(release)), runtime.NumCPU())
}

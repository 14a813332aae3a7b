package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"plimsoll/report"
)

// The kinds of hosts that comparisons are made on.
const (
	Quiet    = "quiet"    // nothing of ours disturbs them
	Neighbor = "neighbor" // bench/neighbor does
)

// A Bench carries out comparisons by plimsoll, for a study that keeps each of them in a file and
// has a page that is a function of that file.
type Bench struct {
	Program, Neighbor, Dir, Results string
	Draw                            bool
}

// Flags adds the flags of a bench; dir is the default for its runs.
func (b *Bench) Flags(fs *flag.FlagSet, dir string) {
	fs.StringVar(&b.Program, "program", "bin/plimsoll", "`path` of plimsoll")
	fs.StringVar(
		&b.Neighbor,
		"neighbor",
		"bin/neighbor",
		"`path` of the neighbor, built from bench/neighbor",
	)
	fs.StringVar(&b.Dir, "dir", dir, "`directory` of the runs")
	fs.StringVar(&b.Results, "results", Results, "`directory` of the outcomes and their page")
	fs.BoolVar(&b.Draw, "draw", false, "run nothing: write the page of the outcomes that there are")
}

// Beside runs a command to its end while a neighbor disturbs core 0; an empty program is none. An
// exit status is no error: cmd.ProcessState has it. When ctx ends, the command gets SIGTERM and
// must end within a minute. Both get it as well when this program is killed.
func Beside(ctx context.Context, neighbor string, seed uint64, cmd *exec.Cmd) error {
	runtime.LockOSThread() // the kernel reports the end of the thread that started them
	defer runtime.UnlockOSThread()
	end, err := disturb(ctx, neighbor, seed)
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	short := end()
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.As(err, &status):
		return err
	}
	return short
}

// disturb starts a neighbor on core 0. The caller ends it with end, which fails if it had ended
// before.
func disturb(ctx context.Context, program string, seed uint64) (end func() error, err error) {
	if program == "" {
		return func() error { return nil }, nil
	}
	cmd := exec.CommandContext(ctx, program, "-core=0", "-d=2h", fmt.Sprint("-seed=", seed))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the neighbor: %w", err)
	}
	return func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait tells whether it had ended
		err := cmd.Wait()
		state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if err == nil || ok && state.Signal() == syscall.SIGTERM {
			return nil
		}
		return fmt.Errorf("the neighbor did not disturb to the end: %w", err)
	}, nil
}

// A Compared is the report of a comparison, with the exit status of plimsoll and the CPU seconds
// that it took with all that it started.
type Compared struct {
	report.Document
	Status int
	CPU    float64
}

// Compare carries out a comparison on a kind of host, by a verb of plimsoll with arguments, to
// which it adds -json. A comparison that is not complete is an error.
func (b Bench) Compare(
	ctx context.Context,
	host string,
	seed uint64,
	verb string,
	args ...string,
) (c Compared, err error) {
	neighbor := ""
	if host == Neighbor {
		neighbor = b.Neighbor
	}
	var stdout, talk bytes.Buffer
	args = append([]string{verb, "-json"}, args...)
	cmd := exec.CommandContext(ctx, b.Program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, io.MultiWriter(os.Stderr, &talk)
	err = Beside(ctx, neighbor, seed, cmd)
	if p := cmd.ProcessState; p != nil {
		c.Status, c.CPU = p.ExitCode(), (p.UserTime() + p.SystemTime()).Seconds()
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(stdout.Bytes(), &c.Document); err != nil {
		lines := strings.Split(strings.TrimSpace(talk.String()), "\n")
		return c, fmt.Errorf(
			"plimsoll %s ended with status %d and no report: %s",
			verb,
			c.Status,
			lines[len(lines)-1],
		)
	}
	if !c.State.Complete {
		err = fmt.Errorf("comparison %s is not complete (%s)", c.Comparison, c.State.Why)
	}
	return c, err
}

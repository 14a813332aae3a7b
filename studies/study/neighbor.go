package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
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

// Host is the kind of a host on which that program disturbs, "" for none.
func Host(neighbor string) string {
	if neighbor == "" {
		return Quiet
	}
	return Neighbor
}

// Beside runs a command to its end while a neighbor disturbs core 0; an empty program is none. An
// exit status is no error: cmd.ProcessState has it. When ctx ends, the command gets SIGTERM and
// must end within a minute.
func Beside(ctx context.Context, neighbor string, seed uint64, cmd *exec.Cmd) error {
	end, err := disturb(ctx, neighbor, seed)
	if err != nil {
		return err
	}
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

// Compare carries out a comparison by plimsoll with these arguments behind "compare -json", and
// returns its document and exit status. A comparison that is not complete is an error.
func Compare(ctx context.Context, program, neighbor string, seed uint64, args ...string) (
	doc report.Document, status int, err error,
) {
	var stdout bytes.Buffer
	args = append([]string{"compare", "-json", "-calibrate=false"}, args...)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	if err := Beside(ctx, neighbor, seed, cmd); err != nil {
		return doc, 0, err
	}
	status = cmd.ProcessState.ExitCode()
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		return doc, status, fmt.Errorf("plimsoll %s ended with status %d and no report: %w",
			strings.Join(args, " "), status, err)
	}
	if !doc.State.Complete {
		err = fmt.Errorf("comparison %s is not complete (%s); start again to go on",
			doc.Comparison, doc.State.Why)
	}
	return doc, status, err
}

package verbs

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/failure"
	"plimsoll/record"
)

// hangupRun starts a run whose measured phase is long, without waiting for it.
func hangupRun(t *testing.T, wrap ...string) (cmd *exec.Cmd, root string, output *safeBuffer) {
	t.Helper()
	path := builtProgram(t)
	root = t.TempDir()
	file := filepath.Join(root, "plan.yaml")
	text := "name: hangup\ntarget: {driver: refnull}\nworkload: {behavior: poster, pace: 0.02}\nbounded: {users: 3, ramp: 500ms, settle: 5s, measure: 90s}\n"
	writeText(t, file, text)
	// Where these tests themselves run under nohup, their programs would ignore the signal too; a
	// signal that is caught here is not ignored there.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	args := slices.Concat(wrap, []string{path, "run", "-store", filepath.Join(root, "store"), file})
	cmd, output = command(args[0], args[1:]...)
	return cmd, root, output
}

// sealedAs checks that a store has one run, which was sealed as interrupted.
func sealedAs(t *testing.T, root, why string) {
	t.Helper()
	st := storeOf(t, root)
	entries, warnings, err := st.List(t.Context())
	if err != nil || len(warnings) > 0 || len(entries) != 1 {
		t.Fatalf("%d runs, warnings %v, %v", len(entries), warnings, err)
	}
	r, err := st.Run(entries[0].ID)
	failure.None(t, err)
	if changed, err := r.Verify(); r.Manifest.State != record.Interrupted || r.Validity.Valid ||
		r.Manifest.Why != why ||
		err != nil ||
		len(changed) > 0 {
		t.Errorf(
			"the run is %s, valid %v, why %q, changed %v, %v; want it sealed as interrupted, %q",
			r.Manifest.State,
			r.Validity.Valid,
			r.Manifest.Why,
			changed,
			err,
			why,
		)
	}
	nobodySurvives(t, root)
}

// The reader of standard error is gone, as with "2>&1 | head": the run is sealed as interrupted,
// and not killed by SIGPIPE.
func TestClosedPipeSealsTheRun(t *testing.T) {
	t.Parallel()
	cmd, root, output := hangupRun(t)
	read, write, err := os.Pipe()
	failure.None(t, err)
	cmd.Stdout, cmd.Stderr = write, write
	failure.None(t, cmd.Start())
	_ = write.Close()
	lines := bufio.NewReader(io.TeeReader(read, output))
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v\n%s", err, output.String())
		}
		if strings.Contains(line, " ramp ") { // two lines are to come
			break
		}
	}
	_ = read.Close()
	if status := wait(t, cmd, 60*time.Second, output); status != exit.OfSignal(syscall.SIGPIPE) {
		t.Errorf("status %d\n%s", status, output.String())
	}
	sealedAs(t, root, "interrupted by SIGPIPE")
}

// A program that was begun with SIGHUP ignored goes on when the terminal closes.
func TestNohupGoesOn(t *testing.T) {
	t.Parallel()
	cmd, root, output := hangupRun(t, "sh", "-c", `trap "" HUP; exec "$0" "$@"`)
	failure.None(t, cmd.Start())
	until(t, output, " measure ")
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		failure.None(t, cmd.Process.Signal(s))
	}
	if status := wait(t, cmd, 60*time.Second, output); status != exit.OfSignal(syscall.SIGTERM) {
		t.Errorf("status %d\n%s", status, output.String())
	}
	sealedAs(t, root, "interrupted by SIGTERM")
}

// Only a person who asks twice ends the program before everything is sealed.
func TestSecondHangupIsNoSecondRequest(t *testing.T) {
	for _, tt := range []struct {
		name    string
		signals []os.Signal
		exits   int
		cause   string
	}{
		{"hangup twice", []os.Signal{syscall.SIGHUP, syscall.SIGHUP}, 0, "interrupted by SIGHUP"},
		{"a shutdown", []os.Signal{syscall.SIGTERM, syscall.SIGHUP}, 0, "interrupted by SIGTERM"},
		{"hangup, then a person", []os.Signal{syscall.SIGHUP, os.Interrupt}, 0, "interrupted by SIGHUP"},
		{"a person twice", []os.Signal{os.Interrupt, os.Interrupt}, 130, "interrupted by SIGINT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			signals := make(chan os.Signal, len(tt.signals))
			for _, s := range tt.signals {
				signals <- s
			}
			close(signals)
			exited := 0
			heed(signals, cancel, io.Discard, func(status int) { exited = status })
			if exited != tt.exits || context.Cause(ctx) == nil ||
				context.Cause(ctx).Error() != tt.cause {
				t.Errorf(
					"ended at once with status %d, want %d; cause %v, want %s",
					exited,
					tt.exits,
					context.Cause(ctx),
					tt.cause,
				)
			}
		})
	}
}

// Standard output whose reader is gone ends the context, without a message.
func TestOutletEndsTheContext(t *testing.T) {
	read, write, err := os.Pipe()
	failure.None(t, err)
	defer write.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	o := newOutlet(write, cancel)
	if _, err := o.Write([]byte("x")); err != nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	_ = read.Close()
	var stderr bytes.Buffer
	a := &app.App{
		Stdin:  strings.NewReader(""),
		Stdout: o,
		Stderr: &stderr,
		Env:    func(string) string { return "" },
	}
	if status := run(ctx, a, []string{"version"}); status != exit.OfSignal(syscall.SIGPIPE) ||
		stderr.Len() > 0 {
		t.Errorf("status %d, %q", status, stderr.String())
	}
	if cause := context.Cause(ctx); cause == nil || cause.Error() != "interrupted by SIGPIPE" {
		t.Errorf("cause %v", cause)
	}
	if o.(*outlet).ForChild() != write {
		t.Error("a child gets another output")
	}
}

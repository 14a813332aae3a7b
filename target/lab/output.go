package lab

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A Transcript is an output of a process that is read while it is written. The zero value is empty;
// its methods are safe for concurrent use.
type Transcript struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements [io.Writer]; it does not fail.
func (t *Transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

// String returns what was written so far.
func (t *Transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// Says waits until a text is in [Process.Tail]. The error has the tail, and says whether the
// process has ended or the time is over.
func (p *Process) Says(ctx context.Context, text string, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not within %v", within))
	defer cancel()
	for !strings.Contains(p.Tail(), text) {
		select {
		case <-p.Done():
			return fmt.Errorf("%s has ended: %w\n%s", p.name, p.Err(), p.Tail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w\n%s", text, context.Cause(ctx), p.Tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

package boundary

import (
	"io"
	"sync"

	"plimsoll/internal/plain"
)

// MostStacks is how many panics of one process are written with their stacks.
const MostStacks = 20

// Panics counts the panics that boundaries caught in this process, whose status is then one of a
// tool that failed. A nil one counts nothing. Its methods are safe for concurrent use.
type Panics struct {
	mu sync.Mutex
	n  int
}

// Add counts a panic and returns how many there were, this one included.
func (c *Panics) Add() (n int) {
	if c == nil {
		return 1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

// Any reports whether there was a panic.
func (c *Panics) Any() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n > 0
}

// Report counts a panic that no run has and writes it with its stack.
func (c *Panics) Report(w io.Writer, p *Panic) {
	if c.Add() <= MostStacks {
		plain.Fprintf(
			w,
			"plimsoll: %v: a defect of plimsoll; please report it with this stack\n%s\n",
			p,
			plain.Block(p.Stack),
		)
	}
}

// To returns [Panics.Report] for a writer.
func (c *Panics) To(w io.Writer) func(*Panic) {
	return func(p *Panic) { c.Report(w, p) }
}

package session

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/record"
)

// mostStacks is how many panics of one process are written with their stacks.
const mostStacks = 20

// Panics counts the panics that boundaries caught in this process, whose status is then that of a tool that failed. A
// nil one counts nothing. Its methods are safe for concurrent use.
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
func (c *Panics) Report(w io.Writer, p *boundary.Panic) {
	if c.Add() <= mostStacks {
		plain.Fprintf(w, "plimsoll: %v: a defect of plimsoll; please report it with this stack\n%s\n", p, plain.Block(p.Stack))
	}
}

// runPanics gathers the panics of one run.
type runPanics struct {
	all   *Panics
	w     *record.Writer
	clock *clock.Clock

	mu    sync.Mutex
	n     int
	first *boundary.Panic
}

// note writes a panic of someone ("user 7") as an event.
func (r *runPanics) note(who string, p *boundary.Panic) {
	r.all.Add()
	r.mu.Lock()
	r.n++
	n := r.n
	if r.first == nil {
		r.first = p
	}
	r.mu.Unlock()
	if n > mostStacks {
		return
	}
	if who != "" {
		who += ": "
	}
	_ = r.w.Event(record.Event{At: r.clock.Now(), Kind: "panic", Rule: record.PanicGate, Text: who + p.Error() + "\n" + p.Stack})
}

// env is the handler for the environment that the users of a run share.
func (r *runPanics) env(p *boundary.Panic) { r.note("", p) }

// of returns the panic that an error is, and reports it.
func (r *runPanics) of(who string, err error) (is bool) {
	p, is := errors.AsType[*boundary.Panic](err)
	if is {
		r.note(who, p)
	}
	return is
}

// findings returns the run's findings.
func (r *runPanics) findings() []record.Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		return nil
	}
	text := "this program panicked: " + r.first.Error()
	if r.n > 1 {
		text = fmt.Sprintf("this program panicked %d times, first: %v", r.n, r.first)
	}
	return []record.Finding{{Gate: record.PanicGate, Level: record.Red, Value: float64(r.n),
		Text: text + "; a defect of plimsoll, whose stack is among the events of kind panic; please report it"}}
}

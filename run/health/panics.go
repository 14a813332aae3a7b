package health

import (
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/record"
)

// RunPanics gathers the panics of one run.
type RunPanics struct {
	all   *boundary.Panics
	w     *record.Writer
	clock *clock.Clock

	mu    sync.Mutex
	n     int
	first *boundary.Panic
}

// note writes a panic of someone ("user 7") as an event.
func (r *RunPanics) note(who string, p *boundary.Panic) {
	r.all.Add()
	r.mu.Lock()
	r.n++
	n := r.n
	if r.first == nil {
		r.first = p
	}
	r.mu.Unlock()
	if n > boundary.MostStacks {
		return
	}
	if who != "" {
		who += ": "
	}
	_ = r.w.Event(record.Event{
		At:   r.clock.Now(),
		Kind: "panic",
		Rule: record.PanicGate,
		Text: who + p.Error() + "\n" + p.Stack,
	})
}

// Note is the handler for the environment that the users of a run share.
func (r *RunPanics) Note(p *boundary.Panic) { r.note("", p) }

// Is reports whether an error of someone is a panic, and notes it.
func (r *RunPanics) Is(who string, err error) (is bool) {
	p, is := errors.AsType[*boundary.Panic](err)
	if is {
		r.note(who, p)
	}
	return is
}

// Findings returns the run's findings.
func (r *RunPanics) Findings() []record.Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		return nil
	}
	text := "this program panicked: " + r.first.Error()
	if r.n > 1 {
		text = fmt.Sprintf("this program panicked %d times, first: %v", r.n, r.first)
	}
	return []record.Finding{{
		Gate:  record.PanicGate,
		Level: record.Red,
		Value: float64(r.n),
		Text:  text + "; a defect of plimsoll, whose stack is among the events of kind panic; please report it",
	}}
}

// PanicsOf returns the gathering of the panics of one run, whose events have the time of a clock.
// all counts them too.
func PanicsOf(all *boundary.Panics, w *record.Writer, run *clock.Clock) *RunPanics {
	return &RunPanics{all: all, w: w, clock: run}
}

package session

import (
	"context"

	"plimsoll/run/health"
)

// catchPanics gathers the panics of this program.
func catchPanics(_ context.Context, r *run) error {
	r.panics = health.PanicsOf(r.Panics, r.w, r.clock)
	r.runner.OnPanic(r.panics.Note)
	return nil
}

// findPanics finds panics of this program.
func findPanics(_ context.Context, r *run) error {
	r.found(r.panics.Findings()...)
	return nil
}

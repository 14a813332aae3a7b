package session

import (
	"context"

	"plimsoll/run/users"
)

// countReceived begins to count what the users receive.
func countReceived(_ context.Context, r *run) error {
	if r.Place != nil {
		r.received = users.Count(r.Place)
	} else {
		r.received = users.Count(r.population)
	}
	return nil
}

// readStamps reads how the bytes of the run were dated.
func readStamps(_ context.Context, r *run) error {
	r.seen = r.received.Dated()
	r.seen.Budget = r.budget
	r.seen.OfAll = r.Place.OfAll()
	return nil
}

// readReceived reads what went beyond a limit.
func readReceived(_ context.Context, r *run) error {
	r.received.Refused(&r.seen)
	r.found(r.seen.Findings()...)
	return nil
}

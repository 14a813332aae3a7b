package session

import (
	"context"
	"errors"
)

// countStatements has the statements of the database counted over the measured phase. A pilot has
// none.
func countStatements(ctx context.Context, r *run) error {
	if r.Pilot || r.spec.Bounded == nil {
		return nil
	}
	r.statements = r.opener().Statements(r.sys, r.clock, r.Place != nil)
	r.closing(r.statements.Close)
	before := r.spec.Phase
	r.spec.Phase = func(name string) {
		if before != nil {
			before(name)
		}
		r.statements.Phase(ctx, name)
	}
	return nil
}

// endStatements waits for the counts, while the run still has its turns.
func endStatements(_ context.Context, r *run) error {
	if r.statements != nil {
		r.statements.Wait()
	}
	return nil
}

// writeStatements takes the plans and stores the statements.
func writeStatements(ctx context.Context, r *run) error {
	if r.statements == nil || ctx.Err() != nil {
		return nil
	}
	note, err := r.statements.Write(ctx, r.w)
	if note != "" {
		err = errors.Join(err, r.event("note", note))
	}
	return err
}

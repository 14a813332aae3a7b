package users

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/run/trial"
)

// A beforehand behavior reads the target before a run, for its audit.
type beforehand interface {
	Before(ctx context.Context, env workload.Env)
}

// auditorOf returns the first behavior that can audit acknowledged messages; nil if none can.
func auditorOf(mix []engine.Part) workload.Auditor {
	for _, part := range mix {
		if a, ok := part.Behavior.(workload.Auditor); ok {
			return a
		}
	}
	return nil
}

// Look lets the auditor see the target before a run. From the run's epoch on, users and arrivals
// change it.
func Look(ctx context.Context, mix []engine.Part, env workload.Env) {
	if b, ok := auditorOf(mix).(beforehand); ok {
		b.Before(ctx, env)
	}
}

// finishing is how long the behaviors have for what they do at the end.
const finishing = time.Minute

// Finish lets the behaviors of a mix do what is left to do at the target after a run.
func Finish(ctx context.Context, mix []engine.Part, env workload.Env) error {
	ctx, cancel := context.WithTimeout(ctx, finishing)
	defer cancel()
	var errs []error
	for _, part := range mix {
		if f, ok := part.Behavior.(workload.Finisher); ok && ctx.Err() == nil {
			err := boundary.Do("the end of a run", func() error { return f.Finish(ctx, env) })
			env.Panic(err)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Conduct returns the trial's view of the users: the mix, the messages, and the audit of
// acknowledged ones.
func Conduct(mix []engine.Part, env workload.Env) trial.Conduct {
	c := trial.Conduct{Tally: env.Tally, Ledger: env.Ledger}
	for _, part := range mix {
		if b, ok := part.Behavior.(workload.Undelivering); ok && c.Undelivered == "" {
			c.Undelivered = b.Undelivered()
		}
	}
	if a := auditorOf(mix); a != nil {
		c.Audit = func(ctx context.Context) (workload.AuditResult, error) {
			acked, share := env.Ledger.Messages()
			if len(acked) == 0 {
				return workload.AuditResult{Part: 1, Note: "nothing was acknowledged"}, nil
			}
			var res workload.AuditResult
			err := boundary.Do("the audit", func() (err error) {
				res, err = a.Audit(ctx, env, acked)
				return err
			})
			env.Panic(err)
			res.Part = share
			return res, err
		}
	}
	return c
}

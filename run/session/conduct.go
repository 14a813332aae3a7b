package session

import (
	"context"

	"plimsoll/internal/boundary"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/run/trial"
)

// A beforehand behavior reads the target before a run, for its audit.
type beforehand interface {
	Before(ctx context.Context, env workload.Env)
}

// auditorOf returns the first behavior that can audit acknowledged messages; nil if none can.
func auditorOf(sys *deploy.System) workload.Auditor {
	for _, part := range sys.Mix {
		if a, ok := part.Behavior.(workload.Auditor); ok {
			return a
		}
	}
	return nil
}

// look lets the auditor see the target before a run. From the run's epoch on, users and arrivals change it.
func look(ctx context.Context, sys *deploy.System) {
	if b, ok := auditorOf(sys).(beforehand); ok {
		b.Before(ctx, sys.Env())
	}
}

// storms translates a plan's stages.
func storms(stages []plan.Stage) []trial.TimedStorm {
	var out []trial.TimedStorm
	for _, s := range stages {
		out = append(out, trial.TimedStorm{At: s.At, Storm: workload.Storm{Kind: s.Storm, Share: s.Share, Over: s.Over, Params: s.Params}})
	}
	return out
}

// conduct is the trial's view of the users: the mix, the messages, and the audit of acknowledged ones.
func conduct(sys *deploy.System, env workload.Env) trial.Conduct {
	c := trial.Conduct{Tally: env.Tally, Ledger: env.Ledger}
	for _, part := range sys.Mix {
		if b, ok := part.Behavior.(workload.Undelivering); ok && c.Undelivered == "" {
			c.Undelivered = b.Undelivered()
		}
	}
	if a := auditorOf(sys); a != nil {
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

package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/record"
	"plimsoll/run/trial"
	"plimsoll/target"
)

// mostUnstarted is how many runs in a row may find their target unable to start before the comparison ends: then it
// is the plan or the host.
const mostUnstarted = 3

// unstarted leaves a sealed run of a target that did not start or could not be provisioned: a failure of its arm, and no reason to end the
// comparison.
func (s *Session) unstarted(ctx context.Context, sys *System, pt RunPart, cause error) (*record.Run, trial.Outcome, error) {
	if !errors.Is(cause, target.ErrProvision) { // the base was provisioned, or the comparison has ended
		s.starts++
	}
	if s.starts > mostUnstarted {
		return nil, trial.Outcome{}, fmt.Errorf("%d runs in a row did not start: resetting %s on %s: %w", s.starts, pt.Arm, cmp.Or(pt.Engine, "-"), cause)
	}
	r, err := s.stillborn(ctx, sys, pt, record.StartGate, cause, nil)
	return r, trial.Outcome{}, err
}

// inARow returns how many blocks of a duet in a row had no run that started, from the number before this one and the
// sessions of its runs.
func inARow(before int, sessions []*Session) int {
	for i := range sessions {
		if sessions[i].starts <= before {
			return 0
		}
	}
	return before + 1
}

// An unprovisioned deployment stands for one that could not be provisioned: it cannot be reset.
type unprovisioned struct {
	target.Deployment // nil
	spec              target.Spec
	cause             error
}

func (u unprovisioned) Reset(context.Context) error { return u.cause }

func (u unprovisioned) Describe() target.Description {
	return target.Description{Name: u.spec.Name, Driver: u.spec.Driver, Version: u.spec.Version, Instances: max(1, u.spec.Instances), CPUs: u.spec.CPUs, Engine: u.spec.Engine, Dataset: u.spec.Dataset}
}

// stillborn leaves a sealed run that is void by a gate, of which log is the output of the commands before it.
func (s *Session) stillborn(ctx context.Context, sys *System, pt RunPart, gate string, cause error, log []byte) (*record.Run, error) {
	m, err := s.manifest(sys, pt, time.Now(), 1)
	if err != nil {
		return nil, err
	}
	w, err := s.Store.Create(m)
	if err != nil {
		return nil, err
	}
	what := map[string]string{record.StartGate: "the target did not start", record.DeployGate: "the target is not as the plan wants it"}[gate]
	if errors.Is(cause, target.ErrProvision) && gate == record.StartGate {
		what = "the target could not be provisioned"
	}
	validity := record.Validity{Valid: true}
	f := record.Finding{Gate: gate, Level: record.Red, Text: what + ": " + cause.Error()}
	validity.Add(f)
	err = errors.Join(writeCommands(w.Dir(), log), w.Event(f.Event()))
	_, serr := w.Seal(ctx, validity, "")
	if err = errors.Join(err, serr); err != nil {
		return nil, fmt.Errorf("run %s: %w", m.ID, err)
	}
	return record.Open(w.Dir())
}

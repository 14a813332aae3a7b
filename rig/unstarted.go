package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/run/record"
	"plimsoll/run/trial"
)

// mostUnstarted is how many runs in a row may find their target unable to start before the comparison ends: then it
// is the plan or the host.
const mostUnstarted = 3

// unstarted leaves a sealed run of a target that did not start: a failure of its arm, and no reason to end the
// comparison.
func (s *Session) unstarted(ctx context.Context, sys *System, pt RunPart, cause error) (*record.Run, trial.Outcome, error) {
	if s.starts++; s.starts > mostUnstarted {
		return nil, trial.Outcome{}, fmt.Errorf("%d runs in a row did not start: resetting %s on %s: %w", s.starts, pt.Arm, cmp.Or(pt.Engine, "-"), cause)
	}
	m, err := s.manifest(sys, pt, time.Now(), 1)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	w, err := s.Store.Create(m)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	out := trial.Outcome{Validity: record.Validity{Valid: true}}
	f := record.Finding{Gate: record.StartGate, Level: record.Red, Text: "the target did not start: " + cause.Error()}
	out.Validity.Add(f)
	err = w.Event(record.Event{Kind: "finding", Level: f.Level, Rule: f.Gate, Text: f.Text})
	_, serr := w.Seal(ctx, out.Validity, "")
	if err = errors.Join(err, serr); err != nil {
		return nil, out, fmt.Errorf("run %s: %w", m.ID, err)
	}
	r, err := record.Open(w.Dir())
	return r, out, err
}

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/trial"
	"plimsoll/target"
)

// mostUnstarted is how many runs in a row may find their target unable to start before the comparison ends: then it
// is the plan or the host.
const mostUnstarted = 3

// unstarted leaves a sealed run of a target that did not start or could not be provisioned: a failure of its arm, and no reason to end the
// comparison.
func (s *Session) unstarted(ctx context.Context, sys *deploy.System, pt RunPart, cause error) (*record.Run, trial.Outcome, error) {
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

// mostUndeployed is the number of runs in a row, of one arm or of all, without a target as the plan
// wants it that ends a comparison: then it is the command or the target.
const mostUndeployed = 3

// ready prepares the target of a run by the plan's commands. In a duet it looks at the version again
// when the targets of all arms are prepared: two addresses may lead to one server, where the last
// installation is everybody's. It returns the output of the commands, also with an error.
func (s *Session) ready(ctx context.Context, sys *deploy.System, pt RunPart) ([]byte, error) {
	site := sys.Installation
	log, err := site.Prepare(ctx, deploy.Preparation{
		Block: pt.Block, Run: pt.Order, Length: s.length(pt), Progress: s.Progress,
	})
	if err != nil || pt.Place == nil {
		return log, err
	}
	if err := pt.Place.muster(ctx); err != nil {
		return log, err
	}
	if err := site.CheckRelease(ctx); err != nil {
		return log, fmt.Errorf("before the first turn, after the other arms were prepared: %w", err)
	}
	return log, nil
}

// undeployed leaves a sealed, void run of which the target was not as the plan wants it. The third
// in a row is returned with an error, which ends the comparison.
func (s *Session) undeployed(ctx context.Context, sys *deploy.System, pt RunPart, cause error,
	log []byte) (*record.Run, error) {
	failure := sys.Installation.Failed(cause)
	gate := record.DeployGate
	if failure.OfArm {
		gate = record.StartGate
	}
	r, err := s.stillborn(ctx, sys, pt, gate, cause, log)
	if err == nil && failure.InARow >= mostUndeployed {
		err = fmt.Errorf("%d runs in a row had no target as the plan wants it: mend what the last "+
			"one reports, and go on with compare -resume: %w", failure.InARow, cause)
	}
	return r, err
}

// stillborn leaves a sealed run that is void by a gate, of which log is the output of the commands before it.
func (s *Session) stillborn(ctx context.Context, sys *deploy.System, pt RunPart, gate string, cause error, log []byte) (*record.Run, error) {
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

// commandsFile is the file of a run with the output of the plan's commands before it.
const commandsFile = "commands.log"

// writeCommands puts the output of the commands beside the records of a run.
func writeCommands(dir string, log []byte) error {
	if len(log) == 0 {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, commandsFile), log, 0o600); err != nil {
		return fmt.Errorf("writing the output of the commands: %w", err)
	}
	return nil
}

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/target"
)

const (
	// mostUnstarted limits the runs in a row that find their target unable to start before the
	// comparison ends: then it is the plan or the host.
	mostUnstarted = 3
	// mostUndeployed is the number of runs in a row, of one arm or of all, without a target as the
	// plan wants it that ends a comparison: then it is the command or the target.
	mostUndeployed = 3
)

// prepare brings the target into the state that the run begins with. When it cannot, and the run is
// one of a comparison, it returns the void run that tells so.
func (r *run) prepare(ctx context.Context) (void *record.Run, err error) {
	switch {
	case r.Keep:
		return nil, nil
	case r.sys.Installation != nil:
		return r.install(ctx)
	}
	r.Progress.Doing("resetting", r.length())
	err = r.sys.Reset(ctx)
	if err == nil {
		return nil, nil
	}
	failed := errors.Is(err, target.ErrStart) || errors.Is(err, target.ErrProvision)
	if failed && r.Comparison != "" && !r.Pilot && ctx.Err() == nil {
		return r.unstarted(ctx, err)
	}
	return nil, fmt.Errorf("resetting %s: %w", r.name(), err)
}

// length returns how long the run may take, resets left out.
func (r *run) length() time.Duration { return r.Plan.RunLength(r.Bounded, r.Unbounded) }

// install prepares the target by the plan's commands.
func (r *run) install(ctx context.Context) (void *record.Run, err error) {
	r.commands, err = r.ready(ctx)
	if err == nil {
		r.sys.Installation.Succeeded()
		return nil, nil
	}
	_, usage := errors.AsType[plan.UsageError](err)
	if usage || ctx.Err() != nil || r.Comparison == "" {
		return nil, fmt.Errorf("preparing %s: %w", r.name(), err)
	}
	return r.undeployed(ctx, err)
}

// ready carries out the plan's commands. In a duet it looks at the version again when the targets
// of all arms are prepared: two addresses may lead to one server, where the last installation is
// everybody's. It returns the output of the commands, also with an error.
func (r *run) ready(ctx context.Context) ([]byte, error) {
	site := r.sys.Installation
	log, err := site.Prepare(ctx, deploy.Preparation{
		Block: r.Block, Run: r.Order, Length: r.length(), Progress: r.Progress,
	})
	if err != nil || r.Place == nil {
		return log, err
	}
	if err := r.Place.Muster(ctx); err != nil {
		return log, err
	}
	if err := site.CheckRelease(ctx); err != nil {
		err = fmt.Errorf("before the first turn, after the other arms were prepared: %w", err)
		return log, err
	}
	return log, nil
}

// unstarted leaves a void run of a target that did not start or could not be provisioned: a failure
// of its arm, and no reason to end the comparison.
func (r *run) unstarted(ctx context.Context, cause error) (*record.Run, error) {
	provision := errors.Is(cause, target.ErrProvision)
	if !provision { // the base was provisioned, or the comparison has ended
		r.starts++
	}
	if r.starts > mostUnstarted {
		return nil, fmt.Errorf("%d runs in a row did not start: resetting %s: %w",
			r.starts, r.name(), cause)
	}
	what := "the target did not start"
	if provision {
		what = "the target could not be provisioned"
	}
	return r.stillborn(ctx, record.StartGate, what, cause)
}

// undeployed leaves a void run, whose target was not as the plan wants it. The third in a row
// is returned with an error, which ends the comparison.
func (r *run) undeployed(ctx context.Context, cause error) (*record.Run, error) {
	failure := r.sys.Installation.Failed(cause)
	gate, what := record.DeployGate, "the target is not as the plan wants it"
	if failure.OfArm {
		gate, what = record.StartGate, "the target did not start"
		if errors.Is(cause, target.ErrProvision) {
			what = "the target could not be provisioned"
		}
	}
	void, err := r.stillborn(ctx, gate, what, cause)
	if err == nil && failure.InARow >= mostUndeployed {
		err = fmt.Errorf("%d runs in a row had no target as the plan wants it: mend what the last "+
			"one reports, and go on with compare -resume: %w", failure.InARow, cause)
	}
	return void, err
}

// stillborn leaves a sealed run that is void by a gate.
func (r *run) stillborn(ctx context.Context, gate, what string, cause error) (*record.Run, error) {
	m, err := r.manifest(time.Now(), 1)
	if err != nil {
		return nil, err
	}
	if r.w, err = r.Store.Create(m); err != nil {
		return nil, err
	}
	validity := record.Validity{Valid: true}
	f := record.Finding{Gate: gate, Level: record.Red, Text: what + ": " + cause.Error()}
	validity.Add(f)
	err = errors.Join(writeCommands(ctx, r), r.w.Event(f.Event()))
	_, unsealed := r.w.Seal(ctx, validity, "")
	if err = errors.Join(err, unsealed); err != nil {
		return nil, fmt.Errorf("run %s: %w", m.ID, err)
	}
	return record.Open(r.w.Dir())
}

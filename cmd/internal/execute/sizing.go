package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/cmd/internal/read"
	"plimsoll/plan"
	"plimsoll/plan/draft"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/deploy"
	"plimsoll/run/session"
	"plimsoll/run/sizing"
)

// Sizing is the verb for a ladder of load steps: a grade for each, and advice.
func Sizing(ctx context.Context, a *app.App) error {
	fs := a.Flags
	root := a.StoreFlag()
	asJSON := fs.Bool("json", false, "write the report as JSON")
	engine, arm := a.PartFlags()
	rate := a.CalibrateFlag()
	keep := a.KeepFlag()
	a.OutwardFlags()
	users := fs.Int("users", 0, "with a URL: users of the highest step (default 200)")
	first := noplan.AddFlags(fs)
	rest, err := a.Parse(1, 1)
	if err != nil {
		return err
	}
	p, next, err := planAt(ctx, a, draft.Graded, rest[0], *users, first)
	if err != nil {
		return err
	}
	if next == "" && *users != 0 {
		return plan.Usagef("-users goes with the URL of a server; write sizing.steps into the plan")
	}
	if p.Sizing == nil {
		return plan.Usagef(
			"%s: the plan has no section sizing; add one, such as sizing: {steps: [50, 200, 400]}",
			rest[0],
		)
	}
	pt := session.RunPart{Arm: *arm, Engine: *engine}
	if p, err = a.Program().Narrow(p, &pt, 0); err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	a.Clearance.Part = &pt
	s, end, err := session.Begin(ctx, a.Program(), p, *root, *rate)
	if err != nil {
		return err
	}
	defer end()
	deployed := s.NewDeployments()
	deployed.Kept = *keep
	defer deployed.Close()
	z := &record.Sizing{
		ID:         store.NewID(time.Now(), p.Name),
		Name:       p.Name,
		Tool:       a.Program().Version,
		Plan:       p.String(),
		PlanDigest: p.Digest(),
		Engine:     pt.Engine,
		Started:    time.Now(),
		State:      record.Running,
		Planned:    p.Sizing.Steps,
	}
	pt.Comparison = z.ID
	l := &sizing.Ladder{
		Session: s,
		Plan:    p,
		Part:    pt,
		Record:  z,
		Prefix:  label(rest[0], draft.Graded, next),
	}
	if err := climb(ctx, l, deployed); err != nil {
		return err
	}
	s.Progress.End()
	// The results of an interrupted ladder are reported too.
	err = read.ConcludeSizing(context.WithoutCancel(ctx), a, s.Store, z, *asJSON)
	goOn(a, next, *asJSON)
	return err
}

// climb carries out a ladder, takes down its deployments, and stores its record. The end of ctx is
// no error: the record says that it interrupted the ladder.
func climb(ctx context.Context, l *sizing.Ladder, deployed *deploy.Deployments) error {
	z := l.Record
	err := l.Climb(ctx, deployed)
	deployed.Close()
	z.Ended = time.Now()
	switch {
	case err != nil:
		z.State, z.Why = record.Interrupted, err.Error()
	case ctx.Err() != nil:
		z.State, z.Why = record.Interrupted, context.Cause(ctx).Error()
	default:
		z.State = record.Sealed
		deployed.Clear()
	}
	return errors.Join(err, l.Session.Store.SaveSizing(z))
}

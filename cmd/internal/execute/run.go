// Package execute holds the verbs that carry out runs: run, capacity, sizing, compare and demo.
package execute

import (
	"context"
	"fmt"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/cmd/internal/read"
	"plimsoll/plan/draft"
	"plimsoll/record"
	"plimsoll/run/compare"
	"plimsoll/run/session"
	"plimsoll/run/trial"
)

// Run is the verb for one bounded trial.
func Run(ctx context.Context, a *app.App) error {
	return single(ctx, a, true)
}

// Capacity is the verb for one unbounded trial.
func Capacity(ctx context.Context, a *app.App) error {
	return single(ctx, a, false)
}

// single is the verb for one trial of a plan, bounded or not.
func single(ctx context.Context, a *app.App, bounded bool) error {
	fs := a.Flags
	root := a.StoreFlag()
	asJSON := fs.Bool("json", false, "write the run as JSON")
	engine, arm := a.PartFlags()
	users := fs.Int(
		"users",
		0,
		"users of the bounded test, or start of the search, instead of the plan's",
	)
	rate := a.CalibrateFlag()
	keep := a.KeepFlag()
	a.OutwardFlags()
	first := noplan.AddFlags(fs)
	rest, err := a.Parse(1, 1)
	if err != nil {
		return err
	}
	question := draft.Hold
	if !bounded {
		question = draft.Supported
	}
	p, next, err := planAt(ctx, a, question, rest[0], *users, first)
	if err != nil {
		return err
	}
	pt := session.RunPart{
		Arm:       *arm,
		Engine:    *engine,
		Bounded:   bounded,
		Unbounded: !bounded,
		Start:     *users,
	}
	if p, err = a.Program().Narrow(p, &pt, *users); err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	a.Clearance.Part = &pt
	calibrated := *rate && (next == "" || !bounded) // a first answer takes a minute
	s, end, err := session.Begin(ctx, a.Program(), p, *root, calibrated)
	if err != nil {
		return err
	}
	defer end()
	r, out, err := carryOut(ctx, s, pt, label(rest[0], question, next), *keep)
	if err != nil {
		return err
	}
	if err := read.ConcludeRun(ctx, a, r, *asJSON); err != nil {
		return err
	}
	goOn(a, next, *asJSON)
	return judged(ctx, a, r, out, *asJSON)
}

// carryOut deploys the system of a part of a plan, carries the part out and removes the system.
func carryOut(
	ctx context.Context,
	s *session.Session,
	pt session.RunPart,
	what string,
	keep bool,
) (*record.Run, trial.Outcome, error) {
	var none trial.Outcome
	if err := s.Foretell(pt); err != nil {
		return nil, none, err
	}
	if err := compare.FindUsers(ctx, s, pt); err != nil {
		return nil, none, err
	}
	deployed := s.NewDeployments()
	deployed.Kept = keep
	defer deployed.Close()
	s.Progress.What(what, 0)
	sys, err := deployed.System(ctx, s.Need(pt))
	if err != nil {
		return nil, none, err
	}
	r, out, err := s.Trial(ctx, sys, pt)
	deployed.Close()
	if err != nil {
		return nil, none, err
	}
	if out.Interrupted == "" {
		deployed.Clear()
	}
	s.Progress.End()
	return r, out, nil
}

// judged prints what a run has broken, and returns its exit status as an error.
func judged(ctx context.Context, a *app.App, r *record.Run, out trial.Outcome, asJSON bool) error {
	status := foundStatus(r.Validity.Valid, out.Capacity)
	if out.Interrupted != "" && ctx.Err() != nil {
		status = exit.Tool
	}
	if c := out.Capacity; c != nil && c.Kind == record.Unstable && asJSON {
		a.Tellf("plimsoll: the search is unstable: %s\n", c.Why)
	}
	for _, b := range out.Warned {
		a.Tellf("plimsoll: warning: %s\n", b)
	}
	for _, b := range out.Broken {
		a.Tellf("plimsoll: rule broken: %s\n", b)
		status = exit.Worst(status, exit.SLO)
	}
	return exit.With(status)
}

// foundStatus is the exit status of a run by its validity and by the result of its search.
func foundStatus(valid bool, c *record.Capacity) int {
	switch {
	case !valid || c != nil && c.Kind == record.Invalid:
		return exit.Invalid
	case c != nil && c.Kind == record.Unstable:
		return exit.Inconclusive
	}
	return exit.OK
}

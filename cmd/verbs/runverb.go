package verbs

import (
	"context"
	"flag"
	"fmt"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/internal/plain"
	"plimsoll/plan/draft"
	"plimsoll/record"
	"plimsoll/run/compare"
	"plimsoll/run/session"
)

// bounded is the verb run: one bounded trial.
func (a *app) bounded(ctx context.Context, fs *flag.FlagSet, args []string) error {
	return a.single(ctx, fs, args, true)
}

// capacity is the verb for one unbounded trial.
func (a *app) capacity(ctx context.Context, fs *flag.FlagSet, args []string) error {
	return a.single(ctx, fs, args, false)
}

// single carries out one trial of a plan.
func (a *app) single(ctx context.Context, fs *flag.FlagSet, args []string, bounded bool) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the run as JSON")
	engine := fs.String("database", "", "database engine, when the plan has several (default its first)")
	arm := fs.String("arm", "", "arm, when the plan compares some (default base)")
	users := fs.Int("users", 0, "users of the bounded test, or start of the search, instead of the plan's")
	rate := a.calibrateFlag(fs)
	keep := keepFlag(fs)
	a.outwardFlags(fs)
	first := noplan.AddFlags(fs)
	rest, err := parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	question := draft.Hold
	if !bounded {
		question = draft.Supported
	}
	p, next, err := a.planAt(ctx, question, rest[0], *users, first)
	if err != nil {
		return err
	}
	pt := session.RunPart{Arm: *arm, Engine: *engine, Bounded: bounded, Unbounded: !bounded, Start: *users}
	if p, err = a.program().Narrow(p, &pt, *users); err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	a.clearance.Part = &pt
	s, end, err := session.Begin(ctx, a.program(), p, *root, *rate && (next == "" || !bounded)) // a first answer takes a minute
	if err != nil {
		return err
	}
	defer end()
	if err := s.Foretell(pt); err != nil {
		return err
	}
	if err := compare.FindUsers(ctx, s, pt); err != nil {
		return err
	}
	deployed := s.NewDeployments()
	deployed.Kept = *keep
	defer deployed.Close()
	s.Progress.What(label(rest[0], question, next), 0)
	sys, err := deployed.System(ctx, s.Need(pt))
	if err != nil {
		return err
	}
	r, out, err := s.Trial(ctx, sys, pt)
	deployed.Close()
	if err != nil {
		return err
	}
	if out.Interrupted == "" {
		deployed.Clear()
	}
	s.Progress.End()
	sh, err := a.look(context.WithoutCancel(ctx), r)
	if err != nil {
		return err
	}
	if *asJSON {
		err = a.json(sh)
	} else {
		err = sh.screen(r.Dir).Write(a.stdout, 0)
	}
	if err != nil {
		return err
	}
	a.goOn(next, *asJSON)
	var statuses []int
	if out.Interrupted != "" && ctx.Err() != nil {
		statuses = append(statuses, exit.Tool)
	} else {
		statuses = append(statuses, foundStatus(r.Validity.Valid, out.Capacity))
	}
	if c := out.Capacity; c != nil && c.Kind == record.Unstable && *asJSON {
		plain.Fprintf(a.stderr, "plimsoll: the search is unstable: %s\n", c.Why)
	}
	for _, b := range out.Warned {
		plain.Fprintf(a.stderr, "plimsoll: warning: %s\n", b)
	}
	if len(out.Broken) > 0 {
		for _, b := range out.Broken {
			plain.Fprintf(a.stderr, "plimsoll: rule broken: %s\n", b)
		}
		statuses = append(statuses, exit.SLO)
	}
	if status := exit.Worst(statuses...); status != exit.OK {
		return exit.StatusError(status)
	}
	return nil
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

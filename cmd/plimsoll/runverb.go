package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/record"
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
	a.outwardFlags(fs)
	rest, err := parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	p, err := a.readPlan(rest[0])
	if err != nil {
		return err
	}
	pt := part{arm: *arm, engine: *engine, bounded: bounded, unbounded: !bounded, start: *users}
	if p, err = a.narrow(p, &pt, *users); err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	s, end, err := a.begin(ctx, p, *root, *rate)
	if err != nil {
		return err
	}
	defer end()
	deployed := s.newDeployments()
	defer deployed.close()
	s.prog.what(rest[0], 0)
	sys, err := deployed.system(ctx, pt)
	if err != nil {
		return err
	}
	if err := s.foretell(pt); err != nil {
		return err
	}
	r, out, err := s.trial(ctx, sys, pt)
	deployed.close()
	if err != nil {
		return err
	}
	s.prog.end()
	sh, err := look(context.WithoutCancel(ctx), r)
	if err != nil {
		return err
	}
	if *asJSON {
		err = a.json(sh)
	} else {
		a.printRun(sh, false)
		_, err = plain.Fprintf(a.stdout, "\nrun: %s\n", r.Dir)
	}
	if err != nil {
		return err
	}
	var statuses []int
	if out.Interrupted != "" && ctx.Err() != nil {
		statuses = append(statuses, exitTool)
	} else {
		statuses = append(statuses, foundStatus(r.Validity.Valid, out.Capacity))
	}
	if c := out.Capacity; c != nil && c.Kind == record.Unstable {
		plain.Fprintf(a.stderr, "plimsoll: the search is unstable: %s\n", c.Why)
	}
	for _, b := range out.Warned {
		plain.Fprintf(a.stderr, "plimsoll: warning: %s\n", b)
	}
	if len(out.Broken) > 0 {
		for _, b := range out.Broken {
			plain.Fprintf(a.stderr, "plimsoll: rule broken: %s\n", b)
		}
		statuses = append(statuses, exitSLO)
	}
	if status := worst(statuses...); status != exitOK {
		return statusError(status)
	}
	return nil
}

// foundStatus is the exit status of a run by its validity and by what its search found.
func foundStatus(valid bool, c *record.Capacity) int {
	switch {
	case !valid || c != nil && c.Kind == record.Invalid:
		return exitInvalid
	case c != nil && c.Kind == record.Unstable:
		return exitInconclusive
	}
	return exitOK
}

// foretell says before a search how long it may take.
func (s *session) foretell(pt part) error {
	search := s.spec(pt, nil, nil, nil, nil, time.Time{}).Search
	if search == nil {
		return nil
	}
	f, err := search.Forecast()
	if err != nil {
		return usagef("unbounded: %w", err)
	}
	s.prog.say("search from %d to at most %d users: %v", search.Start, search.Max, f)
	return nil
}

// narrow checks that the plan has the test and picks engine and arm.
func (a *app) narrow(p *plan.Plan, pt *part, users int) (*plan.Plan, error) {
	p = withDefaultRules(p)
	switch {
	case pt.bounded && p.Bounded == nil:
		return nil, usagef("the plan has no bounded test; add a bounded section, or use capacity")
	case pt.unbounded && p.Unbounded == nil:
		return nil, usagef("the plan has no unbounded test; add an unbounded section, or use run")
	}
	if p.Compare != nil && pt.arm == "" {
		pt.arm = plan.Base
	}
	asked := pt.engine
	pt.engine = p.EngineOf(pt.arm, asked)
	if asked != "" && asked != pt.engine {
		return nil, usagef("-database %s: the arm %s has a database of its own, %s", asked, pt.arm, pt.engine)
	}
	if pt.arm != "" {
		if p.Compare == nil {
			return nil, usagef("-arm %s: the plan compares no arms", pt.arm)
		}
		if _, ok := p.Compare.Arm(pt.arm); !ok {
			return nil, usagef("-arm %s: the plan has no such arm", pt.arm)
		}
	}
	q := *p
	if users > 0 && pt.bounded {
		b := *p.Bounded
		b.Users = plan.PerEngine{"": users}
		q.Bounded = &b
	}
	if users < 0 {
		return nil, usageError{errors.New("-users: want a number above 0")}
	}
	if pt.unbounded && users > p.Unbounded.MaxUsers {
		return nil, usagef("-users %d: the search would start above unbounded.max_users, which is %d; start lower, or raise that in the plan", users, p.Unbounded.MaxUsers)
	}
	if pt.engine != "" {
		found := false
		for _, e := range p.Engines() {
			found = found || e == pt.engine
		}
		if !found {
			return nil, usagef("-database %s: the plan has %v", pt.engine, p.Engines())
		}
	}
	return &q, nil
}

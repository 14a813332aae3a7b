package session

import (
	"context"

	"plimsoll/plan"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/run/preflight"
	"plimsoll/run/users"
)

// A Clearance is what a program's preflight needs besides the plan, and whether there was one. The
// program carries it out once.
type Clearance struct {
	// Source is the text of the plan's file, for the places of problems; nil where there is none.
	Source []byte
	// Part is the only part of the plan that is carried out; nil means all of it.
	Part *RunPart

	done     bool
	accounts *users.UsersFile
}

// Preflight checks what can be known of a plan before work begins, see [preflight.Inspection.Do].
func (pr *Program) Preflight(ctx context.Context, p *plan.Plan, root string) (
	r preflight.Result, err error,
) {
	c := pr.clearance()
	c.done = true
	f := &preflight.Inspection{
		Resolver: pr.Resolver,
		Plan:     p,
		Root:     root,
		Fleet:    pr.Fleet,
		Keys:     pr.keyFile(root),
		Reached:  pr.Out != nil && (pr.Out.Listen != "" || pr.Out.Push != ""),
	}
	if c.Part != nil {
		part := c.Part.ofPlan()
		f.Part = &part
	}
	r, c.accounts, err = f.Do(ctx)
	return r, err
}

// preflight is [Program.Preflight] of a verb that carries a plan out: problems are its error, and
// the rest is told. A program that another of ours started after its own preflight only reads the
// accounts.
func (pr *Program) preflight(ctx context.Context, p *plan.Plan, root string) (err error) {
	if pr.clearance().done {
		return nil
	}
	if sandbox.Inside(pr.Env) {
		pr.clearance().accounts, err = users.ReadUsersFile(p)
		return err
	}
	r, err := pr.Preflight(ctx, p, root)
	if err != nil {
		return err
	}
	pr.Tell(r)
	if len(r.Problems) > 0 {
		return pr.Grounded(r, "the plan %s cannot be carried out here", p.Name)
	}
	return nil
}

// Tell writes the cautions of a preflight, and what it left out.
func (pr *Program) Tell(r preflight.Result) {
	r.Tell(pr.Warn, pr.clearance().Source)
}

// Grounded returns the problems of a preflight as bad usage, each at its place in the plan, below a
// line of a format and its arguments.
func (pr *Program) Grounded(r preflight.Result, format string, args ...any) error {
	return r.Grounded(pr.clearance().Source, format, args...)
}

// clearance returns the program's clearance, which is made at the first call.
func (pr *Program) clearance() *Clearance {
	if pr.Clearance == nil {
		pr.Clearance = new(Clearance)
	}
	return pr.Clearance
}

package execute

import (
	"context"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/ask"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/plan"
	"plimsoll/plan/draft"
)

// planAt returns the plan of a file, or of a question to the server at an address, of which next is
// the line after the result. Secrets that a person types are in the environment from then on.
func planAt(
	ctx context.Context,
	a *app.App,
	q draft.Question,
	arg string,
	users int,
	f *noplan.Flags,
) (p *plan.Plan, next string, err error) {
	if !noplan.IsAddress(arg) {
		if err := f.Unused(); err != nil {
			return nil, "", err
		}
		p, err = a.ReadPlan(arg)
		return p, "", err
	}
	_, terminal := a.Raw()
	r := noplan.Request{
		Question: q,
		Address:  arg,
		Users:    users,
		Flags:    f,
		Program:  a.Program(),
		Known:    a.Known(),
		Person:   ask.New(a.Stdin, terminal),
		Talk:     a.Stderr,
		Complete: a.Complete,
	}
	p, env, err := r.Make(ctx)
	if err != nil {
		return nil, "", err
	}
	a.Env = env
	return p, f.Next(q, noplan.URL(arg)), nil
}

// label is what the lines of progress begin with: the file of the plan, or a word in place of a
// long address.
func label(arg string, q draft.Question, next string) string {
	if next == "" {
		return arg
	}
	return string(q)
}

// goOn prints the line after a result; none if it is empty.
func goOn(a *app.App, next string, asJSON bool) {
	switch {
	case next == "":
	case asJSON:
		a.Tellf("%s\n", next)
	default:
		a.Printf("\n%s\n", next)
	}
}

package verbs

import (
	"context"
	"flag"

	"plimsoll/cmd/internal/ask"
	"plimsoll/cmd/internal/interview"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/dialect/mattermost"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/plan/draft"
)

// planAt returns the plan of a file, or of a question to the server at an address, of which next is the line after the
// result. Secrets that a person types are in the environment from then on.
func (a *app) planAt(ctx context.Context, q draft.Question, arg string, users int, f *noplan.Flags) (p *plan.Plan, next string, err error) {
	if !noplan.IsAddress(arg) {
		if err := f.Unused(); err != nil {
			return nil, "", err
		}
		p, err = a.readPlan(arg)
		return p, "", err
	}
	_, terminal := a.raw()
	r := noplan.Request{Question: q, Address: arg, Users: users, Flags: f, Program: a.program(), Known: a.known(),
		Person: ask.New(a.stdin, terminal), Talk: a.stderr}
	p, env, err := r.Make(ctx)
	if err != nil {
		return nil, "", err
	}
	a.env = env
	return p, f.Next(q, noplan.URL(arg)), nil
}

// label is what the lines of progress begin with: the file of the plan, or a word in place of a long address.
func label(arg string, q draft.Question, next string) string {
	if next == "" {
		return arg
	}
	return string(q)
}

// goOn prints the line after a result; none if it is empty.
func (a *app) goOn(next string, asJSON bool) {
	switch {
	case next == "":
	case asJSON:
		plain.Fprintf(a.stderr, "%s\n", next)
	default:
		plain.Fprintf(a.stdout, "\n%s\n", next)
	}
}

// initPlan is the verb that asks five questions and writes a plan.
func (a *app) initPlan(ctx context.Context, fs *flag.FlagSet, args []string) error {
	file := fs.String("o", "plimsoll.yaml", "new `file` for the plan")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	if err := noplan.Free(*file); err != nil {
		return err
	}
	_, terminal := a.raw()
	facts, err := interview.Ask(ctx, ask.New(a.stdin, terminal), draft.Facts{File: *file,
		Behavior: noplan.Behavior(a.dialects()[0], ""), With: mattermost.Posting, Driver: mattermost.Release})
	if err != nil {
		return plan.UsageError{Err: err}
	}
	text, _, err := noplan.Compose(facts, a.known(), a.dialects())
	if err != nil {
		return err
	}
	if err := noplan.Save(*file, text); err != nil {
		return err
	}
	_, err = plain.Fprintf(a.stdout, "%s: good; plimsoll plan check %s, then plimsoll %s %s\n", *file, *file, facts.Question, *file)
	return err
}

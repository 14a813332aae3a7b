package plans

import (
	"context"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/ask"
	"plimsoll/cmd/internal/interview"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/dialect/mattermost"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/plan/draft"
)

// Init is the verb that asks five questions and writes a plan.
func Init(ctx context.Context, a *app.App) error {
	file := a.Flags.String("o", "plimsoll.yaml", "new `file` for the plan")
	if _, err := a.Parse(0, 0); err != nil {
		return err
	}
	if err := noplan.Free(*file); err != nil {
		return err
	}
	_, terminal := a.Raw()
	facts, err := interview.Ask(ctx, ask.New(a.Stdin, terminal), draft.Facts{
		File:     *file,
		Behavior: noplan.Behavior(a.Dialects()[0], ""),
		With:     mattermost.Posting,
		Driver:   mattermost.Release,
	})
	if err != nil {
		return plan.UsageError{Err: err}
	}
	text, _, err := noplan.Compose(facts, a.Known(), a.Dialects())
	if err != nil {
		return err
	}
	if err := noplan.Save(*file, text); err != nil {
		return err
	}
	_, err = plain.Fprintf(
		a.Stdout,
		"%s: good; plimsoll plan check %s, then plimsoll %s %s\n",
		*file,
		*file,
		facts.Question,
		*file,
	)
	return err
}

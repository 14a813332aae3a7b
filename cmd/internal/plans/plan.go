// Package plans holds the verbs that make and check plans: plan and init.
package plans

import (
	"context"
	"io"

	"plimsoll/cmd/internal/app"
	"plimsoll/plan"
	"plimsoll/run/session"
)

// Plan is the verb that validates and prints plans.
func Plan(ctx context.Context, a *app.App) error {
	fs := a.Flags
	asJSON := fs.Bool("json", false, "write the outcome as JSON")
	online := fs.Bool(
		"online",
		false,
		"check: also the files, variables, addresses and accounts that the plan names, and this host, as every run does before it begins",
	)
	root := a.StoreFlag()
	mix, mixOut := mixFlags(fs)
	rest, err := a.Parse(1, 2)
	if err != nil {
		return err
	}
	switch {
	case rest[0] == "schema" && len(rest) == 1:
		_, err := a.Stdout.Write(plan.Schema())
		return err
	case rest[0] == "mix" && len(rest) == 1:
		return importMix(ctx, a, *mix, *mixOut)
	case rest[0] != "check" && rest[0] != "print" || len(rest) != 2:
		return plan.Usagef("want check FILE, print FILE, schema or mix; see plimsoll plan -h")
	}
	c := check{app: a, file: rest[1], online: *online}
	c.plan, c.bad = a.ReadPlan(c.file)
	if c.bad == nil && rest[0] == "check" {
		if err := c.look(ctx, *root, *asJSON); err != nil {
			return err
		}
	}
	if c.bad == nil {
		if c.forecasts, err = session.Outlooks(c.plan); err != nil {
			return err
		}
	}
	switch {
	case *asJSON:
		return c.json(ctx)
	case c.bad != nil:
		return c.bad
	case rest[0] == "print":
		_, err := io.WriteString(a.Stdout, c.plan.String())
		return err
	}
	return c.text(ctx)
}

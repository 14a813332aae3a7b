package plans

import (
	"context"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/dialect/script"
	"plimsoll/internal/plain"
	"plimsoll/load/script/bundle"
	"plimsoll/plan"
)

// Script is the verb that checks scripts.
func Script(_ context.Context, a *app.App) error {
	asJSON := a.Flags.Bool("json", false, "write the constructs as JSON")
	rest, err := a.Parse(2, 2)
	if err != nil {
		return err
	}
	if rest[0] != "check" {
		return plan.Usagef("want check FILE; see plimsoll script -h")
	}
	all, err := script.Check(rest[1], a.Program().Beforehand(&plan.Plan{}))
	if err != nil {
		return plan.UsageError{Err: err}
	}
	out := struct {
		File       string             `json:"file"`
		OK         bool               `json:"ok"`
		Constructs []bundle.Construct `json:"constructs,omitempty"`
	}{rest[1], true, all}
	for _, c := range all {
		out.OK = out.OK && c.Note
	}
	if *asJSON {
		err = a.JSON(out)
	} else {
		err = listed(a, all, out.OK)
	}
	if err == nil && !out.OK {
		err = exit.StatusError(exit.Usage)
	}
	return err
}

// listed writes the constructs for people, a line each.
func listed(a *app.App, all []bundle.Construct, ok bool) error {
	for _, c := range all {
		text := c.String()
		if c.Note {
			text += " (a note)"
		}
		if _, err := plain.Fprintf(a.Stdout, "%s\n", text); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	_, err := plain.Fprintf(a.Stdout, "all of it runs here\n")
	return err
}

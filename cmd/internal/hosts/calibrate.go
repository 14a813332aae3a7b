package hosts

import (
	"context"
	"io"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/dialect/mattermost"
	"plimsoll/plan"
	"plimsoll/record/store"
	"plimsoll/run/rating"
	"plimsoll/run/session"
)

// Calibrate is the verb that rates the generator on this host.
func Calibrate(ctx context.Context, a *app.App) error {
	fs := a.Flags
	root := a.StoreFlag()
	force := fs.Bool("force", false, "measure again even if there is a result")
	asJSON := fs.Bool("json", false, "write the result as JSON")
	length := fs.Duration("length", 20*time.Second, "how long it may take, 4s to 5m")
	whole := fs.Bool(
		"agent",
		false,
		"rate all cores of this host, as an agent uses them (default: those that a target here leaves)",
	)
	if _, err := a.Parse(0, 0); err != nil {
		return err
	}
	if *length < 4*time.Second || *length > 5*time.Minute {
		return plan.Usagef("-length %v: want 4s to 5m", *length)
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	driver := mattermost.Refnull // the same placement as that of a plan whose target runs here
	if *whole {
		driver = plan.External
	}
	s, err := session.NewSession(a.Program(), &plan.Plan{Target: plan.Target{Driver: driver}}, st)
	if err != nil {
		return err
	}
	r, known, err := s.Rater().Find(ctx, *force, *length)
	s.Progress.End()
	if err != nil {
		return err
	}
	if *asJSON {
		return a.JSON(r)
	}
	if known {
		a.Printf("measured %s; -force measures again\n", r.Date.Local().Format(time.DateTime))
	}
	_, err = io.WriteString(a.Stdout, rating.Describe(r))
	return err
}

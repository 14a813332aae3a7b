package verbs

import (
	"context"
	"flag"
	"io"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record/store"
	"plimsoll/run/rating"
	"plimsoll/run/session"
)

// calibrateFlag adds the flag that leaves the self-test out.
func (a *app) calibrateFlag(fs *flag.FlagSet) *bool {
	def := a.env("PLIMSOLL_CALIBRATE") != "false"
	return fs.Bool("calibrate", def, "rate this host's generator for 20 s when this build has not done so here (environment PLIMSOLL_CALIBRATE=false: never)")
}

// calibrate is the verb that rates the generator on this host.
func (a *app) calibrate(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	force := fs.Bool("force", false, "measure again even if there is a result")
	asJSON := fs.Bool("json", false, "write the result as JSON")
	length := fs.Duration("length", 20*time.Second, "how long it may take, 4s to 5m")
	whole := fs.Bool("agent", false, "rate all cores of this host, as an agent uses them (default: those that a target here leaves)")
	if _, err := parse(fs, args, 0, 0); err != nil {
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
	s, err := session.NewSession(a.program(), &plan.Plan{Target: plan.Target{Driver: driver}}, st)
	if err != nil {
		return err
	}
	r, known, err := s.Rater().Find(ctx, *force, *length)
	s.Progress.End()
	if err != nil {
		return err
	}
	if *asJSON {
		return a.json(r)
	}
	if known {
		plain.Fprintf(a.stdout, "measured %s; -force measures again\n", r.Date.Local().Format(time.DateTime))
	}
	_, err = io.WriteString(a.stdout, rating.Describe(r))
	return err
}

package sources

import (
	"context"
	"errors"
	"net/url"

	"plimsoll/run/deploy"
	"plimsoll/watch/probe"
)

// engineOf returns the engine of the system's database; empty without one.
func engineOf(x *deploy.System) string { return x.Deployment.Describe().Engine }

// seenFact is the fact of a description that names the servers that probes found.
const seenFact = "seen"

// SurveySystem finds the network device towards a deployed system and tries each of the plan's
// probes once.
func (o *Opener) SurveySystem(ctx context.Context, sys *deploy.System) error {
	u, err := url.Parse(sys.Deployment.URL())
	if err != nil {
		return errors.New("the target's URL cannot be parsed")
	}
	if err := o.Watchers.Await(ctx, o.Plan, sys.Probes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if sys.Device, err = probe.RouteDevice(ctx, u.Hostname()); err != nil {
		return err
	}
	seen, err := o.Survey(ctx, sys)
	if err != nil {
		return err
	}
	if site, ok := sys.Deployment.(interface{ Note(fact, text string) }); ok {
		site.Note(seenFact, seen)
	}
	return nil
}

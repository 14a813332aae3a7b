package sources

import (
	"context"
	"errors"
	"net/url"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/watch/probe"
)

// NewOpener returns the opener of the sources of a plan's runs. watchers is nil when no agent of
// another host has probes.
func NewOpener(r *deploy.Resolver, p *plan.Plan, watchers *Watchers) *Opener {
	o := &Opener{Plan: p, Lookup: r.Lookup, Hide: r.Hide, Watchers: watchers}
	for _, d := range r.Dialects {
		if d.Metrics.Prefix != "" {
			o.Prefixes = append(o.Prefixes, d.Metrics.Prefix)
		}
	}
	return o
}

// Of describes a system for its sources.
func Of(sys *deploy.System) Subject {
	return Subject{
		Deployment: sys.Deployment,
		Engine:     sys.Deployment.Describe().Engine,
		Device:     sys.Device,
		Roles:      sys.Roles(),
		Probes:     sys.Probes,
		Metrics:    sys.Metrics,
		Stacks:     sys.Stacks,
	}
}

// seenFact is the fact of a description that names the servers that probes found.
const seenFact = "seen"

// SurveySystem finds the network device towards a deployed system and tries each of the plan's
// probes once.
func (o *Opener) SurveySystem(
	ctx context.Context,
	sys *deploy.System,
	secrets *plain.Secrets,
) error {
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
	seen, err := o.Survey(ctx, Of(sys), secrets)
	if err != nil {
		return err
	}
	if site, ok := sys.Deployment.(interface{ Note(fact, text string) }); ok {
		site.Note(seenFact, seen)
	}
	return nil
}

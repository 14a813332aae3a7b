package verbs

import (
	"context"
	"flag"
	"io"

	"plimsoll/cmd/internal/own"
	"plimsoll/cmd/internal/usage"
	"plimsoll/contrib/grafana"
	"plimsoll/dialect"
	"plimsoll/evidence"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/session"
)

// serverVerb returns the verb of a service as the program carries it out.
func serverVerb(s session.ServerVerb) verb {
	run := func(a *app, ctx context.Context, _ *flag.FlagSet, args []string) error {
		return usage.Foreign(a.stdout, args, s.BadUsage, func(stdout io.Writer) error {
			return s.Run(ctx, args, a.env, stdout, a.stderr)
		})
	}
	return verb{s.Name, s.Args, s.Short, run}
}

// services returns those that the program has.
func (a *app) services() session.Services { return append(session.Services{own.Chat}, a.further...) }

func (a *app) dialects() dialect.Set { return a.services().Dialects() }

// known returns the names that plans may use.
func (a *app) known() plan.Known {
	k := a.dialects().Known()
	k.Refused = a.refused
	return k
}

// catalog lists the metrics of the services.
func (a *app) catalog() *evidence.Catalog {
	boards := map[string][]byte{report.SystemPage: grafana.System, report.CoordinatorPage: grafana.Coordinator}
	return &evidence.Catalog{Dialects: a.dialects(), Boards: evidence.Dashboards(boards)}
}

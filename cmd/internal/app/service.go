package app

import (
	"plimsoll/cmd/internal/own"
	"plimsoll/contrib/grafana"
	"plimsoll/dialect"
	"plimsoll/evidence"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/session"
)

// Services returns those that the program has.
func (a *App) Services() session.Services {
	return append(session.Services{own.Chat, own.Script}, a.Further...)
}

// Dialects returns those of the services.
func (a *App) Dialects() dialect.Set { return a.Services().Dialects() }

// Known returns the names that plans may use.
func (a *App) Known() plan.Known {
	k := a.Dialects().Known()
	k.Refused = a.refused
	return k
}

// Catalog lists the metrics of the services.
func (a *App) Catalog() *evidence.Catalog {
	boards := map[string][]byte{
		report.SystemPage:      grafana.System,
		report.CoordinatorPage: grafana.Coordinator,
	}
	return &evidence.Catalog{Dialects: a.Dialects(), Boards: evidence.Dashboards(boards)}
}

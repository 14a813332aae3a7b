package main

import (
	"sync"

	"plimsoll/contrib/grafana"
	"plimsoll/evidence"
	"plimsoll/report"
)

// catalog lists the metrics of the servers of all dialects.
var catalog = sync.OnceValue(func() *evidence.Catalog {
	return &evidence.Catalog{Dialects: dialects,
		Boards: evidence.Dashboards(map[string][]byte{report.SystemPage: grafana.System, report.CoordinatorPage: grafana.Coordinator})}
})

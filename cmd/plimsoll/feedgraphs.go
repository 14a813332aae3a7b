package main

import (
	"fmt"

	"plimsoll/report"
)

// graphsOf are the graphs of reports on targets of a driver.
func graphsOf(driver string) []graph {
	if driver == feedDriver {
		return append(graphs(), feedGraphs()...)
	}
	return graphs()
}

// feedGraphs are those that reports of the news feed have beside the ten of the release reports: where its time goes by store, and what
// it says of itself.
func feedGraphs() []graph {
	ms := func(name, title, query, needs string, gauge bool) graph {
		return graph{spec: report.GraphSpec{Name: name, Title: title, Unit: "ms", Scale: 1000}, query: query, needs: needs, gauge: gauge}
	}
	store := func(role, title string) graph {
		query := fmt.Sprintf(`sum(rate(newsfeed_store_seconds_sum{store=%[1]q}[$w])) / sum(rate(newsfeed_store_seconds_count{store=%[1]q}[$w]))`, role)
		return ms("avg-"+role+"-times", title, query, "newsfeed_store_seconds of "+role, false)
	}
	story := func(name, title, stat string) graph {
		return ms(name, title, fmt.Sprintf(`newsfeed_telemetry_seconds{entity="outbound",operation="post",stat=%q}`, stat), "newsfeed_telemetry_seconds", true)
	}
	return []graph{
		story("avg-story-times", "Avg story times by telemetry", "mean"),
		story("p95-story-times", "P95 story times by telemetry", "p95"),
		store("database", "Avg database times"),
		store("cache", "Avg cache times"),
		store("wide", "Avg wide-row times"),
		store("search", "Avg search times"),
		{spec: report.GraphSpec{Name: "cache-hits", Title: "Cache hits", Unit: "%", Scale: 100},
			query: `sum(rate(newsfeed_cache_reads_total{hit="true"}[$w])) / sum(rate(newsfeed_cache_reads_total[$w]))`, needs: "newsfeed_cache_reads_total"},
		{spec: report.GraphSpec{Name: "telemetry-waiting", Title: "Telemetry records that wait for the bus", Scale: 1}, query: "sum(newsfeed_telemetry_waiting)", needs: "newsfeed_telemetry_waiting", gauge: true},
	}
}

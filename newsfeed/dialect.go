package newsfeed

import (
	"fmt"

	"plimsoll/dialect"
	"plimsoll/plan"
)

// Driver deploys the reference news feed with all its stores.
const Driver = "newsfeed"

// The profiles of [Driver]: the stores behind the service beside its database and Redis.
const (
	Quick = "quick" // this program's own stores
	Full  = "full"  // Cassandra, OpenSearch and Kafka
)

// Dialect describes the news feed to Plimsoll.
var Dialect = &dialect.Dialect{
	Name:      "newsfeed",
	Title:     "the news feed",
	Behaviors: Behaviors(),
	Drivers: []dialect.ServerDriver{{
		Name:          Driver,
		Roles:         []string{"app", "target", "generator", "cache", "wide", "search", "bus"},
		Profiles:      []string{Quick, Full},
		Ready:         "/health",
		Metrics:       "/metrics",
		NeedsDatabase: true,
	}},
	Settings: dialect.Settings{Params: Params, Check: Check},
	Ops:      Ops,

	Rules:  searchRules,
	Graphs: graphs(),
	Metrics: dialect.Metrics{
		Stores: []dialect.CallTimes{{
			Metric: "newsfeed_store_seconds",
			By:     []string{"store", "operation"},
		}},
		Gauges: []dialect.Gauge{
			{
				Name:   "requests served",
				Unit:   "1/s",
				Query:  `sum(rate(newsfeed_request_seconds_count[$w]))`,
				Higher: true,
				Floor:  0.1,
			},
		},
	},
	Pages: pages,
}

// searchRules are rules on the service's own metrics, where they are read, and on its host. A
// telemetry record that is lost is a request that its own figures lack.
func searchRules(p *plan.Plan, scraped bool) (rules []string) {
	if scraped {
		rules = append(
			rules,
			`promql: (sum(increase(newsfeed_request_seconds_count{status=~"5.."}[$window])) or vector(0)) / clamp_min(sum(increase(newsfeed_request_seconds_count[$window])), 8000) < 0.00025 grace 5m`,
			`promql: sum(increase(newsfeed_telemetry_lost_total[$window])) < 1 grace 5m`,
		)
	}
	if p.Target.OwnHost() {
		rules = append(rules, dialect.HostCPU, dialect.HostMemory)
	}
	return rules
}

// graphs are the service's own sources of graphs that every server has, and those of its driver
// alone: its time by store, and its telemetry.
func graphs() []dialect.GraphQuery {
	shared := func(name, stat string, source dialect.GraphSource, needs string) dialect.GraphQuery {
		return dialect.GraphQuery{
			Name:    name,
			Stat:    stat,
			Sources: []dialect.GraphSource{source},
			Needs:   needs,
		}
	}
	ms := func(name, title, query, needs string) dialect.GraphQuery {
		return dialect.GraphQuery{
			Name:    name,
			Title:   title,
			Unit:    "ms",
			Scale:   1000,
			Sources: []dialect.GraphSource{{Query: query}},
			Needs:   needs,
			Own:     true,
		}
	}
	store := func(role, title string) dialect.GraphQuery {
		query := fmt.Sprintf(
			`sum(rate(newsfeed_store_seconds_sum{store=%[1]q}[$w])) / sum(rate(newsfeed_store_seconds_count{store=%[1]q}[$w]))`,
			role,
		)
		return ms("avg-"+role+"-times", title, query, "newsfeed_store_seconds of "+role)
	}
	story := func(name, title, stat string) dialect.GraphQuery {
		g := ms(
			name,
			title,
			fmt.Sprintf(
				`newsfeed_telemetry_seconds{entity="outbound",operation="post",stat=%q}`,
				stat,
			),
			"newsfeed_telemetry_seconds",
		)
		g.Gauge = true
		return g
	}
	const requests, stores = "newsfeed_request_seconds", "newsfeed_store_seconds"
	return []dialect.GraphQuery{
		shared("avg-api-times", dialect.Mean, dialect.MeanOf(requests), requests),
		shared("p99-api-times", dialect.P99, dialect.P99Of(requests), requests),
		shared("avg-store-times", dialect.Mean, dialect.MeanOf(stores), stores),
		shared("p99-store-times", dialect.P99, dialect.P99Of(stores), stores),
		shared(
			"rps",
			"",
			dialect.GraphSource{Query: "sum(rate(newsfeed_request_seconds_count[$w]))"},
			"newsfeed_request_seconds_count",
		),
		story("avg-story-times", "Avg story times by telemetry", "mean"),
		story("p95-story-times", "P95 story times by telemetry", "p95"),
		store("database", "Avg database times"),
		store("cache", "Avg cache times"),
		store("wide", "Avg wide-row times"),
		store("search", "Avg search times"),
		{
			Name:  "cache-hits",
			Title: "Cache hits",
			Unit:  "%",
			Scale: 100,
			Sources: []dialect.GraphSource{
				{
					Query: `sum(rate(newsfeed_cache_reads_total{hit="true"}[$w])) / sum(rate(newsfeed_cache_reads_total[$w]))`,
				}},
			Needs: "newsfeed_cache_reads_total",
			Own:   true,
		},
		{
			Name:    "telemetry-waiting",
			Title:   "Telemetry records that wait for the bus",
			Scale:   1,
			Gauge:   true,
			Sources: []dialect.GraphSource{{Query: "sum(newsfeed_telemetry_waiting)"}},
			Needs:   "newsfeed_telemetry_waiting",
			Own:     true,
		},
	}
}

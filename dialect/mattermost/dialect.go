package mattermost

import (
	"fmt"

	"plimsoll/dialect"
	"plimsoll/dialect/mattermost/api"
	"plimsoll/plan"
)

// The drivers of servers that speak the API: of the reference server that carries it out, of the
// null server, which only answers, and of a release of Mattermost.
const (
	Refchat = "refchat"
	Refnull = "refnull"
	Release = "mattermost"
)

// title names the servers in sentences. living is the behavior of persons, Posting the behavior of
// users who post with a bot.
const (
	title   = "a server of the Mattermost family"
	living  = "mattermost"
	Posting = "poster"
)

// Dialect describes servers of the Mattermost family to Plimsoll.
var Dialect = &dialect.Dialect{
	Name:      "mattermost",
	Title:     title,
	Behaviors: Behaviors(),
	Drivers: []dialect.ServerDriver{
		{
			Name:       Refchat,
			Roles:      roles,
			Ready:      pingPath,
			Metrics:    "/metrics",
			Secrets:    map[string]string{"REFCHAT_ADMIN_PASSWORD": "admin_password"},
			Topologies: true,
		},
		{Name: Refnull, Roles: roles, Ready: pingPath},
		{Name: Release, Roles: roles, Ready: pingPath, NeedsDatabase: true, Release: true},
	},
	Settings: dialect.Settings{
		Params:     Params,
		Secrets:    Secrets,
		Check:      Check,
		CheckStorm: CheckStorm,
	},
	Weighted: living,
	Mixes:    Mixes,
	Ops:      api.Ops,
	Apart:    Apart,
	Refused:  api.Refused,
	Wants:    wants,
	Visit:    inspect,
	Release:  release,
	Objects:  objects,
	Notes:    licensed,

	Obstacles: obstacles,

	Rules:      searchRules,
	Graphs:     graphs(),
	Indicators: indicators(),
	Metrics: dialect.Metrics{
		Prefix:   "mattermost_",
		Requests: "mattermost_http_requests_total",
		Stores:   []dialect.CallTimes{{Metric: "mattermost_db_store_time", By: []string{"method"}}},
		Gauges: []dialect.Gauge{
			{
				Name:   "connected devices",
				Query:  `sum(avg_over_time(mattermost_http_websockets_total[$w]))`,
				Higher: true,
				Floor:  1,
			},
			{
				Name:   "requests served",
				Unit:   "1/s",
				Query:  `sum(rate(mattermost_http_requests_total[$w]))`,
				Higher: true,
				Floor:  0.1,
			},
		},
	},
}

// licensed returns a note on what a server does with a license alone.
func licensed(p *plan.Plan) []string {
	if t := p.Target; t.Driver != plan.Process || t.Topology == nil || t.Topology.Replicas == 0 {
		return nil
	}
	return []string{
		"target.topology.replicas: Mattermost reads from replicas with an enterprise license only; without one, all reads go to the first database",
	}
}

var roles = []string{"app", "target", "generator"}

const pingPath = "/api/v4/system/ping"

// searchRules are rules on the server's own count of failures, where its metrics are read, and on
// the watched hosts of app and proxy.
func searchRules(p *plan.Plan, scraped bool) (rules []string) {
	if scraped {
		// A share of at least 8000 requests, so that one failure of few never decides. Without any
		// 5xx there is no such series, which is zero; without any request there is no denominator,
		// which is a fault.
		// a server at its limit answers its metrics page late
		rules = append(
			rules,
			`promql: (sum(increase(mattermost_api_time_count{status_code=~"5.."}[$window])) or vector(0)) / clamp_min(sum(increase(mattermost_api_time_count[$window])), 8000) < 0.00025 grace 5m`,
		)
	}
	return append(rules, dialect.HostRules(p)...)
}

// graphs are the ten graphs in reports of Mattermost's release team, under their names.
func graphs() []dialect.GraphQuery {
	ms := func(name, title, stat string, source dialect.GraphSource) dialect.GraphQuery {
		return dialect.GraphQuery{Name: name, Title: title, Unit: "ms", Scale: 1000,
			Sources: []dialect.GraphSource{source}, Stat: stat, Needs: source.Histogram}
	}
	gauge := func(name, title, unit string, scale float64, query, needs string) dialect.GraphQuery {
		return dialect.GraphQuery{Name: name, Title: title, Unit: unit, Scale: scale,
			Sources: []dialect.GraphSource{{Query: query}}, Gauge: true, Needs: needs}
	}
	const mebi = 1.0 / (1 << 20)
	return []dialect.GraphQuery{
		ms("avg-api-times", "Avg API times", dialect.Mean, dialect.MeanOf("mattermost_api_time")),
		ms("p99-api-times", "P99 API times", dialect.P99, dialect.P99Of("mattermost_api_time")),
		ms("avg-store-times", "Avg store times", dialect.Mean, dialect.MeanOf("mattermost_db_store_time")),
		ms("p99-store-times", "P99 store times", dialect.P99, dialect.P99Of("mattermost_db_store_time")),
		{
			Name:  "cpu-utilization",
			Title: "CPU utilization",
			Unit:  "% of a core",
			Scale: 1,
			Sources: []dialect.GraphSource{
				{Query: "avg(rate(mattermost_process_cpu_seconds_total[$w])) * 100"},
				{Query: `sum(rate(plimsoll_process_cpu_seconds_total{role="app"}[$w])) * 100`},
			},
			Needs: "mattermost_process_cpu_seconds_total, or a process of the role app that runs on a host that is watched",
		},
		gauge("goroutines-in-use", "Goroutines in use", "", 1, `sum(go_goroutines{role="app"})`,
			"go_goroutines"),
		gauge(
			"heap-in-use",
			"Heap in use",
			"MiB",
			mebi,
			`avg(go_memstats_heap_inuse_bytes{role="app"})`,
			"go_memstats_heap_inuse_bytes",
		),
		gauge("number-of-connected-devices", "Number of connected devices", "", 1,
			"sum(mattermost_http_websockets_total)", "mattermost_http_websockets_total"),
		{
			Name:  "rps",
			Title: "RPS",
			Unit:  "1/s",
			Scale: 1,
			Sources: []dialect.GraphSource{
				{Query: "sum(rate(mattermost_http_requests_total[$w]))"},
			},
			Needs: "mattermost_http_requests_total",
		},
		gauge("stack-in-use", "Stack in use", "MiB", mebi,
			`avg(go_memstats_stack_inuse_bytes{role="app"})`, "go_memstats_stack_inuse_bytes"),
	}
}

// indicators are signs from the pools and WebSockets of servers of the family.
func indicators() []dialect.Sign {
	// All pools have one counter of waits for a place, with the limit of the pool of database
	// connections.
	pool := func(limiter, name, what string) dialect.Sign {
		waits := fmt.Sprintf(
			`sum by (role) (rate(refchat_pool_wait_seconds_total{pool=%q}[$w]))`,
			name,
		)
		return dialect.Sign{Limiter: limiter, What: "requests under way that wait for " + what,
			Query: "(" + waits + ") / on() group_left() ($inflight > 0)", Dose: waits, Limit: 0.05,
			Unit: "ratio"}
	}
	return []dialect.Sign{
		// The app's own count of the answers by which it refused shows that the app refused, and
		// not a hop on the way.
		{
			Limiter: "refusals",
			Loss:    true,
			What:    "requests that it answered with 429 or 503",
			Query:   `sum by (role) (rate(mattermost_api_time_count{status_code=~"429|503"}[$w])) / on (role) (sum by (role) (rate(mattermost_api_time_count[$w])) > 0)`,
			Dose:    `sum by (role) (rate(mattermost_api_time_count{status_code=~"429|503"}[$w]))`,
			Limit:   plan.DefaultFailures().Threshold,
			Unit:    "ratio",
		},
		pool("workers", "workers", "a worker"),
		pool("outbound-pool", "outbound", "a connection to a service that is called"),
		// Unimportant events that are skipped for a slow reader are shed on purpose, and no loss;
		// nor are those kept for a client that went away.
		{Limiter: "fan-out", Loss: true, What: "events lost on their way to WebSockets per second",
			Query: `sum by (role) (rate(refchat_websocket_dropped_total{reason="overflow"}[$w]))`,
			Limit: 0.1, Unit: "/s"},
		// By Little's law, of a hub's queue and the rate at which it fills: every instance's hubs
		// get what any instance publishes (Mattermost 5.37, app/web_hub.go, Publish). An event for
		// one user goes to one hub only, so where those are many the wait is longer than this. The
		// count of writes to sockets (mattermost_websocket_broadcasts_total) has an event as often
		// as it has readers, and is not such a rate.
		{
			Limiter: "fan-out",
			What:    "time that an event waits before it is sent to WebSockets",
			Query:   `max by (role) (avg_over_time(mattermost_websocket_broadcast_buffer_size[$w])) / on (role) (sum by (role) (rate(mattermost_websocket_event_total[$w])) > 0)`,
			Limit:   0.1,
			Unit:    "s",
		},
	}
}

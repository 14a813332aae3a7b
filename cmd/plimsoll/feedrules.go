package main

import (
	dialect "plimsoll/dialect/newsfeed"
	"plimsoll/plan"
)

// feedRules are the default rules of a search on a news feed: those that a client sees, and what the service says of itself where its
// metrics can be read. A telemetry record that is lost is a request that its own figures lack.
func feedRules(p *plan.Plan) []string {
	rules := []string{
		"mean(op) < 100ms",
		"p99(op) < 2s",
		plan.FailedOperations,
		"rate(5xx) < 0.025% min 8000",
		"rate(timeout) < 0.025% min 8000",
	}
	if p.Target.Driver == feedDriver || p.Target.MetricsURL != "" {
		rules = append(rules,
			`promql: (sum(increase(newsfeed_request_seconds_count{status=~"5.."}[$window])) or vector(0)) / clamp_min(sum(increase(newsfeed_request_seconds_count[$window])), 8000) < 0.00025 grace 5m`,
			`promql: sum(increase(newsfeed_telemetry_lost_total[$window])) < 1 grace 5m`)
	}
	if ownsHost(p) {
		rules = append(rules, "cpu(app) < 85%",
			`promql: 1 - min(node_memory_MemAvailable_bytes{role=""} / node_memory_MemTotal_bytes{role=""}) < 0.85 warning`)
	}
	return rules
}

// speaksFeed reports whether the plan's users are those of the news feed.
func speaksFeed(p *plan.Plan) bool { return dialect.Behaviors()[p.Workload.Behavior] != nil }

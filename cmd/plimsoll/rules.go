package main

import (
	"net/url"
	"slices"

	"plimsoll/plan"
)

// failedOperations is the rule that every search has: users whose operations fail are not supported, whatever class the failures
// are of. Two failures in 2000 operations or fewer break it, because a window of a small test has some hundreds.
const failedOperations = "rate(errors) < 0.1% min 2000"

// defaultFailures is the part of all operations that it allows.
const defaultFailures = 0.001

// withDefaultRules fills in the rules of a search that has none: the nine of mattermost-load-test-ng, made right, and the one of
// all failed operations. docs/capacity.md says of each what it was, and what was wrong. Rules of the plan's own that limit rate(errors)
// nowhere get that one as well, so that no search counts shed load as carried.
func withDefaultRules(p *plan.Plan) *plan.Plan {
	if p.Unbounded == nil || slices.ContainsFunc(p.Unbounded.SLO, limitsErrors) {
		return p
	}
	q := *p
	u := *p.Unbounded
	u.SLO = slices.Clone(u.SLO)
	q.Unbounded = &u
	texts := []string{failedOperations}
	switch {
	case len(u.SLO) > 0:
	case speaksFeed(p):
		texts = feedRules(p)
	default:
		texts = defaultRules(p)
	}
	for _, t := range texts {
		r, err := plan.ParseSLO(t)
		if err != nil {
			panic(err) // constants, tested
		}
		u.SLO = append(u.SLO, r)
	}
	return &q
}

// limitsErrors reports whether a rule moves the users by the failures of every class.
func limitsErrors(r plan.SLO) bool { return r.Stat == "rate" && r.Arg == "errors" && !r.Warning }

// defaultRules are the rules that can be read where this plan runs: what a client sees always, the server's own count of
// failures where it has Prometheus metrics, and the hosts of app and proxy where they are seen.
func defaultRules(p *plan.Plan) []string {
	rules := []string{
		"mean(op) < 100ms",
		"p99(op) < 2s",
		failedOperations,
		"rate(5xx) < 0.025% min 8000",
		"rate(timeout) < 0.025% min 8000",
	}
	if p.Target.Driver == "refchat" || p.Target.MetricsURL != "" {
		// A share of at least 8000 requests, so that one failure of few never decides. Without any 5xx there is no such
		// series, which is zero; without any request there is no denominator, which is a fault.
		rules = append(rules, `promql: (sum(increase(mattermost_api_time_count{status_code=~"5.."}[$window])) or vector(0)) / clamp_min(sum(increase(mattermost_api_time_count[$window])), 8000) < 0.00025 grace 5m`) // a server at its limit answers its metrics page late
	}
	if ownsHost(p) {
		// The generator's memory and segments are in these numbers: they warn, and do not stop a search.
		return append(rules, "cpu(app) < 85%",
			`promql: 1 - min(node_memory_MemAvailable_bytes{role=""} / node_memory_MemTotal_bytes{role=""}) < 0.85 warning`,
			"promql: "+retransmitted("")+" < 0.005 warning")
	}
	if hostSeen(p, "app") {
		rules = append(rules,
			`promql: max(1 - avg by (instance) (rate(node_cpu_seconds_total{role="app",mode="idle"}[$window]))) < 0.85`,
			`promql: 1 - min(node_memory_MemAvailable_bytes{role="app"} / node_memory_MemTotal_bytes{role="app"}) < 0.85`,
			"promql: "+retransmitted("app")+" < 0.005")
	}
	if hostSeen(p, "proxy") {
		rules = append(rules, "promql: "+retransmitted("proxy")+" < 0.005")
	}
	return rules
}

// retransmitted is the share of segments that were sent again, of the worst host of a role.
func retransmitted(role string) string {
	of := `{role="` + role + `"}[$window])`
	return "max(rate(node_netstat_Tcp_RetransSegs" + of + " / clamp_min(rate(node_netstat_Tcp_OutSegs" + of + ", 1))"
}

// hostSeen reports whether the plan watches the hosts of a role: by an agent, or by a probe of Prometheus metrics on the port
// that is node_exporter's.
func hostSeen(p *plan.Plan, role string) bool {
	return slices.ContainsFunc(p.Probes, func(pr plan.Probe) bool {
		u, err := url.Parse(pr.URL)
		return pr.Role == role && (pr.Kind == plan.ProbeAgent || err == nil && pr.Kind == plan.ProbePrometheus && u.Port() == "9100")
	})
}

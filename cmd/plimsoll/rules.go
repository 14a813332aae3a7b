package main

import (
	"net/url"
	"slices"

	"plimsoll/dialect/mattermost"
	"plimsoll/plan"
)

// disconnectedUsers is the rule of WebSockets that stay up: of a bounded test of users who keep some. Two failures decide where there are 200
// users or fewer, and one never does.
const disconnectedUsers = "rate(disconnected) < 1% min 200"

// withDefaultRules fills in the rules that a plan leaves to the program. A search without any has the nine of mattermost-load-test-ng, made right,
// and the one of all failed operations; docs/capacity.md says of each what it was, and what was wrong. A bounded test without any has those of the
// search, and in a plan without one those of failed operations and of broken WebSockets. Rules of the plan's own that limit rate(errors) nowhere get
// that one as well, so that shed load is never counted as carried, and those of a bounded test the one of WebSockets.
func withDefaultRules(p *plan.Plan) *plan.Plan {
	q := *p
	if u := p.Unbounded; u != nil && !slices.ContainsFunc(u.SLO, plan.SLO.LimitsErrors) {
		texts := []string{plan.FailedOperations}
		switch {
		case len(u.SLO) > 0:
		case speaksFeed(p):
			texts = feedRules(p)
		default:
			texts = defaultRules(p)
		}
		v := *u
		v.SLO = withRules(u.SLO, texts...)
		q.Unbounded = &v
	}
	if b := p.Bounded; b != nil && (p.Unbounded == nil || len(b.SLO) > 0) {
		c := *b
		if !slices.ContainsFunc(b.SLO, plan.SLO.LimitsErrors) {
			c.SLO = withRules(c.SLO, plan.FailedOperations)
		}
		if listens(p) && !slices.ContainsFunc(b.SLO, func(r plan.SLO) bool { return r.Arg == plan.Disconnected }) {
			c.SLO = withRules(c.SLO, disconnectedUsers)
		}
		q.Bounded = &c
	}
	return &q
}

// withRules returns the rules and those of the texts, which are constants, in a list of its own.
func withRules(rules []plan.SLO, texts ...string) []plan.SLO {
	rules = slices.Clone(rules)
	for _, t := range texts {
		r, err := plan.ParseSLO(t)
		if err != nil {
			panic(err) // constants, tested
		}
		rules = append(rules, r)
	}
	return rules
}

// listens reports whether some users of the bounded test keep WebSockets.
func listens(p *plan.Plan) bool {
	users := false
	for _, n := range p.Bounded.Users {
		users = users || n > 0
	}
	for name, share := range p.Workload.Mix() {
		if share > 0 && users && mattermost.Listens(name) {
			return true
		}
	}
	return false
}

// defaultRules are the rules that can be read where this plan runs: what a client sees always, the server's own count of
// failures where it has Prometheus metrics, and the hosts of app and proxy where they are seen.
func defaultRules(p *plan.Plan) []string {
	rules := []string{
		"mean(op) < 100ms",
		"p99(op) < 2s",
		plan.FailedOperations,
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

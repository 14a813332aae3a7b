package dialect

import (
	"net/url"
	"slices"

	"plimsoll/plan"
)

// DisconnectedUsers is the rule of WebSockets that stay up, in a bounded test whose users keep
// some. Of 200 users or fewer, two failures decide; one never does.
const DisconnectedUsers = "rate(disconnected) < 1% min 200"

// WithDefaultRules returns the plan with the rules that it leaves to the program. A search without
// rules gets the rules of its dialect, of the hosts and of failed operations; docs/capacity.md
// explains each. A bounded test without rules gets the search's; in a plan without a search, the
// rules of failed operations and broken WebSockets. A plan's own rules that nowhere limit
// rate(errors) get that rule, so that shed load never counts as carried, and in a bounded test the
// rule of broken WebSockets.
func (s Set) WithDefaultRules(p *plan.Plan) *plan.Plan {
	q := *p
	if u := p.Unbounded; u != nil && !slices.ContainsFunc(u.SLO, plan.SLO.LimitsErrors) {
		texts := []string{plan.FailedOperations}
		if len(u.SLO) == 0 {
			texts = s.searchRules(p)
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
		if s.listens(p) && !slices.ContainsFunc(b.SLO, func(r plan.SLO) bool {
			return r.Arg == plan.Disconnected
		}) {
			c.SLO = withRules(c.SLO, DisconnectedUsers)
		}
		q.Bounded = &c
	}
	return &q
}

// withRules returns a new list of rules and the rules of texts, which are constants.
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

// searchRules are the default rules of a search: on the client's view, of the dialect, and on the
// watched hosts.
func (s Set) searchRules(p *plan.Plan) []string {
	rules := []string{
		"mean(op) < 100ms",
		"p99(op) < 2s",
		plan.FailedOperations,
		"rate(5xx) < 0.025% min 8000",
		"rate(timeout) < 0.025% min 8000",
	}
	d := s.OfPlan(p)
	if d == nil || d.Rules == nil {
		return append(rules, HostRules(p)...)
	}
	driver, _ := d.Driver(p.Target.Driver)
	return append(rules, d.Rules(p, driver.Metrics != "" || p.Scraped())...)
}

// listens reports whether some users of the bounded test keep WebSockets, beside their API
// requests.
func (s Set) listens(p *plan.Plan) bool {
	users := false
	for _, n := range p.Bounded.Users {
		users = users || n != 0 // a number, or auto
	}
	return users && s.hears(p)
}

// The rules of hosts. Where the target shares its host with the generator, the generator's memory
// and segments are in these numbers: they warn, and do not stop a search.
const (
	HostCPU       = "cpu(app) < 85%"
	HostMemory    = `promql: 1 - min(node_memory_MemAvailable_bytes{role=""} / node_memory_MemTotal_bytes{role=""}) < 0.85 warning`
	AppHostCPU    = `promql: max(1 - avg by (instance) (rate(node_cpu_seconds_total{role="app",mode="idle"}[$window]))) < 0.85`
	AppHostMemory = `promql: 1 - min(node_memory_MemAvailable_bytes{role="app"} / node_memory_MemTotal_bytes{role="app"}) < 0.85`
)

// HostRules are rules on the watched hosts of app and proxy.
func HostRules(p *plan.Plan) (rules []string) {
	if p.Target.OwnHost() {
		return []string{HostCPU, HostMemory, "promql: " + Retransmitted("") + " < 0.005 warning"}
	}
	if HostSeen(p, "app") {
		rules = append(rules, AppHostCPU, AppHostMemory, "promql: "+Retransmitted("app")+" < 0.005")
	}
	if HostSeen(p, "proxy") {
		rules = append(rules, "promql: "+Retransmitted("proxy")+" < 0.005")
	}
	return rules
}

// Retransmitted is PromQL for the share of segments that were sent again, of the worst host of a
// role; "" is this host.
func Retransmitted(role string) string {
	of := `{role="` + role + `"}[$window])`
	return "max(rate(node_netstat_Tcp_RetransSegs" + of +
		" / clamp_min(rate(node_netstat_Tcp_OutSegs" + of + ", 1))"
}

// HostSeen reports whether the plan watches the hosts of a role: by an agent, or by a probe of
// Prometheus metrics on the port that is node_exporter's; or by a Prometheus server that watches
// them already.
func HostSeen(p *plan.Plan, role string) bool {
	if slices.Contains(p.WatchedRoles(), role) {
		return true
	}
	return slices.ContainsFunc(p.Watching(), func(pr plan.Probe) bool {
		u, err := url.Parse(pr.URL)
		return pr.Role == role && (pr.Kind == plan.ProbeAgent ||
			err == nil && pr.Kind == plan.ProbePrometheus && u.Port() == "9100")
	})
}

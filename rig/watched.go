package rig

import (
	"regexp"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/watch/probe"
)

// watchedPrefix begins the names of the sources that a Prometheus server answers; the role follows.
const watchedPrefix = "metrics "

// metricWord is what may be the name of a metric in an expression.
var metricWord = regexp.MustCompile(`[A-Za-z_:][A-Za-z0-9_:]*`)

// watched opens a source for each role that a Prometheus server watches. Metrics of the target's own pages are not asked for
// a second time: sums over a role would count them twice.
func (s *Session) watched(sys *deploy.System) (out []source, err error) {
	return s.watchedBy(sys.Metrics, len(sys.Deployment.MetricsURLs()) > 0)
}

// watchedBy is watched of a server; pages is true where the target has pages of its own.
func (s *Session) watchedBy(m plan.MetricsServer, pages bool) (out []source, err error) {
	if len(m.Labels) == 0 {
		return nil, nil
	}
	at, err := plan.Expand(m.Prometheus, s.Lookup)
	if err != nil {
		return nil, plan.Usagef("metrics.prometheus: %w", err)
	}
	s.Hide(at)
	hosts, own := []string{"node_", "container_", "nginx_", "mysql_", "pg_"}, []string{"go_", "process_"}
	for _, d := range s.Dialects {
		if d.Metrics.Prefix != "" {
			own = append(own, d.Metrics.Prefix)
		}
	}
	names := ruleWords(s.Plan)
	for _, role := range m.Roles() {
		prefixes, named := slices.Concat(hosts, own), names
		if role == "app" && pages {
			prefixes, named = hosts, nil
		}
		p, err := probe.NewPrometheus(probe.PrometheusConfig{URL: at, Role: role, Selector: m.Labels[role], Prefixes: prefixes, Names: named})
		if err != nil {
			return out, plan.Usagef("metrics.prometheus: %w", err)
		}
		out = append(out, source{probe: namedProbe{p, watchedPrefix + role}, close: p.Close})
	}
	return out, nil
}

// ruleWords returns the words in the plan's promql rules that may be names of metrics.
func ruleWords(p *plan.Plan) (out []string) {
	var rules []plan.SLO
	if p.Bounded != nil {
		rules = append(rules, p.Bounded.SLO...)
	}
	if p.Unbounded != nil {
		rules = append(rules, p.Unbounded.SLO...)
	}
	seen := map[string]bool{}
	for _, r := range rules {
		if r.Stat != "promql" {
			continue
		}
		for _, w := range metricWord.FindAllString(r.Arg, -1) {
			if strings.Contains(w, "_") && !seen[w] {
				seen[w] = true
				out = append(out, w)
			}
		}
	}
	return out
}

// watchedOf returns the role of a source that a Prometheus server answers, and the instance of its sums.
func watchedOf(name string) (role, instance string, ok bool) {
	role, ok = strings.CutPrefix(name, watchedPrefix)
	return role, role + "-" + probe.PrometheusInstance, ok
}

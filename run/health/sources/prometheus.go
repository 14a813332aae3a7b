package sources

import (
	"regexp"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/watch/probe"
)

// prometheusPrefix begins the names of the sources that a Prometheus server answers; the role
// follows.
const prometheusPrefix = "metrics "

// metricWord matches a possible name of a metric in an expression.
var metricWord = regexp.MustCompile(`[A-Za-z_:][A-Za-z0-9_:]*`)

// Prometheus opens a source for each role that a Prometheus server watches. With pages the target
// serves its own metrics, which are not queried a second time: sums over a role would count them
// twice.
func (o *Opener) Prometheus(m plan.MetricsServer, pages bool) (out []Opened, err error) {
	if len(m.Labels) == 0 {
		return nil, nil
	}
	at, err := plan.Expand(m.Prometheus, o.Lookup)
	if err != nil {
		return nil, plan.Usagef("metrics.prometheus: %w", err)
	}
	o.Hide(at)
	hosts := []string{"node_", "container_", "nginx_", "mysql_", "pg_"}
	own := []string{"go_", "process_"}
	for _, d := range o.Dialects {
		if d.Metrics.Prefix != "" {
			own = append(own, d.Metrics.Prefix)
		}
	}
	names := ruleWords(o.Plan)
	for _, role := range m.Roles() {
		prefixes, words := slices.Concat(hosts, own), names
		if role == "app" && pages {
			prefixes, words = hosts, nil
		}
		p, err := probe.NewPrometheus(probe.PrometheusConfig{
			URL: at, Role: role, Selector: m.Labels[role], Prefixes: prefixes, Names: words,
		})
		if err != nil {
			return out, plan.Usagef("metrics.prometheus: %w", err)
		}
		name := prometheusPrefix + role
		out = append(out, Opened{Name: name, probe: named{p, name}, close: p.Close})
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

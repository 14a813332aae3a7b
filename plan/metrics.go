package plan

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A MetricsServer is a Prometheus server that watches hosts of the target already. Its samples
// become series of the run, so that rules, graphs and limiter are answered by it. A run whose role
// it has no fresh samples of is not valid.
type MetricsServer struct {
	// Prometheus is the base address of its HTTP API, http or https. It may hold references; see
	// [Expand].
	Prometheus string            `yaml:"prometheus"`
	Labels     map[string]string `yaml:"labels"`
}

var metricsKeys = metricsSection(true)

// metricsSection returns the keys of a Prometheus server: the address is required in a plan, the
// labels in an arm.
func metricsSection(ofPlan bool) section {
	prometheus := text.checked(checkPrometheus)
	prometheus.required = ofPlan
	labels := selectors
	labels.required = !ofPlan
	return section{
		{
			"prometheus",
			prometheus,
			`Base address of its HTTP API. Secrets in it only as ${ENV:NAME} or ${FILE:PATH}.`,
		},
		{"labels", labels, `For each role (app, db, proxy), the label matchers of its series.`},
	}
}

var selectors = mapping(
	"a mapping such as {NAME: value}",
	raw.checked(CheckSelector),
	`Matchers without braces, such as instance=~"app-.*",env="test".`,
).called("a role").atMost(16, "roles")

// checkPrometheus returns the error of the address of a server.
func checkPrometheus(s string) error {
	if s == "" || hasReference(s) || pageRE.MatchString(s) && !strings.ContainsAny(s, "?#") {
		return nil
	}
	return fmt.Errorf(
		"%s is not the address of a server; want http://HOST:9090 or https, and a user or "+
			"password only by references", address(s))
}

// Roles returns the roles that the server watches, sorted.
func (m MetricsServer) Roles() []string { return slices.Sorted(maps.Keys(m.Labels)) }

const maxSelector = 1000

// matcherRE matches one matcher of a selector and the separator before the next one.
var matcherRE = regexp.MustCompile(
	`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*(,|$)`,
)

// CheckSelector returns the error of label matchers such as instance=~"app-.*",job="node".
func CheckSelector(text string) error {
	const want = `write matchers without braces, such as instance=~"app-.*" or job="node",zone!="b"`
	switch {
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("is empty; %s", want)
	case len(text) > maxSelector:
		return fmt.Errorf("is longer than %d bytes; %s", maxSelector, want)
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return fmt.Errorf("has braces; %s", want)
	}
	positive := false
	for rest := text; rest != ""; {
		m := matcherRE.FindStringSubmatch(rest)
		if m == nil {
			return fmt.Errorf("cannot be read from %s on; %s", clip(strings.TrimSpace(rest)), want)
		}
		name := m[1]
		op := m[2]
		value := m[3]
		if name == "__name__" {
			return fmt.Errorf(
				"names a metric; which metrics are read is known (docs/probes.md), and " +
					"labels select the hosts")
		}
		empty := value == ""
		if op == "=~" || op == "!~" {
			re, err := regexp.Compile("^(?:" + strings.ReplaceAll(value, `\\`, `\`) + ")$")
			if err != nil {
				return fmt.Errorf("%s has a regular expression that cannot be read; %s", name, want)
			}
			empty = re.MatchString("")
		}
		if (op == "=" || op == "=~") && !empty {
			positive = true
		}
		rest = rest[len(m[0]):]
		if m[4] == "," && strings.TrimSpace(rest) == "" {
			return fmt.Errorf("ends in a comma; %s", want)
		}
	}
	if !positive {
		return fmt.Errorf(
			"selects every host that is not named; at least one matcher must be one that an " +
				"empty label does not fit, such as instance=~\"app-.*\"")
	}
	return nil
}

// MetricsOf returns the Prometheus server that watches the hosts of an arm: the arm's, at the
// plan's address if the arm names none, or else the plan's.
func (p *Plan) MetricsOf(arm string) MetricsServer {
	m := p.Metrics
	for _, a := range p.arms() {
		if a.Name == arm && len(a.Metrics.Labels) > 0 {
			m.Labels = a.Metrics.Labels
			m.Prometheus = cmp.Or(a.Metrics.Prometheus, m.Prometheus)
		}
	}
	return m
}

// WatchedRoles returns the roles that a Prometheus server watches in every arm, sorted.
func (p *Plan) WatchedRoles() []string {
	if len(p.arms()) == 0 {
		return p.Metrics.Roles()
	}
	roles := p.MetricsOf(p.Compare.Arms[0].Name).Roles()
	return slices.DeleteFunc(roles, func(role string) bool {
		return p.anyArm(func(a Arm) bool {
			_, ok := p.MetricsOf(a.Name).Labels[role]
			return !ok
		})
	})
}

// ownMetrics reports whether every arm has its own metrics.
func (p *Plan) ownMetrics() bool {
	return p.everyArm(func(a Arm) bool { return len(a.Metrics.Labels) > 0 })
}

func (d *decoder) checkMetrics(p *Plan) {
	if d.given("metrics") && d.read("metrics") {
		if m := p.Metrics; m.Prometheus == "" && d.good("metrics.prometheus") {
			d.at("metrics",
				"has no prometheus; write the base address of a Prometheus server, such as "+
					"http://HOST:9090")
		}
		if len(p.Metrics.Labels) == 0 && d.good("metrics.labels", "compare.arms") &&
			!p.ownMetrics() {
			d.at(
				"metrics",
				`has no labels; write for each role which series are its, such as labels: {app: 'instance=~"app-.*"'}`,
			)
		}
	}
	d.checkWatchedOnce(p)
}

// checkArmMetrics checks the metrics of an arm that is at its own addresses.
func (d *decoder) checkArmMetrics(p *Plan, a Arm) {
	path := "compare.arms." + a.Name + ".metrics"
	switch {
	case !d.given(path) || !d.good(path):
	case len(a.URL) == 0 && d.good("compare.arms."+a.Name+".url"):
		d.at(path, "needs a url of this arm; add it, or write metrics of the plan")
	case len(a.Metrics.Labels) == 0:
		d.at(
			path,
			`has no labels; write for each role which series are this arm's, such as labels: {app: 'instance=~"green-.*"'}`,
		)
	case a.Metrics.Prometheus == "" && p.Metrics.Prometheus == "" && d.good("metrics"):
		d.at(path,
			"has no prometheus, and neither has metrics of the plan; write the base address "+
				"of a Prometheus server, such as http://HOST:9090")
	}
}

// checkWatchedOnce refuses metrics of a role that probes read too, and metrics that would count
// hosts of one arm in the runs of another. Stored plans are read.
func (d *decoder) checkWatchedOnce(p *Plan) {
	const labels = "metrics.labels"
	if d.stored || !d.good(labels, "probes", "compare.arms") {
		return
	}
	once := func(section string, m MetricsServer, probes []Probe) {
		for _, role := range m.Roles() {
			path := join(section, role)
			if d.good(path) && slices.ContainsFunc(probes, func(x Probe) bool {
				return x.Role == role
			}) {
				d.at(path, "is a role that probes read too, and sums over it would count twice; "+
					"give one of them another role, or remove it")
			}
		}
	}
	if len(p.arms()) == 0 {
		once(labels, p.Metrics, p.Probes)
		return
	}
	for _, a := range p.Compare.Arms {
		section := labels
		if len(a.Metrics.Labels) > 0 {
			section = "compare.arms." + a.Name + "." + labels
		}
		once(section, p.MetricsOf(a.Name), p.ProbesOf(a.Name))
		if len(a.URL) > 0 && len(a.Metrics.Labels) == 0 && len(p.Metrics.Labels) > 0 &&
			d.good(labels) {
			d.at(labels,
				"watches the hosts of all arms, and %s has a url of its own; remove it, and "+
					"give each arm metrics or probes", a.Name)
		}
	}
}

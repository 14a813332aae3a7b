package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A MetricsServer is a Prometheus server that watches hosts of the target already. Its samples become series of the run, so
// that rules, graphs and limiter are answered by it. A run whose role it has no fresh samples of is not valid.
type MetricsServer struct {
	// Prometheus is the base address of its HTTP API, http or https. It may hold references; see [Expand].
	Prometheus string `yaml:"prometheus"`
	// Labels holds, by role (app, db, proxy), the label matchers that select its series, without braces.
	Labels map[string]string `yaml:"labels"`
}

// Roles returns the roles that the server watches, sorted.
func (m MetricsServer) Roles() []string { return slices.Sorted(maps.Keys(m.Labels)) }

const (
	maxMetricsRoles = 16
	maxSelector     = 1000
)

// matcherRE is one matcher of a selector and what separates it from the next one.
var matcherRE = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*(,|$)`)

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
		name, op, value := m[1], m[2], m[3]
		if name == "__name__" {
			return fmt.Errorf("names a metric; which metrics are read is known (docs/probes.md), and labels select the hosts")
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
		return fmt.Errorf("selects every host that is not named; at least one matcher must be one that an empty label does not fit, such as instance=~\"app-.*\"")
	}
	return nil
}

func (d *decoder) checkMetrics(p *Plan) {
	m := p.Metrics
	if !d.given("metrics") || !d.read("metrics") {
		return
	}
	switch at := "metrics.prometheus"; {
	case !d.good(at):
	case m.Prometheus == "":
		d.at("metrics", "has no prometheus; write the base address of a Prometheus server, such as http://HOST:9090")
	default:
		d.secret(at, "prometheus", m.Prometheus)
		if d.good(at) && !hasReference(m.Prometheus) && (!pageRE.MatchString(m.Prometheus) || strings.ContainsAny(m.Prometheus, "?#")) {
			d.at(at, "%s is not the address of a server; want http://HOST:9090 or https, and a user or password only by references", address(m.Prometheus))
		}
	}
	switch {
	case !d.good("metrics.labels"):
	case len(m.Labels) == 0:
		d.at("metrics", `has no labels; write for each role which series are its, such as labels: {app: 'instance=~"app-.*"'}`)
	case len(m.Labels) > maxMetricsRoles:
		d.at("metrics.labels", "has %d roles; want at most %d", len(m.Labels), maxMetricsRoles)
	}
	for _, role := range m.Roles() {
		path := join("metrics.labels", role)
		if !nameRE.MatchString(role) {
			d.at(path, "%s cannot be the name of a role; want letters, digits, dot, underscore and dash, at most 64", clip(role))
			continue
		}
		if err := CheckSelector(m.Labels[role]); err != nil && d.good(path) {
			d.at(path, "%v", err)
		}
	}
	d.checkWatchedOnce(p)
}

// checkWatchedOnce refuses metrics of a role that probes read too, and those that would count hosts of one arm in the
// runs of another. Stored plans are read.
func (d *decoder) checkWatchedOnce(p *Plan) {
	const labels = "metrics.labels"
	if len(p.Metrics.Labels) == 0 || d.stored || !d.good(labels, "probes", "compare.arms") {
		return
	}
	probes := slices.Clone(p.Probes)
	if p.Compare != nil {
		for _, a := range p.Compare.Arms {
			probes = append(probes, a.Probes...)
		}
	}
	for _, role := range p.Metrics.Roles() {
		path := join(labels, role)
		if d.good(path) && slices.ContainsFunc(probes, func(x Probe) bool { return x.Role == role }) {
			d.at(path, "is a role that probes read too, and sums over it would count twice; give one of them another role, or remove it")
		}
	}
	if p.Compare == nil {
		return
	}
	for _, a := range p.Compare.Arms {
		if len(a.URL) > 0 && d.good(labels) {
			d.at(labels, "watches the hosts of all arms, and %s has a url of its own; remove it, and give each arm probes", a.Name)
		}
	}
}

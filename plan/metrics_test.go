package plan

import (
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

const metricsPlan = `
name: t
target: {driver: external, url: "https://app.example"}
workload: {behavior: poster}
bounded: {users: 50, slo: ["cpu(db) < 85%"]}
metrics:
  prometheus: https://reader:${ENV:PROM_PASSWORD}@prom.example
  labels: {app: 'instance=~"app-.*"', db: 'instance="db:9100",job="node"'}
`

func TestMetrics(t *testing.T) {
	p, err := Parse([]byte(metricsPlan))
	failure.None(t, err)
	if got := strings.Join(p.Metrics.Roles(), " "); got != "app db" {
		t.Errorf("roles %q", got)
	}
	ReadAgain(t, p)
	known := Known{Drivers: []string{External}, Roles: map[string][]string{External: {"app"}}}
	if _, err := known.Parse([]byte(metricsPlan)); err != nil &&
		strings.Contains(err.Error(), "db") {
		t.Errorf("a rule about a role that metrics watch: %v", err)
	}
}

// TestMetricsOfArmsElsewhere: metrics belong to roles, not arms; of arms at their own addresses
// they would mix all arms.
func TestMetricsOfArmsElsewhere(t *testing.T) {
	arms := func(urls bool) string {
		text := strings.Replace(
			metricsPlan,
			`, url: "https://app.example"`,
			", install: [x], url: \"https://app.example\"",
			1,
		)
		if urls {
			return strings.Replace(text, "install: [x], ", "", 1) +
				`compare: {arms: {base: {version: "1.0", url: "https://blue"}, new: {version: "1.1", url: "https://green"}}}`
		}
		return text + `compare: {arms: {base: {version: "1.0"}, new: {version: "1.1"}}}`
	}
	if _, err := Parse([]byte(arms(false))); err != nil {
		t.Errorf("arms that share the hosts: %v", err)
	}
	_, err := Parse([]byte(arms(true)))
	if err == nil ||
		strings.Count(
			err.Error(),
			"metrics.labels: watches the hosts of all arms, and base has a url of its own; remove it, and give each arm metrics or probes",
		) != 1 {
		t.Errorf("blue and green: %v", err)
	}
}

// A role is read by the server or by probes, of the plan or of an arm.
func TestMetricsBesideProbes(t *testing.T) {
	const probe = `{kind: prometheus, role: db, url: "http://db:9100/metrics"}`
	const twice = "metrics.labels.db: is a role that probes read too, and sums over it would count twice; give one of them another role"
	for tail, want := range map[string]string{
		"probes: [" + probe + "]":                                                twice,
		"compare: {arms: {base: {}, new: {probes: [" + probe + "]}}}":            twice,
		"probes: [" + strings.Replace(probe, "role: db", "role: proxy", 1) + "]": "",
	} {
		_, err := Parse([]byte(metricsPlan + tail))
		if want == "" && err != nil ||
			want != "" &&
				(err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "labels.app")) {
			t.Errorf("%s: %v", tail, err)
		}
	}
}

// Arms with their own addresses have their own metrics, from the plan's server or another.
func TestMetricsOfEachArm(t *testing.T) {
	const head = `
name: t
target: {driver: external}
workload: {behavior: poster}
bounded: {users: 50, slo: ["cpu(app) < 85%"]}
metrics: {prometheus: "https://prom.example"}
compare:
  arms:
    base: {url: "https://blue", metrics: {labels: {app: 'instance="blue"', db: 'instance="db"'}}}
`
	const green = `    new: {url: "https://green", metrics: {prometheus: "https://green.example", labels: {app: 'instance="green"'}}}`
	known := Known{
		Drivers: []string{External, Process},
		Roles:   map[string][]string{External: {"generator"}},
	}
	p, err := known.Parse([]byte(head + green))
	failure.None(t, err)
	ReadAgain(t, p)
	base, fresh := p.MetricsOf(Base), p.MetricsOf("new")
	if base.Prometheus != "https://prom.example" || len(base.Labels) != 2 ||
		fresh.Prometheus != "https://green.example" ||
		fresh.Labels["app"] != `instance="green"` ||
		len(fresh.Labels) != 1 {
		t.Errorf("base %+v, new %+v", base, fresh)
	}
	if roles := p.WatchedRoles(); len(roles) != 1 || roles[0] != "app" {
		t.Errorf("roles of every arm: %v", roles)
	}
	for _, tt := range []struct{ name, from, to, want string }{
		{"a role of one arm", "cpu(app)", "cpu(db)", "has no role \"db\" to watch"},
		{"an arm without", `, metrics: {prometheus: "https://green.example", labels: {app: 'instance="green"'}}`, "", "metrics: has no labels"},
		{"one that takes the plan's", `metrics: {prometheus: "https://prom.example"}`, `metrics: {prometheus: "https://prom.example", labels: {app: 'job="x"'}}`, ""},
		{"no address of the arm", `url: "https://green", `, "", "needs a url of this arm"},
		{"no labels", `, labels: {app: 'instance="green"'}`, "", "compare.arms.new.metrics: has no labels"},
		{"no server", `metrics: {prometheus: "https://prom.example"}` + "\n", "", "compare.arms.base.metrics: has no prometheus"},
		{"no selector", `'instance="green"'`, `'green'`, "compare.arms.new.metrics.labels.app: cannot be read"},
		{"a password", "https://green.example", "https://x:hunter22@green.example", "compare.arms.new.metrics.prometheus: holds a password"},
		{"a probe too", `"https://blue", `, `"https://blue", probes: [{kind: prometheus, role: db, url: "http://db:9187/metrics"}], `, "compare.arms.base.metrics.labels.db: is a role that probes read too"},
		{"a probe of the other arm", `"https://green", `, `"https://green", probes: [{kind: prometheus, role: db, url: "http://db:9187/metrics"}], `, ""},
		{"a target that is started", "driver: external", "driver: process, command: [x]", "compare.arms.base.metrics: has no effect, because the driver process"},
	} {
		text := head + green
		if !strings.Contains(text, tt.from) {
			t.Fatalf("%s: the plan has no %s", tt.name, tt.from)
		}
		_, err := known.Parse([]byte(strings.Replace(text, tt.from, tt.to, 1)))
		if tt.want == "" && err != nil ||
			tt.want != "" &&
				(err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter22")) {
			t.Errorf("%s: %v\nwant %q", tt.name, err, tt.want)
		}
	}
}

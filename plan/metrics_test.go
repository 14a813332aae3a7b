package plan

import (
	"strings"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Metrics.Roles(), " "); got != "app db" {
		t.Errorf("roles %q", got)
	}
	again, err := Parse([]byte(p.String()))
	if err != nil || again.Digest() != p.Digest() || !strings.Contains(p.String(), "metrics:\n  prometheus: ") {
		t.Errorf("%v\n%s", err, p)
	}
	known := Known{Drivers: []string{External}, Roles: map[string][]string{External: {"app"}}}
	if _, err := known.Parse([]byte(metricsPlan)); err != nil && strings.Contains(err.Error(), "db") {
		t.Errorf("a rule about a role that metrics watch: %v", err)
	}
	for _, tt := range []struct{ from, to, want string }{
		{`'instance=~"app-.*"'`, `'{instance=~"app-.*"}'`, "metrics.labels.app: has braces; write matchers without braces"},
		{`'instance=~"app-.*"'`, `'instance=~app-.*'`, "metrics.labels.app: cannot be read from "},
		{`'instance=~"app-.*"'`, `'instance=~"app-(.*"'`, "metrics.labels.app: instance has a regular expression that cannot be read"},
		{`'instance=~"app-.*"'`, `'instance=~".*"'`, "metrics.labels.app: selects every host"},
		{`'instance=~"app-.*"'`, `'instance="a",'`, "metrics.labels.app: ends in a comma"},
		{`'instance=~"app-.*"'`, `'__name__="up"'`, "metrics.labels.app: names a metric"},
		{`'instance=~"app-.*"'`, `''`, "metrics.labels.app: is empty"},
		{"${ENV:PROM_PASSWORD}", "hunter22", "metrics.prometheus: holds a password or token"},
		{"https://reader:${ENV:PROM_PASSWORD}@prom.example", "prom.example", "metrics.prometheus: \"prom.example\" is not the address of a server"},
		{"https://reader:${ENV:PROM_PASSWORD}@prom.example", "http://prom.example/?x=1", "metrics.prometheus: it is not the address of a server"},
		{"  prometheus: https://reader:${ENV:PROM_PASSWORD}@prom.example\n", "", "metrics: has no prometheus"},
	} {
		text := strings.Replace(metricsPlan, tt.from, tt.to, 1)
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v\nwant %s", tt.to, err, tt.want)
		}
	}
}

// Metrics are of roles and not of arms: of arms with addresses of their own they would be those of all.
func TestMetricsOfArmsElsewhere(t *testing.T) {
	arms := func(urls bool) string {
		text := strings.Replace(metricsPlan, `, url: "https://app.example"`, ", install: [x], url: \"https://app.example\"", 1)
		if urls {
			return strings.Replace(text, "install: [x], ", "", 1) + `compare: {arms: {base: {version: "1.0", url: "https://blue"}, new: {version: "1.1", url: "https://green"}}}`
		}
		return text + `compare: {arms: {base: {version: "1.0"}, new: {version: "1.1"}}}`
	}
	if _, err := Parse([]byte(arms(false))); err != nil {
		t.Errorf("arms that share the hosts: %v", err)
	}
	_, err := Parse([]byte(arms(true)))
	if err == nil || strings.Count(err.Error(), "metrics.labels: watches the hosts of all arms, and base has a url of its own; remove it, and give each arm probes") != 1 {
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
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "labels.app")) {
			t.Errorf("%s: %v", tail, err)
		}
	}
}

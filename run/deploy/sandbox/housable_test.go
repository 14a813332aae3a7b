package sandbox

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/plan"
)

// Settings that a plan with networks cannot have are refused before anything is made.
func TestNetworkable(t *testing.T) {
	const (
		arms    = "compare: {arms: {base: {}, new: {deployment: {network: bridge}}}}\n"
		hosts   = "topology: {apps: 2, hosts: netns}"
		probe   = `probes: [{kind: nginx, role: proxy, url: "http://127.0.0.1/s"}]` + "\n"
		metrics = `metrics: {prometheus: "http://127.0.0.1:9090", labels: {app: 'instance="a"'}}` + "\n"
	)
	for _, tt := range []struct{ target, rest, want string }{
		{"driver: refchat", arms, ""},
		{"driver: process, command: [x]", arms, "so one of the drivers refchat"},
		{`driver: refchat, url: "http://127.0.0.1:1"`, arms, "target.url"},
		{"driver: refchat", arms + probe, "probes[0]: with deployment.network"},
		{"driver: refchat", arms + metrics, "metrics: with deployment.network"},
		{"driver: refchat, " + hosts, "", ""},
		{"driver: refchat, " + hosts, probe, "probes[0]: with target.topology.hosts: netns"},
		{"driver: refchat, " + hosts, metrics, "metrics: with target.topology.hosts: netns"},
	} {
		p, err := plan.Parse([]byte("name: n\ntarget: {" + tt.target + "}\n" +
			"database: {engine: postgresql}\nworkload: {behavior: b}\nbounded: {users: 5}\n" + tt.rest))
		if err != nil {
			t.Fatal(err)
		}
		err = Networkable(p, []string{"refchat"})
		_, usage := errors.AsType[plan.UsageError](err)
		if tt.want == "" && err != nil ||
			tt.want != "" && (!usage || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %s: %v, want %q", tt.target, tt.rest, err, tt.want)
		}
	}
}

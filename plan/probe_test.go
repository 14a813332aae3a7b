package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

const probed = `name: a
target: {driver: external, url: "http://127.0.0.1:8065"}
workload: {behavior: poster}
bounded: {users: 5}
`

func TestProbes(t *testing.T) {
	p := mustParse(t, probed+`probes:
  - {kind: prometheus, role: app, url: "http://10.0.0.5:9100/metrics?collect[]=cpu"}
  - {kind: pprof, role: app, url: "${FILE:/etc/plimsoll/pprof.url}"}
  - {kind: postgresql, role: db, dsn: "${ENV:PG_DSN}"}
  - {kind: mysql, role: db, dsn: "monitor:${ENV:MYSQL_PASSWORD}@tcp(10.0.0.7:3306)/"}
  - {kind: nginx, role: proxy, url: "http://10.0.0.4/nginx_status"}
  - {kind: agent, role: app}
  - {kind: agent, role: app}
  - {kind: agent, role: db, agent: db-1}
  - {kind: pid, role: app, pid: 4711}
  - {kind: container, role: db, container: chat-db-1}
`)
	want := []plan.Probe{
		{
			Kind: plan.ProbePrometheus,
			Role: "app",
			URL:  "http://10.0.0.5:9100/metrics?collect[]=cpu",
		},
		{Kind: plan.ProbePprof, Role: "app", URL: "${FILE:/etc/plimsoll/pprof.url}"},
		{Kind: plan.ProbePostgreSQL, Role: "db", DSN: "${ENV:PG_DSN}"},
		{
			Kind: plan.ProbeMySQL,
			Role: "db",
			DSN:  "monitor:${ENV:MYSQL_PASSWORD}@tcp(10.0.0.7:3306)/",
		},
		{Kind: plan.ProbeNginx, Role: "proxy", URL: "http://10.0.0.4/nginx_status"},
		{Kind: plan.ProbeAgent, Role: "app"},
		{Kind: plan.ProbeAgent, Role: "app"},
		{Kind: plan.ProbeAgent, Role: "db", Agent: "db-1"},
		{Kind: plan.ProbePID, Role: "app", PID: 4711},
		{Kind: plan.ProbeContainer, Role: "db", Container: "chat-db-1"},
	}
	if d := cmp.Diff(want, p.Probes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	plan.ReadAgain(t, p)
	// A plan without probes is written as before, so that its digest stays.
	if text := mustParse(t, probed).String(); strings.Contains(text, "probes") {
		t.Errorf("a plan without probes:\n%s", text)
	}
}

// A rule may name the CPU of a role that an agent watches, and of no other.
func TestRuleOfAnAgentsRole(t *testing.T) {
	k := plan.Known{Roles: map[string][]string{"external": {"generator"}}}
	const in = probed + `unbounded: {max_users: 10, slo: ["cpu(proxy) < 85%%"]}
probes: [{kind: agent, role: %s}]
`
	if _, err := k.Parse(fmt.Appendf(nil, in, "proxy")); err != nil {
		t.Error(err)
	}
	failure.Says(t, failure.Of(k.Parse(fmt.Appendf(nil, in, "db"))),
		"the target external has no role \"proxy\" to watch; roles: generator, db")
}

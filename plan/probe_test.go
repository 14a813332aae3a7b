package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		{Kind: plan.ProbePrometheus, Role: "app", URL: "http://10.0.0.5:9100/metrics?collect[]=cpu"},
		{Kind: plan.ProbePprof, Role: "app", URL: "${FILE:/etc/plimsoll/pprof.url}"},
		{Kind: plan.ProbePostgreSQL, Role: "db", DSN: "${ENV:PG_DSN}"},
		{Kind: plan.ProbeMySQL, Role: "db", DSN: "monitor:${ENV:MYSQL_PASSWORD}@tcp(10.0.0.7:3306)/"},
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
	again := mustParse(t, p.String())
	if d := cmp.Diff(want, again.Probes); d != "" || again.Digest() != p.Digest() {
		t.Errorf("written and read again (-want +got):\n%s", d)
	}
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
	if _, err := k.Parse(fmt.Appendf(nil, in, "db")); err == nil || !strings.Contains(err.Error(), "the target external has no role \"proxy\" to watch; roles: generator, db") {
		t.Errorf("error %v", err)
	}
}

func TestProbesRefused(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"no process":     {"{kind: pid, role: app}", "probes[0].pid: is missing; want the number of a process (kind pid) or the name of a container (kind container) on this host"},
		"pid and url":    {"{kind: pid, role: app, pid: 3, url: \"http://h/x\"}", "probes[0].url: has no effect on a probe of kind pid, which has a pid; remove it"},
		"unknown kind":   {"{kind: postgres, role: db, dsn: \"${ENV:A}\"}", `probes[0].kind: "postgres" is not a known kind of probe; did you mean "postgresql"?`},
		"no kind":        {"{role: db}", "probes[0].kind: is missing; want one of prometheus, pprof, postgresql, mysql, nginx"},
		"no role":        {"{kind: nginx, url: \"http://h/s\"}", "probes[0].role: is missing"},
		"bad role":       {"{kind: nginx, role: \"a b\", url: \"http://h/s\"}", `probes[0].role: "a b" cannot be a name`},
		"no url":         {"{kind: pprof, role: app}", "probes[0].url: is missing; a probe of kind pprof needs the address of a page"},
		"no dsn":         {"{kind: mysql, role: db}", "probes[0].dsn: is missing; a probe of kind mysql needs a reference"},
		"url and dsn":    {"{kind: mysql, role: db, dsn: \"${ENV:A}\", url: \"http://h/\"}", "probes[0].url: has no effect on a probe of kind mysql"},
		"plain dsn":      {"{kind: mysql, role: db, dsn: \"root:geheim@tcp(h:1)/\"}", "probes[0].dsn: looks like a secret"},
		"plain password": {"{kind: nginx, role: proxy, url: \"http://me:geheim@h/s\"}", "probes[0].url: holds a password or token"},
		"plain token":    {"{kind: prometheus, role: app, url: \"http://h/m?token=geheim\"}", "probes[0].url: holds a password or token"},
		"user":           {"{kind: prometheus, role: app, url: \"http://geheim@h/m\"}", "probes[0].url: it is not the address of a page"},
		"not http":       {"{kind: prometheus, role: app, url: \"h:9100/metrics\"}", `probes[0].url: "h:9100/metrics" is not the address of a page`},
		"unknown key":    {"{kind: nginx, role: proxy, uri: \"http://h/s\"}", `probes[0].uri: unknown key; did you mean "url"?`},
		"twice":          {"{kind: nginx, role: p, url: \"http://h/s\"}, {kind: nginx, role: p, url: \"http://h/s\"}", "probes[1]: is the same as probes[0]; keep one"},
		"no list":        {"", ""},

		"agent twice":        {"{kind: agent, role: p, agent: a}, {kind: agent, role: p, agent: a}", "probes[1]: is the same as probes[0]; keep one"},
		"agent, bad name":    {"{kind: agent, role: p, agent: \"a b\"}", `probes[0].agent: "a b" cannot be a name`},
		"agent with a page":  {"{kind: agent, role: p, url: \"https://h:1\"}", "probes[0].url: has no effect on a probe of kind agent: agents join the run by themselves (plimsoll agent -join URL -token-file FILE -role ROLE), and have no address; write {kind: agent, role: ROLE}"},
		"agent with a token": {"{kind: agent, role: p, token: \"${ENV:A}\"}", "probes[0].token: is gone: agents join the run by themselves"},
		"agent, pinned":      {"{kind: agent, role: p, fingerprint: \"sha256:0123\"}", "probes[0].fingerprint: is gone: agents join the run by themselves"},
		"agent, authority":   {"{kind: agent, role: p, ca: system}", "probes[0].ca: is gone: agents join the run by themselves"},
		"agent of a page":    {"{kind: nginx, role: p, url: \"http://h/s\", agent: a}", "probes[0].agent: has no effect on a probe of kind nginx, which has a url"},
	} {
		t.Run(name, func(t *testing.T) {
			in := probed + "probes: [" + c.in + "]\n"
			if c.in == "" {
				in, c.want = probed+"probes: {kind: nginx}\n", "probes: is a mapping; want a list of probes"
			}
			_, err := plan.Parse([]byte(in))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

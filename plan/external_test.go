package plan

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// commandedTail is the rest of a plan that ends after its target.
const commandedTail = "\nworkload: {behavior: b}\nbounded: {users: 1}\n"

func TestCommandsOfAnExternalTarget(t *testing.T) {
	p, err := Parse([]byte(`name: n
target:
  driver: external
  url: https://chat.example
  install: [./deploy.sh, -v]
  reset: [./reset.sh]
  env: {KUBECONFIG: /etc/kube, DB: "${ENV:DB_DSN}"}
  verify: {posts: 12000000 ±0, channels: none}
  timeouts: {reset: 1h}` + commandedTail + `compare:
  arms: {base: {version: "11.0"}, new: {version: 11.1-rc2}}
database: {engine: [postgresql, mysql]}
`))
	failure.None(t, err)
	ReadAgain(t, p)
	v := p.Target.Verify
	if v.Version != FromAPI || v.Posts != (Expectation{Exactly, 12_000_000, 0}) ||
		v.Users != (Expectation{Kind: Same}) ||
		v.Channels.Checked() ||
		!v.Counts() {
		t.Errorf("verify %+v", v)
	}
	if o := p.Target.Timeouts; o != (Timeouts{20 * time.Minute, time.Hour, 5 * time.Minute}) {
		t.Errorf("timeouts %+v", o)
	}
	// A plan without commands is what it was.
	p, err = Parse(
		[]byte("name: n\ntarget: {driver: external, url: http://a, version: v1}" + commandedTail),
	)
	if err != nil || p.Target.Verify != (Verification{}) || p.Target.Timeouts != (Timeouts{}) ||
		strings.Contains(p.String(), "verify") {
		t.Errorf("a plan without commands: %v\n%s", err, p)
	}
}

func TestArmsAtAddresses(t *testing.T) {
	p, err := Parse([]byte(`name: n
target: {driver: external, metrics_url: /metrics}` + commandedTail + `probes: [{kind: nginx, role: proxy, url: "http://p/status"}]
compare:
  arms:
    base: {version: "1.0", url: https://blue, probes: [{kind: agent, role: app, agent: blue}]}
    new: {version: "1.1", url: https://green, metrics_url: "https://green:9/m", probes: [{kind: agent, role: app, agent: green}]}
`))
	failure.None(t, err)
	if p.Target.Verify.Version != FromAPI || p.Target.Verify.Counts() {
		t.Errorf("verify %+v, want the version alone", p.Target.Verify)
	}
	base, _ := p.Compare.Arm(Base)
	fresh, _ := p.Compare.Arm("new")
	if b, n := p.Target.With(base), p.Target.With(fresh); b.URL.First() != "https://blue" ||
		b.MetricsURL.First() != "/metrics" ||
		n.URL.First() != "https://green" ||
		n.MetricsURL.First() != "https://green:9/m" {
		t.Errorf("base %s %s, new %s %s", b.URL, b.MetricsURL, n.URL, n.MetricsURL)
	}
	if got := p.ProbesOf("new"); len(got) != 2 || got[1].Agent != "green" {
		t.Errorf("probes of new: %+v", got)
	}
	if q := p.WithoutAgents(); q.WatchedByAgents() || len(q.ProbesOf("new")) != 1 ||
		!p.WatchedByAgents() {
		t.Errorf("without agents: %+v; with them: %+v", q.ProbesOf("new"), p.ProbesOf("new"))
	}
	if got := p.Watching(); len(got) != 2 || got[1].Role != "app" {
		t.Errorf("probes of all arms: %+v", got)
	}
	ReadAgain(t, p)
}

// Two versions at one address need a command that puts them there, or an address each.
func TestOneServerIsNotTwoVersions(t *testing.T) {
	known := Known{Drivers: []string{External}}
	parse := func(target, arms string) error {
		_, err := known.Parse([]byte(
			"name: n\ntarget: " + target + commandedTail + "compare: {arms: " + arms + "}\n",
		))
		return err
	}
	const versions = `{base: {version: "1.0"}, new: {version: "1.1"}}`
	failure.Says(t, parse(`{driver: external, url: "http://a"}`, versions), "target.install")
	if err := parse(`{driver: external, url: "http://a", install: [x]}`, versions); err != nil {
		t.Errorf("with a command: %v", err)
	}
	if err := parse("{driver: external}", `{base: {version: "1.0", url: "http://a"}, new: {version: "1.1", url: "http://b"}}`); err != nil {
		t.Errorf("with addresses: %v", err)
	}
	if err := parse("{driver: external}", `{base: {version: "1.0", url: "http://a"}, new: {version: "1.1", url: "http://a"}}`); err == nil {
		t.Error("two versions at one address of their own")
	}
	if err := parse(`{driver: external, url: "http://a"}`, "{base: {}, new: {}}"); err != nil {
		t.Errorf("arms that are alike: %v", err)
	}
}

func TestExpectations(t *testing.T) {
	for _, s := range []string{"0 ±0", "12000000 ±3", "same ±0", "same ±2", "none"} {
		x, err := parseExpectation(s)
		if err != nil || x.String() != s {
			t.Errorf("%q is %+v, %q, %v", s, x, x, err)
		}
	}
	for s, want := range map[string]string{
		"7":       "7 ±0",
		"7±1":     "7 ±1",
		"7 +-1":   "7 ±1",
		"7 +/- 1": "7 ±1",
		"same":    "same ±0",
	} {
		if x, err := parseExpectation(s); err != nil || x.String() != want {
			t.Errorf("%q is %q, %v, want %q", s, x, err, want)
		}
	}
	for _, s := range []string{"", "-1", "1e6", "none ±1", "same ± x", "1_000", "9999999999999999"} {
		if x, err := parseExpectation(s); err == nil {
			t.Errorf("%q is accepted as %+v", s, x)
		}
	}
}

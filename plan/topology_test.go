package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

const topologyText = "name: x\ntarget: {driver: %s, topology: %s}\ndatabase: {engine: postgresql}\nworkload: {behavior: poster}\nbounded: {users: 1}\n"

var withTopologies = plan.Known{
	Drivers:    []string{"chat", "feed", plan.Process, plan.External},
	Topologies: []string{"chat", plan.Process},
}

// Apps and instances are one number.
func TestTopology(t *testing.T) {
	for text, want := range map[string]string{
		`{apps: 3, proxy: nginx}`:                `3 3 "nginx" shared`,
		`{proxy: nginx}, instances: 2`:           `2 2 "nginx" shared`,
		`{apps: 2, proxy: nginx}, instances: 2`:  `2 2 "nginx" shared`,
		`{}`:                                     `1 1 "" shared`,
		`{apps: 1, proxy: nginx, hosts: shared}`: `1 1 "nginx" shared`,
	} {
		p, err := withTopologies.Parse(fmt.Appendf(nil, topologyText, "chat", text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		to := p.Target.Topology
		if got := fmt.Sprintf("%d %d %q %s", p.Target.Instances, to.Apps, to.Proxy, to.Hosts); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
		plan.ReadAgain(t, p)
	}
}

// Replicas that a server does not read from are noted, and so is the license that some servers need
// for them.
func TestReplicaNotes(t *testing.T) {
	for text, want := range map[string]string{
		`{replicas: 1}`: "no variable of env has their addresses",
		`{replicas: 1}, env: {postgresql: {REPLICAS: "${DSN_REPLICAS}"}}`: "",
		`{apps: 1}`: "",
	} {
		p, err := withTopologies.Parse(
			fmt.Appendf(nil, topologyText, plan.Process, text+", command: [srv]"),
		)
		failure.None(t, err)
		if got := strings.Join(p.Notes(), "\n"); !strings.Contains(got, want) ||
			(want == "") != (got == "") {
			t.Errorf("%s: noted %q, want %q", text, got, want)
		}
	}
	arms := topologyText + "compare: {arms: {base: {}, new: {env: {REPLICAS: \"${DSN_REPLICAS}\"}}}}\n"
	of, err := withTopologies.Parse(
		fmt.Appendf(nil, arms, plan.Process, "{replicas: 1}, command: [srv]"),
	)
	failure.None(t, err)
	if got := of.Notes(); len(got) != 1 || !strings.Contains(got[0], "for the arm base") {
		t.Errorf("an arm reads from them: noted %q, want the other arm", got)
	}
	p, err := withTopologies.Parse(fmt.Appendf(nil, topologyText, "chat", `{replicas: 1}`))
	if err != nil || len(p.Notes()) != 0 {
		t.Errorf("a server that reads from them: %v, %v", p.Notes(), err)
	}
	none := strings.Replace(topologyText, "database: {engine: postgresql}\n", "", 1)
	failure.Says(t, failure.Of(withTopologies.Parse(fmt.Appendf(nil, none, "chat", `{replicas: 1}`))),
		"add a section database")
}

package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// TestLinks reads limits of links: a role's limits override the limits of all, and the canonical
// plan reads as the same.
func TestLinks(t *testing.T) {
	const text = `{apps: 2, proxy: nginx, hosts: netns, links: {all: {rate: 1.5 Gbit, delay: 200us}, db: {delay: 2ms}, generator: {rate: 100Mbit/s}}}`
	p, err := withTopologies.Parse(fmt.Appendf(nil, topologyText, "chat", text))
	failure.None(t, err)
	to := p.Target.Topology
	if !to.Apart() || !p.Networked() {
		t.Error("hosts: netns is no network of its own")
	}
	for role, want := range map[string]plan.LinkLimit{
		"app":       {Delay: 200 * time.Microsecond, Rate: 15e8},
		"db":        {Delay: 2 * time.Millisecond, Rate: 15e8},
		"generator": {Delay: 200 * time.Microsecond, Rate: 1e8},
	} {
		if got := to.Link(role); got != want {
			t.Errorf("link of %s: %+v, want %+v", role, got, want)
		}
	}
	if want := "2 apps, proxy nginx, hosts netns, links of all delay 200µs rate 1.5Gbit/s, db delay 2ms, generator rate 100Mbit/s"; to.String() != want {
		t.Errorf("%s, want %s", to, want)
	}
	plan.ReadAgain(t, p)
}

// Servers on separate hosts may have addresses of these hosts.
func TestAddressesOfHosts(t *testing.T) {
	good := `{hosts: netns}, url: "http://${HOSTPORT}", metrics_url: "http://${HOST}:${PORT1}/metrics", ` +
		`ready: /ping, args: ["-listen=${HOSTPORT}", "-own=127.0.0.1:${PORT2}"]`
	if _, err := withTopologies.Parse(fmt.Appendf(nil, topologyText, "chat", good)); err != nil {
		t.Error(err)
	}
}

// TestApartIsNoDuet: a comparison of such servers has its arms one after the other.
func TestApartIsNoDuet(t *testing.T) {
	p, err := withTopologies.Parse(
		fmt.Appendf(
			nil,
			topologyText+"compare: {arms: {base: {}, new: {args: [-x]}}}\n",
			"chat",
			`{hosts: netns}`,
		),
	)
	failure.None(t, err)
	if duet, why := p.Duet(); duet || !strings.Contains(why, "has not been measured") {
		t.Errorf("a duet %v: %s", duet, why)
	}
}

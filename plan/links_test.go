package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
)

// TestLinks reads limits of links: a role's own win over those of all, and the canonical plan reads as the same.
func TestLinks(t *testing.T) {
	const text = `{apps: 2, proxy: nginx, hosts: netns, links: {all: {rate: 1.5 Gbit, delay: 200us}, db: {delay: 2ms}, generator: {rate: 100Mbit/s}}}`
	p, err := withTopologies.Parse(fmt.Appendf(nil, topologyText, "chat", text))
	if err != nil {
		t.Fatal(err)
	}
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
	again, err := withTopologies.Parse([]byte(p.String()))
	if err != nil || again.Digest() != p.Digest() {
		t.Errorf("read again: %v\n%s", err, p)
	}
}

func TestBadLinks(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{hosts: shared, links: {all: {delay: 1ms}}}`, "target.topology.links: are of hosts that have links, and hosts: shared have none; write hosts: netns"},
		{`{links: {all: {delay: 1ms}}}`, "hosts: shared have none"},
		{`{hosts: netns, links: {}, proxy: nginx}, url: "http://127.0.0.1:${PORT}"`, "target.url: is on another host than the servers"},
		{`{hosts: netns}, metrics_url: "http://127.0.0.1:${PORT1}/metrics"`, "target.metrics_url: is on another host"},
		{`{hosts: netns}, ready: "http://localhost:80/"`, "target.ready: is on another host"},
		{`{hosts: netns}, args: ["-listen=127.0.0.1:${PORT}"]`, "target.args[0]: listens where no other host reaches it (hosts: netns); write ${HOSTPORT}"},
		{`{hosts: netns}, env: {LISTEN: "localhost:${PORT}"}`, "target.env: LISTEN: listens where no other host"},
		{`{hosts: netns}, metrics_url: "http://${HOST}:${PORT1}/metrics", env: {METRICS: "127.0.0.1:${PORT1}"}`, "target.env: METRICS: listens where no other host reaches it (hosts: netns); write ${HOST}:${PORT1}"},
		{`{hosts: netns, links: {web: {delay: 1ms}}}`, "\"web\" is not a known role of hosts"},
		{`{hosts: netns, links: {proxy: {delay: 1ms}}}`, "target.topology.links.proxy: the topology has no host of that role"},
		{`{hosts: netns, links: {replica: {delay: 1ms}}}`, "target.topology.links.replica: the topology has no host"},
		{`{hosts: netns, links: {db: {}}}`, "target.topology.links.db: sets no limit"},
		{`{hosts: netns, links: {db: {delay: 11s}}}`, "target.topology.links.db.delay: 11s is out of range; want 0s to 10s"},
		{`{hosts: netns, links: {db: {delay: 400ns}}}`, "target.topology.links.db.delay: 400ns is not in whole microseconds; write 1µs"},
		{`{hosts: netns, links: {db: {delay: 1.0006ms, rate: 1Mbit}}}`, "target.topology.links.db.delay: 1.0006ms is not in whole microseconds; write 1.001ms"},
		{`{hosts: netns, links: {db: {rate: 1kbit}}}`, "is out of range; want 64kbit/s to 100Gbit/s"},
		{`{hosts: netns, links: {db: {rate: 100}}}`, "is not a rate; want bits per second such as 100Mbit/s"},
		{`{hosts: netns, links: {db: {rate: 100MB/s}}}`, "is not a rate"},
	} {
		if _, err := withTopologies.Parse(fmt.Appendf(nil, topologyText, "chat", tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
	// Those of an arm, too, in the order of arms and keys.
	const arms = "compare: {arms: {base: {}, b: {env: {B: \"localhost:${PORT}\", A: \"127.0.0.1:${PORT}\"}}, a: {args: [\"-listen=127.0.0.1:${PORT}\"]}}}\n"
	const want = "compare.arms.b.env: A: listens where no other host"
	const also = "compare.arms.a.args[0]: listens where no other host reaches it (hosts: netns); write ${HOSTPORT}"
	if _, err := withTopologies.Parse(fmt.Appendf(nil, topologyText+arms, "chat", `{hosts: netns}`)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), also) {
		t.Errorf("arms: %v, want %s and %s", err, want, also)
	}
	// Addresses with the host's own are accepted.
	good := `{hosts: netns}, url: "http://${HOSTPORT}", metrics_url: "http://${HOST}:${PORT1}/metrics", ready: /ping, args: ["-listen=${HOSTPORT}", "-own=127.0.0.1:${PORT2}"]`
	if _, err := withTopologies.Parse(fmt.Appendf(nil, topologyText, "chat", good)); err != nil {
		t.Error(err)
	}
}

// TestApartIsNoDuet: a comparison of such servers has its arms one after the other.
func TestApartIsNoDuet(t *testing.T) {
	p, err := withTopologies.Parse(fmt.Appendf(nil, topologyText+"compare: {arms: {base: {}, new: {args: [-x]}}}\n", "chat", `{hosts: netns}`))
	if err != nil {
		t.Fatal(err)
	}
	if duet, why := p.Duet(); duet || !strings.Contains(why, "has not been measured") {
		t.Errorf("a duet %v: %s", duet, why)
	}
}

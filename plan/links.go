package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// AllLinks is the key of [Topology].Links for the links of all roles.
const AllLinks = "all"

// linkRoles are the keys of Topology.Links.
var linkRoles = []string{AllLinks, "app", "proxy", "db", "replica", "generator"}

// A LinkLimit limits the link between a host and its switch, in each direction. The zero value has
// no limits.
type LinkLimit struct {
	Delay time.Duration `yaml:"delay"`
	// Rate is the most that the link carries; 0 means no limit.
	Rate Bitrate `yaml:"rate"`
}

// links is the type of the limits of links by role.
var links = mapping(
	"a mapping such as {all: {rate: 1Gbit/s}, db: {delay: 500us}}",
	sub(linkKeys),
	"The link of each host of the role.",
).describing(object{"propertyNames": object{"enum": linkRoles}})

var linkKeys = section{
	{"delay", duration.hidingZero().from("0s", "10s"),
		`What a packet takes longer over the link, in either direction, such as 500us; between two
		hosts are two links. At most 10s, in whole microseconds. Needs the kernel's netem.`},
	{"rate", bitrate,
		`Bits per second over the link in each direction, such as 100Mbit/s, from 64kbit/s to
		100Gbit/s. Needs the kernel's tbf.`},
}

// The range of a [Bitrate].
const (
	leastRate = Bitrate(64e3)
	mostRate  = Bitrate(100e9)
)

// String returns a readable description.
func (l LinkLimit) String() string {
	var parts []string
	if l.Delay > 0 {
		parts = append(parts, "delay "+FormatDuration(l.Delay))
	}
	if l.Rate > 0 {
		parts = append(parts, "rate "+l.Rate.String())
	}
	return strings.Join(parts, " ")
}

// Link returns the limits of a role's links: its own, else the limits of all links.
func (t *Topology) Link(role string) LinkLimit {
	of, all := t.Links[role], t.Links[AllLinks]
	if of.Delay == 0 {
		of.Delay = all.Delay
	}
	if of.Rate == 0 {
		of.Rate = all.Rate
	}
	return of
}

// LinksText describes the limits of all links; empty without any.
func (t *Topology) LinksText() string {
	var parts []string
	for _, role := range slices.Sorted(maps.Keys(t.Links)) {
		parts = append(parts, role+" "+t.Links[role].String())
	}
	return strings.Join(parts, ", ")
}

// A Bitrate is a number of bits per second. A plan writes it as 100Mbit/s, or 100Mbit.
type Bitrate int64

var bitUnits = units{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}}

func parseBitrate(s string) (Bitrate, error) {
	r, ok := bitUnits.parse(strings.TrimSuffix(s, "/s"))
	switch {
	case !ok:
		return 0, refuse(s, "is not a rate; "+
			"want bits per second such as 100Mbit/s, with kbit, Mbit or Gbit")
	case r < float64(leastRate) || r > float64(mostRate):
		return 0, refuse(s, "is out of range; want %s to %s", leastRate, mostRate)
	}
	return Bitrate(r + 0.5), nil
}

// String returns the rate in the largest unit in which it is 1 or more: "1.5Gbit/s".
func (b Bitrate) String() string {
	i := slices.IndexFunc(bitUnits, func(u unit) bool { return float64(b) >= u.size })
	u := bitUnits[max(i, 0)]
	if i < 0 {
		u = bitUnits[len(bitUnits)-1]
	}
	return formatNumber(float64(b)/u.size) + u.name + "/s"
}

// checkLinks checks the limits of links.
func (d *decoder) checkLinks(p *Plan) {
	const path = "target.topology.links"
	to := p.Target.Topology
	if len(to.Links) == 0 || !d.good(path) {
		return
	}
	if !to.Apart() && d.good("target.topology.hosts") {
		d.at(path, "are of hosts that have links, and hosts: %s have none; write hosts: %s, or "+
			"remove them", to.Hosts, HostsNetns)
		return
	}
	there := map[string]bool{
		AllLinks:    true,
		"app":       true,
		"generator": true,
		"proxy":     to.Proxy != "",
		"db":        len(p.Engines()) > 0,
		"replica":   to.Replicas > 0,
	}
	for _, role := range slices.Sorted(maps.Keys(to.Links)) {
		at := path + "." + role
		d.known(at, "role of hosts", role, linkRoles)
		switch {
		case !d.good(at):
		case !there[role]:
			d.at(at, "the topology has no host of that role; remove it")
		case to.Links[role] == LinkLimit{}:
			d.at(at, "sets no limit; write delay or rate, or remove it")
		case to.Links[role].Delay%time.Microsecond != 0:
			d.at(at+".delay", "%v is not in whole microseconds; write %v", to.Links[role].Delay,
				max(time.Microsecond, to.Links[role].Delay.Round(time.Microsecond)))
		}
	}
}

// localRE is an address to listen on that no other host reaches.
var localRE = regexp.MustCompile(`\b(?:127\.0\.0\.1|localhost):(\$\{PORT[1-3]?\})`)

// checkApart refuses addresses that no server on a separate host can have.
func (d *decoder) checkApart(p *Plan) {
	t := p.Target
	if !t.Topology.Apart() || !d.good("target.topology.hosts") {
		return
	}
	// the ports that others connect to; further ones may be for the host itself
	requested := []string{"${PORT}"}
	for _, at := range []struct {
		path string
		list Addresses
	}{{"target.url", t.URL}, {"target.metrics_url", t.MetricsURL}, {"target.ready", Addresses{t.Ready}}} {
		for _, v := range at.list {
			requested = append(requested, portRE.FindAllString(v, -1)...)
		}
		whole := slices.ContainsFunc(at.list, func(v string) bool {
			return strings.Contains(v, "://") && !strings.Contains(v, "://${HOST}") &&
				!strings.Contains(v, "://${HOSTPORT}")
		})
		if whole && d.good(at.path) {
			d.at(at.path,
				"is on another host than the servers, each of which has its own (hosts: %s); "+
					"write http://${HOSTPORT} or http://${HOST}:${PORT1} there, a path, or "+
					"remove it", HostsNetns)
		}
	}
	d.checkLocal("target.command", t.Command, requested)
	d.checkLocal("target.args", t.Args, requested)
	d.checkLocalEnv("target.env", t.Env, requested)
	for _, a := range p.arms() {
		path := "compare.arms." + a.Name
		d.checkLocal(path+".args", a.Args, requested)
		d.checkLocalEnv(path+".env", a.Env, requested)
	}
}

// portRE is a reference to a port of an instance.
var portRE = regexp.MustCompile(`\$\{PORT[1-3]?\}`)

// localPort returns the reference to a port in an address on the loopback device, if it is one of
// these; or "".
func localPort(text string, ports []string) string {
	for _, m := range localRE.FindAllStringSubmatch(text, -1) {
		if slices.Contains(ports, m[1]) {
			return m[1]
		}
	}
	return ""
}

// unreached is the problem of a server that listens there.
func unreached(port string) string {
	at := "${HOST}:" + port
	if port == "${PORT}" {
		at = "${HOSTPORT}"
	}
	return fmt.Sprintf(
		"listens where no other host reaches it (hosts: %s); write %s",
		HostsNetns,
		at,
	)
}

// checkLocal refuses arguments that have a server listen for others on its own loopback device.
func (d *decoder) checkLocal(path string, args, ports []string) {
	for i, arg := range args {
		if at := fmt.Sprintf("%s[%d]", path, i); d.good(path, at) {
			if port := localPort(arg, ports); port != "" {
				d.at(at, "%s", unreached(port))
			}
		}
	}
}

// checkLocalEnv does the same for variables.
func (d *decoder) checkLocalEnv(path string, env Env, ports []string) {
	for _, engine := range slices.Sorted(maps.Keys(env)) {
		for _, key := range slices.Sorted(maps.Keys(env[engine])) {
			if port := localPort(env[engine][key], ports); port != "" && d.good(path) {
				d.at(path, "%s: %s", key, unreached(port))
			}
		}
	}
}

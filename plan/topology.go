package plan

import (
	"fmt"
	"slices"
	"strings"
)

// ProxyNginx is the proxy that a [Topology] may have.
const ProxyNginx = "nginx"

// Where the roles of a [Topology] run.
const (
	// HostsShared is this host's loopback device.
	HostsShared = "shared"
	// HostsNetns is a network namespace for each, on one switch.
	HostsNetns = "netns"
)

// A Topology is several servers on one host in the roles that a cluster has: apps on one database,
// with a proxy before them and replicas behind them.
type Topology struct {
	// Apps is the number of servers on one database, 1 to 64, the same as [Target].Instances,
	// which is its default.
	Apps int `yaml:"apps"`
	// Proxy is [ProxyNginx] or empty for none. Users then reach the servers through it alone.
	Proxy    string `yaml:"proxy"`
	Replicas int    `yaml:"replicas"`
	// Hosts is [HostsShared] (default) or [HostsNetns].
	Hosts string `yaml:"hosts"`
	// Links are the limits of the links between the hosts of [HostsNetns] and their switch, by role
	// or [AllLinks]; a role's limits override the limits of all. Without them, a link is as fast as
	// this machine.
	Links map[string]LinkLimit `yaml:"links"`
}

var topologyKeys = section{
	{"apps", integer.from(1, maxInstances),
		`Number of servers on one database. Default: target.instances.`},
	{"proxy", oneOf("a known proxy", "known:", ProxyNginx),
		`The proxy before them, through which alone users then reach them. Without it, none.`},
	{"replicas", integer.from(0, 8),
		`Copies of the database for reads, whose addresses are in ${DSN_REPLICAS}. 0 to 8.`},
	{"hosts", oneOf("a known kind of hosts", "known:", HostsShared, HostsNetns).or(HostsShared),
		`Where the roles run. shared: on this host's loopback device. netns: each in a network
		namespace with an address of its own, on one switch, beside the users; needs root.`},
	{"links", links,
		`With hosts: netns, limits of the links between hosts and switch, by role: all, app, proxy,
		db, replica, generator. A role's own win over those of all.`},
}

// String returns a readable description.
func (t *Topology) String() string {
	if t == nil {
		return ""
	}
	parts := []string{fmt.Sprintf("%d apps", t.Apps)}
	if t.Proxy != "" {
		parts = append(parts, "proxy "+t.Proxy)
	}
	if t.Replicas > 0 {
		parts = append(parts, fmt.Sprintf("%d replicas", t.Replicas))
	}
	parts = append(parts, "hosts "+t.Hosts)
	if len(t.Links) > 0 {
		parts = append(parts, "links of "+t.LinksText())
	}
	return strings.Join(parts, ", ")
}

// Apart reports whether each role is a separate host.
func (t *Topology) Apart() bool { return t != nil && t.Hosts == HostsNetns }

// Notes returns remarks for a person on a valid plan: places where it may need more than a server
// does.
func (p *Plan) Notes() []string {
	t := p.Target
	if t.Topology == nil || t.Topology.Replicas == 0 || t.Driver != Process {
		return nil
	}
	var out []string
	for _, a := range p.variants() {
		named := false
		for _, engine := range append([]string{""}, p.Engines()...) {
			for _, value := range t.With(a).Env.For(engine) {
				named = named || strings.Contains(value, "${DSN_REPLICAS")
			}
		}
		if named {
			continue
		}
		of := ""
		if a.Name != "" {
			of = " for the arm " + a.Name
		}
		out = append(
			out,
			"target.topology.replicas are started, and no variable of env has their addresses, ${DSN_REPLICAS}"+of+": the server does not read from them",
		)
	}
	return out
}

// Proxied reports whether users reach the target through a proxy that is started for it.
func (t Target) Proxied() bool { return t.Topology != nil && t.Topology.Proxy != "" }

// fillTopology sets the number of servers, which has two keys.
func (d *decoder) fillTopology(t *Target) {
	to := t.Topology
	switch {
	case to == nil:
	case d.given("target.topology.apps"):
		fill(d, "target.instances", &t.Instances, to.Apps)
	default:
		to.Apps = t.Instances
	}
}

// checkTopology checks it, defaults filled in.
func (d *decoder) checkTopology(p *Plan, k Known) {
	const path = "target.topology"
	t, to := p.Target, p.Target.Topology
	if to == nil || !d.read(path) {
		return
	}
	if d.good("target.driver") {
		switch {
		case t.Driver == External:
			d.at(path,
				"has no effect, because the driver external starts nothing; give the address "+
					"of your proxy in target.url, and remove it")
			return
		case k.Topologies != nil && !slices.Contains(k.Topologies, t.Driver):
			d.at(path, "is for the drivers %s; %s starts one server; remove it",
				strings.Join(k.Topologies, ", "), t.Driver)
			return
		}
	}
	if d.good(path+".apps", "target.instances") && to.Apps != t.Instances {
		d.at(path+".apps", "%d, and target.instances is %d; keep one of them", to.Apps, t.Instances)
	}
	if to.Replicas > 0 && len(p.Engines()) == 0 && d.good(path+".replicas", "database") {
		d.at(path+".replicas",
			"are copies of a database, and none is started for the target; add a section "+
				"database with an engine")
	}
	if to.Proxy != "" && len(t.URL) > 0 && !strings.Contains(t.URL.First(), "${") &&
		d.good(path+".proxy", "target.url") {
		d.at("target.url", "is the address of every server behind the proxy; write "+
			"http://127.0.0.1:${PORT}, or remove it")
	}
	d.checkLinks(p)
	d.checkApart(p)
	if p.networkedArms() && d.good(path, "compare.arms") {
		d.at(path,
			"and deployment.network of an arm both say which networks there are; keep one of "+
				"them")
	}
}

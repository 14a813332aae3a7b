package plan

import (
	"fmt"
	"slices"
	"strings"
)

// How the server of an arm is attached to the network; see [Deployment].
const (
	NetworkNone   = "none"
	NetworkBridge = "bridge"
	NetworkHost   = "host"
)

// Whose CPU time and memory a [Deployment] limits.
const (
	OfTarget = "target"
	OfApp    = "app"
)

// A Deployment sets how an arm's server is run, so that arms may differ in it and in nothing else.
// If one arm of a comparison sets a field, all have it: the others get the value that leaves the
// server as it is (none, 100%) in the same set-up, see [Plan.Networked].
type Deployment struct {
	// Network is [NetworkNone], a plain process; [NetworkBridge], a container in its own network
	// behind a bridge, whose port is published by address translation; or [NetworkHost], a
	// container with the network of its host. Each has users, server and stores in three separate
	// networks with wires between them. Empty, in all arms, means this host's loopback device.
	Network string `yaml:"network"`
	// CPUs is the CPU time that may be used, as a fraction of the target's cores: 0.9 of two cores
	// are 1.8. 0 means no quota.
	CPUs float64 `yaml:"cpus"`
	// Memory is the limit of memory; 0 means no limit.
	Memory Memory `yaml:"memory"`
	// Of selects the programs that CPUs and Memory limit: [OfTarget] (default), the server and all
	// its stores together, or [OfApp], the server alone. Empty without either.
	Of string `yaml:"of"`
}

var deploymentKeys = section{
	{"network", oneOf("a known network", "known:", NetworkNone, NetworkBridge, NetworkHost),
		`none: a plain process. bridge: a container behind a bridge, its port published by address
		translation. host: a container with its host's network. Each with users, server and stores
		in networks of their own.`},
	{"cpus", percent.from("1%", "100%"),
		`CPU time that may be used, of the target's cores, by a quota of a control group.`},
	{"memory", memory.from("16MB", maxMemory),
		`Memory that may be used, such as 512MB, by a limit of a control group.`},
	{"of", oneOf("a known group", "known:", OfTarget, OfApp),
		`Whose: target is the server and all its stores together, app the server alone. Default
		target.`},
	{"engine", gone("containers are podman's; remove it"), ""},
}

// Contained reports whether the server runs in a container.
func (d *Deployment) Contained() bool {
	return d != nil && (d.Network == NetworkBridge || d.Network == NetworkHost)
}

// Limited reports whether the deployment has a control group.
func (d *Deployment) Limited() bool { return d != nil && d.Of != "" }

// String returns a readable description; empty for the zero value.
func (d *Deployment) String() string {
	if d == nil {
		return ""
	}
	var parts []string
	switch {
	case d.Contained():
		parts = append(parts, "container, network "+d.Network)
	case d.Network != "":
		parts = append(parts, "no container")
	}
	whose := "server and stores"
	if d.Of == OfApp {
		whose = "server"
	}
	if d.CPUs > 0 {
		parts = append(
			parts,
			fmt.Sprintf("%s with %s of the target's cores", whose, formatPercent(d.CPUs)),
		)
	}
	if d.Memory > 0 {
		parts = append(parts, fmt.Sprintf("%s with %s of memory", whose, d.Memory))
	}
	return strings.Join(parts, ", ")
}

// Networked reports whether the target runs in separate networks: by the deployments of arms, or as
// the hosts of a topology.
func (p *Plan) Networked() bool { return p.networkedArms() || p.Target.Topology.Apart() }

// networkedArms reports whether the deployments of the arms have networks.
func (p *Plan) networkedArms() bool {
	return p.anyArm(func(a Arm) bool { return a.Deployment != nil && a.Deployment.Network != "" })
}

// Limited reports whether the arms have control groups.
func (c *Compare) Limited() bool {
	return slices.ContainsFunc(c.Arms, func(a Arm) bool { return a.Deployment.Limited() })
}

// fillDeployments gives all arms the fields that one of them sets, so that they differ only as
// stated.
func (d *decoder) fillDeployments(c *Compare) {
	network := false
	quota := false
	limit := false
	of := OfTarget
	for i, a := range c.Arms {
		path := "compare.arms." + a.Name + ".deployment"
		if a.Deployment == nil || !d.read(path) {
			continue
		}
		network = network || d.given(path+".network")
		quota = quota || d.given(path+".cpus")
		limit = limit || d.given(path+".memory")
		if *a.Deployment == (Deployment{}) {
			c.Arms[i].Deployment = nil // {} changes nothing
		} else if a.Deployment.Of != "" {
			of = a.Deployment.Of
		}
	}
	if !network && !quota && !limit {
		return
	}
	for i := range c.Arms {
		to := c.Arms[i].Deployment
		if to == nil {
			to = new(Deployment)
			c.Arms[i].Deployment = to
		}
		path := "compare.arms." + c.Arms[i].Name + ".deployment"
		if network {
			fill(d, path+".network", &to.Network, NetworkNone)
		}
		if quota {
			fill(d, path+".cpus", &to.CPUs, 1)
		}
		if quota || limit {
			fill(d, path+".of", &to.Of, of)
		}
	}
}

// checkDeployments checks them, defaults filled in.
func (d *decoder) checkDeployments(p *Plan) {
	of, limits := "", false
	for _, a := range p.Compare.Arms {
		limits = limits || a.Deployment != nil && (a.Deployment.CPUs > 0 || a.Deployment.Memory > 0)
	}
	for _, a := range p.Compare.Arms {
		path := "compare.arms." + a.Name + ".deployment"
		if a.Deployment == nil || !d.read(path) {
			continue
		}
		to := a.Deployment
		if p.Target.Driver == External && d.given(path) {
			d.useless(path, nothingStarted)
			continue
		}
		switch {
		case !d.given(path+".of") || !d.good(path+".of"):
		case !limits:
			d.at(path+".of", "has no effect without cpus or memory; add one, or remove it")
		case of != "" && of != to.Of:
			d.at(path+".of",
				"%s here and %s in another arm limit different processes; write the same in "+
					"all", to.Of, of)
		default:
			of = to.Of
		}
		if to.Network != "" && p.Target.Instances > 1 && d.good("target.instances") {
			d.at(path+".network",
				"is for one server, and target.instances is %d; write 1, or remove the "+
					"network", p.Target.Instances)
		}
	}
}

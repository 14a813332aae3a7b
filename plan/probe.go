package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The kinds of a [Probe].
const (
	ProbePrometheus = "prometheus"
	ProbePprof      = "pprof"
	ProbePostgreSQL = "postgresql"
	ProbeMySQL      = "mysql"
	ProbeNginx      = "nginx"
	ProbeAgent      = "agent"
	ProbePID        = "pid"
)

// A Probe is one source of numbers beside those that come with the target, read once a second. A run whose source
// cannot be read fails.
type Probe struct {
	// Kind is one of the constants.
	Kind string `yaml:"kind"`
	// Role is the label role of its series, such as app, db or proxy.
	Role string `yaml:"role"`
	// URL is the address of the page, for the kinds that have one. It may hold references; see [Expand].
	URL string `yaml:"url"`
	// DSN is the address of the database, for the others. It must be a reference, or hold one for the password.
	DSN string `yaml:"dsn"`
	// PID is a process of this host whose CPU and memory are read with those of all processes that it started; Container
	// names a container of podman or docker on this host for the same.
	PID       int    `yaml:"pid" kind:"optional"`
	Container string `yaml:"container"`
	// Agent is the name of an agent that joins with the role; "" for any that no other probe names.
	Agent string `yaml:"agent"`
}

const maxProbes = 64

var probeKinds = []string{ProbePrometheus, ProbePprof, ProbePostgreSQL, ProbeMySQL, ProbeNginx, ProbeAgent, ProbePID, ProbeContainer}

// pageRE is an address with a path and a query, and without a user.
var pageRE = regexp.MustCompile(`^https?://[^\s/?#@]+(/[^\s?#]*)?(\?[^\s#]*)?$`)

// servedAgent is the remedy for the keys of a probe of kind agent that served a page of its own.
const servedAgent = "agents join the run by themselves (plimsoll agent -join URL -token-file FILE -role ROLE), and have no address; " +
	"write {kind: agent, role: ROLE}"

// place returns the key that names the source of the probe, and its value as text.
func (p Probe) place() (key, value string) {
	switch p.Kind {
	case ProbePostgreSQL, ProbeMySQL:
		return "dsn", p.DSN
	case ProbePID:
		if p.PID == 0 {
			return "pid", ""
		}
		return "pid", strconv.Itoa(p.PID)
	case ProbeContainer:
		return ProbeContainer, p.Container
	case ProbeAgent:
		return ProbeAgent, p.Agent
	}
	return "url", p.URL
}

// ShowsCPU reports whether the probe always shows the CPU time of its role.
func (p Probe) ShowsCPU() bool { return p.OfAgent() || p.OfProcess() }

// OfProcess reports whether the probe reads processes of this host.
func (p Probe) OfProcess() bool { return p.Kind == ProbePID || p.Kind == ProbeContainer }

// checkProbes checks a list of probes at a key.
func (d *decoder) checkProbes(key string, probes []Probe) {
	if len(probes) > maxProbes {
		d.at(key, "has %d probes; want at most %d", len(probes), maxProbes)
	}
	seen := map[Probe]int{}
	for i, p := range probes {
		path := fmt.Sprintf("%s[%d]", key, i)
		if !d.read(path) {
			continue
		}
		d.name(path+".role", p.Role)
		switch kind := path + ".kind"; {
		case !d.good(kind):
			continue
		case p.Kind == "":
			d.at(kind, "is missing; want one of %s", strings.Join(probeKinds, ", "))
			continue
		default:
			if d.known(kind, "kind of probe", p.Kind, probeKinds); !d.good(kind) {
				continue
			}
		}
		need, value := p.place()
		for _, other := range []string{"url", "dsn", ProbePID, ProbeContainer, ProbeAgent} {
			switch at := path + "." + other; {
			case other == need || !d.given(at) || d.stored:
			case p.Kind == ProbeAgent:
				d.at(at, "has no effect on a probe of kind agent: %s", servedAgent)
			default:
				d.at(at, "has no effect on a probe of kind %s, which has a %s; remove it", p.Kind, need)
			}
		}
		switch at := path + "." + need; {
		case !d.good(at):
		case p.Kind == ProbeAgent:
			if value != "" {
				d.name(at, value)
			}
		case value == "" && p.OfProcess():
			d.at(at, "is missing; want the number of a process (kind pid) or the name of a container (kind container) on this host")
		case p.OfProcess():
		case value == "" && need == "url":
			d.at(at, "is missing; a probe of kind %s needs the address of a page", p.Kind)
		case value == "":
			d.at(at, "is missing; a probe of kind %s needs a reference to the address of the database, such as ${ENV:DB_DSN}", p.Kind)
		default:
			d.secret(at, need, value)
			switch {
			case need != "url" || !d.good(at) || hasReference(value):
			case !pageRE.MatchString(value):
				d.at(at, "%s is not the address of a page; want http://HOST[:PORT]/PATH or https, without a user", address(value))
			}
		}
		if first, twice := seen[p]; twice && d.good(path) && (p.Kind != ProbeAgent || p.Agent != "") {
			d.at(path, "is the same as %s[%d]; keep one", key, first)
		} else {
			seen[p] = i
		}
	}
}

// OfAgent reports whether the probe is another host's.
func (p Probe) OfAgent() bool { return p.Kind == ProbeAgent }

// Elsewhere reports whether the probe may be on another host: it has an address, or is an agent's.
func (p Probe) Elsewhere() bool { return p.URL != "" || p.DSN != "" || p.OfAgent() }

// AnyProbe reports whether a probe of the plan, or of one of its arms, is so.
func (p *Plan) AnyProbe(so func(Probe) bool) bool {
	inArm := func(a Arm) bool { return slices.ContainsFunc(a.Probes, so) }
	return slices.ContainsFunc(p.Probes, so) || p.Compare != nil && slices.ContainsFunc(p.Compare.Arms, inArm)
}

// WatchedByAgents reports whether agents that join have probes of the plan or of one of its arms.
func (p *Plan) WatchedByAgents() bool { return p.AnyProbe(Probe.OfAgent) }

// WithoutAgents returns the plan without the probes of agents, which join runs alone.
func (p *Plan) WithoutAgents() *Plan {
	q := *p
	q.Probes = slices.DeleteFunc(slices.Clone(p.Probes), Probe.OfAgent)
	if p.Compare != nil {
		c := *p.Compare
		c.Arms = slices.Clone(c.Arms)
		for i, a := range c.Arms {
			c.Arms[i].Probes = slices.DeleteFunc(slices.Clone(a.Probes), Probe.OfAgent)
		}
		q.Compare = &c
	}
	return &q
}

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

// A Probe is a further source of numbers, beside the target's built-in ones, read once a second. A
// run whose source cannot be read fails.
type Probe struct {
	Kind string `yaml:"kind"`
	Role string `yaml:"role"`
	// URL is the address of the page, for the kinds that have one. It may hold references; see
	// [Expand].
	URL string `yaml:"url"`
	// DSN is the address of the database, for the others. It must be a reference, or hold one for
	// the password.
	DSN       string `yaml:"dsn"`
	PID       int    `yaml:"pid"`
	Container string `yaml:"container"`
	Agent     string `yaml:"agent"`
}

var probeKeys = section{
	{
		"kind",
		oneOf(
			"a known kind of probe",
			"known:",
			probeKinds...).needed("want one of " + strings.Join(probeKinds, ", ")),
		`prometheus: a metrics page, such as node_exporter's. pprof: a Go server's profiles.
		postgresql, mysql: a database server. nginx: its stub_status page. agent: another host's
		probes, from plimsoll agent -join -role there. pid, container: processes of this host.`,
	},
	{"role", label.needed("write it"), `The label role of its series, such as app, db or proxy.`},
	{"url", text.checked(checkPage),
		`Address of the page, of kinds prometheus, pprof and nginx. Secrets in it only as ${ENV:NAME}
		or ${FILE:PATH}.`},
	{"dsn", text,
		`Reference to the address of the database, of kinds postgresql and mysql: ${ENV:NAME} or
		${FILE:PATH}.`},
	{"pid", integer.hidingZero(),
		`Of kind pid: number of a process on this host; the processes that it started count too.`},
	{ProbeContainer, text,
		`Of kind container: name of a container of podman or docker on this host.`},
	{"agent", label,
		`Of kind agent: name of the agent, as that of its token file. Default: any that has joined
		with the role.`},
	{"token", gone(servedAgent), ""},
	{"fingerprint", gone(servedAgent), ""},
	{"ca", gone(servedAgent), ""},
}

// probes returns the type of a list of probes. The text describes one of them.
func probes(about string) valueType {
	return list(
		"a list of probes such as [{kind: prometheus, role: app, url: http://HOST:9100/metrics}]",
		sub(probeKeys),
		about,
	).atMost(64, "probes")
}

// checkPage returns the error of the address of a page.
func checkPage(s string) error {
	if s == "" || hasReference(s) || pageRE.MatchString(s) {
		return nil
	}
	return fmt.Errorf(
		"%s is not the address of a page; want http://HOST[:PORT]/PATH or https, without a "+
			"user", address(s))
}

var probeKinds = []string{
	ProbePrometheus,
	ProbePprof,
	ProbePostgreSQL,
	ProbeMySQL,
	ProbeNginx,
	ProbeAgent,
	ProbePID,
	ProbeContainer,
}

// pageRE is an address with a path and a query, and without a user.
var pageRE = regexp.MustCompile(`^https?://[^\s/?#@]+(/[^\s?#]*)?(\?[^\s#]*)?$`)

// servedAgent is the remedy for the keys of a probe of kind agent that served its own page.
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
	seen := map[Probe]int{}
	for i, p := range probes {
		path := fmt.Sprintf("%s[%d]", key, i)
		if p.Kind == "" || !d.good(path+".kind") {
			continue
		}
		need, value := p.place()
		for _, other := range []string{"url", "dsn", ProbePID, ProbeContainer, ProbeAgent} {
			switch at := path + "." + other; {
			case other == need || d.stored:
			case p.Kind == ProbeAgent:
				if d.given(at) {
					d.at(at, "has no effect on a probe of kind agent: %s", servedAgent)
				}
			case d.given(at):
				d.at(at, "has no effect on a probe of kind %s, which has a %s; remove it", p.Kind,
					need)
			}
		}
		switch at := path + "." + need; {
		case value != "" || p.OfAgent():
		case p.OfProcess():
			d.at(at, "is missing; want the number of a process (kind pid) "+
				"or the name of a container (kind container) on this host")
		case need == "url":
			d.at(at, "is missing; a probe of kind %s needs the address of a page", p.Kind)
		default:
			d.at(
				at,
				"is missing; a probe of kind %s needs a reference to the address of the database, "+
					"such as ${ENV:DB_DSN}",
				p.Kind,
			)
		}
		if first, twice := seen[p]; twice && d.good(path) && (!p.OfAgent() || p.Agent != "") {
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
	return slices.ContainsFunc(p.Probes, so) ||
		p.anyArm(func(a Arm) bool { return slices.ContainsFunc(a.Probes, so) })
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

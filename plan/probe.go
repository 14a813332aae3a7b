package plan

import (
	"fmt"
	"regexp"
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
	// Token is a reference to the content of the agent's token file.
	Token string `yaml:"token"`
	// Fingerprint pins the agent's certificate: "sha256:" and 64 hexadecimal digits.
	Fingerprint string `yaml:"fingerprint"`
	// CA is a file of certificate authorities, or "system" for this host's, that verify the agent's certificate
	// instead.
	CA string `yaml:"ca"`
}

const maxProbes = 64

var probeKinds = []string{ProbePrometheus, ProbePprof, ProbePostgreSQL, ProbeMySQL, ProbeNginx, ProbeAgent, ProbePID, ProbeContainer}

// pageRE is an address with a path and a query, and without a user.
var pageRE = regexp.MustCompile(`^https?://[^\s/?#@]+(/[^\s?#]*)?(\?[^\s#]*)?$`)

var (
	// agentRE is the address of an agent.
	agentRE       = regexp.MustCompile(`^https://[^\s/?#@]+/?$`)
	fingerprintRE = regexp.MustCompile(`^sha256:([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$`)
)

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
	}
	return "url", p.URL
}

// ShowsCPU reports whether the probe always shows the CPU time of its role.
func (p Probe) ShowsCPU() bool { return p.Kind == ProbeAgent || p.OfProcess() }

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
		for _, other := range []string{"url", "dsn", ProbePID, ProbeContainer} {
			if other != need && d.given(path+"."+other) {
				d.at(path+"."+other, "has no effect on a probe of kind %s, which has a %s; remove it", p.Kind, need)
			}
		}
		switch at := path + "." + need; {
		case !d.good(at):
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
			case p.Kind == ProbeAgent && !agentRE.MatchString(value):
				d.at(at, "%s is not the address of an agent; want https://HOST:PORT, as plimsoll agent -probe prints it", address(value))
			case p.Kind != ProbeAgent && !pageRE.MatchString(value):
				d.at(at, "%s is not the address of a page; want http://HOST[:PORT]/PATH or https, without a user", address(value))
			}
		}
		d.checkAgent(path, p)
		if first, twice := seen[p]; twice && d.good(path) {
			d.at(path, "is the same as %s[%d]; keep one", key, first)
		} else {
			seen[p] = i
		}
	}
}

// checkAgent checks the keys that only a probe of kind agent has.
func (d *decoder) checkAgent(path string, p Probe) {
	if p.Kind != ProbeAgent {
		for _, key := range []string{"token", "fingerprint", "ca"} {
			if d.given(path + "." + key) {
				d.at(path+"."+key, "has no effect on a probe of kind %s; only agents have one; remove it", p.Kind)
			}
		}
		return
	}
	switch at := path + ".token"; {
	case !d.good(at):
	case p.Token == "":
		d.at(at, "is missing; a probe of kind agent needs a reference to what the agent's token file holds, such as ${FILE:/etc/plimsoll/probe.token}")
	default:
		d.secret(at, "token", p.Token)
	}
	switch at := path + ".fingerprint"; {
	case !d.good(at) || !d.good(path+".ca"):
	case p.Fingerprint == "" && p.CA == "":
		d.at(at, "is missing; the certificate of an agent is verified by the fingerprint that plimsoll agent -probe prints, or by a ca: a file of authorities, or system")
	case p.Fingerprint != "" && p.CA != "":
		d.at(at, "and ca both say how the certificate is verified; keep one")
	case p.Fingerprint != "" && !hasReference(p.Fingerprint) && !fingerprintRE.MatchString(p.Fingerprint):
		d.at(at, "%s is not a fingerprint; want sha256: and 64 hexadecimal digits, as plimsoll agent -probe prints them", clip(p.Fingerprint))
	}
}

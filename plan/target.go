package plan

import (
	"cmp"
	"slices"
)

// A Target describes how the system under test is started, or where it already runs.
type Target struct {
	// Driver names the way of deployment. Which names exist is known to the caller; see [Known].
	Driver string `yaml:"driver"`
	// Profile names one of the sets of parts that the driver can deploy; empty means its usual one.
	// Which names exist is known to the caller; see [Known].
	Profile   string `yaml:"profile"`
	Instances int    `yaml:"instances"`
	// Binary is the server's executable, or the directory of its release; empty means the driver's
	// default. The driver external refuses it.
	Binary  string   `yaml:"binary"`
	Command []string `yaml:"command"`
	Args    []string `yaml:"args"`
	// Env holds additional environment variables of the server. A secret must be a reference; see
	// [Expand].
	Env Env       `yaml:"env"`
	URL Addresses `yaml:"url"`
	// Ready is the address or path that answers 200 once the target can be used; empty means the
	// driver's default, and for External the page that the API has for that.
	Ready string `yaml:"ready"`
	// MetricsURL holds the addresses of the Prometheus metrics of the target's servers, in the
	// order of URL, or one path that all have; empty means the driver's own, or none.
	MetricsURL Addresses `yaml:"metrics_url"`
	// CA is a file with the certificate, in PEM, of a private authority of a target of the driver
	// external. It is trusted in addition to the system's authorities; empty means none.
	CA string `yaml:"ca"`
	// HTTP is the protocol of the users' requests to a target of the driver external, by its name
	// in ALPN: [HTTP1] or [HTTP2]; empty means HTTP1. WebSockets are HTTP/1.1.
	HTTP string `yaml:"http"`
	// StopSignal is the signal that stops the server: TERM, INT, QUIT, HUP, USR1 or USR2; empty
	// means the driver's own.
	StopSignal string `yaml:"stop_signal"`
	Version    string `yaml:"version"`
	// Dataset is the content of the target's database before a run: a name or file that the
	// target's driver makes data of, or the directory of a dump; "none" or empty means only the
	// data that the driver provisions. See [Target.Filled].
	Dataset string `yaml:"dataset"`
	// Topology are the servers around the program, in the roles of a cluster; nil for none.
	Topology *Topology `yaml:"topology"`
	// Install is a command, program first, that puts a version onto a target of the driver
	// external: it is run when an arm's turn comes and another one is there. Empty means that all
	// arms are there already.
	Install []string `yaml:"install"`
	// Reset is a command, program first, that puts the state of a target of the driver external
	// back. It is run before every run. Empty means that runs share a state.
	Reset []string `yaml:"reset"`
	// Verify holds conditions after both, before every run.
	Verify   Verification `yaml:"verify"`
	Timeouts Timeouts     `yaml:"timeouts"`
}

var targetKeys = section{
	{"driver", label.needed("write it"),
		`The way of deployment, such as process or external; an unknown one is an error that lists
		those there are.`},
	{"profile", label,
		`One of the sets of parts that the driver can deploy. Default: its usual one.`},
	{"instances", integer.or(1).from(1, maxInstances),
		`Number of servers on one database. The users are spread over all of them, or reach the proxy
		before them: target.topology.`},
	{"binary", text, `The server's executable, or the directory of its release.`},
	{"command", command, `The whole command line of a process, program first.`},
	{"args", arguments, `Arguments for the server.`},
	{"env", env("The value of the variable."),
		`Additional environment variables of the server, or of install and reset, or a mapping of
		them for each engine: all, postgresql, mysql. Secrets only as ${ENV:NAME} or ${FILE:PATH}.`},
	{"url", servers,
		`Base address of the target, http or https; with the driver external also a list, over which
		the users are spread: the i-th of a behavior, from 0, goes to the server i modulo their
		number, and each next behavior begins with the next server.`},
	{"ready", page,
		`Path or address that answers 200 once the target can be used. Default the page of its API
		for that.`},
	{"metrics_url", pages,
		`Path or address of the target's Prometheus metrics; with the driver external also a list, of
		one for each server.`},
	{"ca", text,
		`File with the certificate, in PEM, of a private authority that signed the certificates of a
		target of the driver external. The system's authorities stay.`},
	{"http", oneOf("a known protocol", "known:", HTTP1, HTTP2),
		`Protocol of the users' requests to a target of the driver external, by its name in ALPN. h2
		needs https; WebSockets stay HTTP/1.1. Default http/1.1.`},
	{"stop_signal", oneOf("a signal", "want one of", "TERM", "INT", "QUIT", "HUP", "USR1", "USR2"),
		`The signal that asks the server to stop.`},
	{"version", text,
		`Label of the build when the target cannot say it itself. The driver refchat also plays that
		release if it is MAJOR.MINOR, MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-rc1.`},
	{"dataset", text,
		`What the database holds before a run: none, a preset or spec file of generated data, or the
		directory of a dump.`},
	{"topology", sub(topologyKeys),
		`Servers around the program, in the roles of a cluster: several instances, a proxy.`},
	{"install", hook,
		`With the driver external: command, program first, that puts an arm's version there. It is
		run when an arm's turn comes and another one is there.`},
	{"reset", hook,
		`With the driver external: command, program first, that puts the state back before every run.`},
	{"verify", sub(verifyKeys),
		`What must be true after install and reset, by the server's API; a run before which it is not
		is void.`},
	{"timeouts", sub(timeoutKeys), `Longest times of the commands; beyond them a run is void.`},
}

// Protocols of a [Target].
const (
	HTTP1 = "http/1.1"
	// HTTP2 needs addresses that begin with https.
	HTTP2 = "h2"
)

// Filled reports whether the target begins with a dataset.
func (t Target) Filled() bool { return t.Dataset != "" && t.Dataset != "none" }

// With returns the target as the arm changes it: the arm's binary, version and addresses replace
// the target's, its arguments follow the target's, its environment is laid over the target's. The
// result shares no memory with either.
func (t Target) With(a Arm) Target {
	t.Command = slices.Clone(t.Command)
	t.Install = slices.Clone(t.Install)
	t.Reset = slices.Clone(t.Reset)
	t.Args = slices.Concat(t.Args, a.Args)
	t.Env = t.Env.with(a.Env)
	t.Binary = cmp.Or(a.Binary, t.Binary)
	t.Version = cmp.Or(a.Version, t.Version)
	if len(a.URL) > 0 {
		t.URL = a.URL
		if len(a.MetricsURL) > 0 {
			t.MetricsURL = a.MetricsURL
		}
	}
	t.URL = slices.Clone(t.URL)
	t.MetricsURL = slices.Clone(t.MetricsURL)
	return t
}

// nothingStarted explains why a key has no effect on the driver external.
const nothingStarted = "the driver external starts nothing; remove it"

func (d *decoder) checkTarget(p *Plan, k Known) {
	t := p.Target
	d.known("target.driver", "driver", t.Driver, k.Drivers)
	d.checkProfile(t, k)
	d.checkTopology(p, k)
	d.checkInstances(t, k)
	d.checkEnvs("target.env", t.Env, p)
	d.checkAddresses(t)
	d.checkCommands(p)
	d.checkProtocol(p)
	switch {
	case t.Driver == External:
		d.checkExternal(p)
		return
	case !d.good("target.driver"):
		return
	case t.Filled() && len(p.Engines()) == 0 && d.good("database"):
		d.at("target.dataset",
			"needs a database that is started for the target; add a section database with an "+
				"engine")
	}
	if t.CA != "" {
		d.at("target.ca",
			"has no effect, because the driver %s starts servers without TLS; remove it", t.Driver)
	}
	if t.Driver != Process {
		d.useless("target.command", "the driver %s knows its own; "+
			"write driver: process for another program, or target.binary for another build", t.Driver)
		return
	}
	noBinary := func(a Arm) bool { return a.Binary == "" }
	if t.Binary == "" && len(t.Command) == 0 && d.good("target.binary", "compare.arms") &&
		slices.ContainsFunc(p.variants(), noBinary) {
		d.at("target.command",
			"is missing; the driver process needs a command, or a binary here or in every arm")
	}
}

// checkProfile checks the name of a profile against the profiles of the driver.
func (d *decoder) checkProfile(t Target, k Known) {
	const path = "target.profile"
	switch list := k.Profiles[t.Driver]; {
	case t.Profile == "" || !d.good("target.driver") || !slices.Contains(k.Drivers, t.Driver):
	case len(list) == 0:
		d.at(path, "has no effect, because the driver %s has no profiles; remove it", t.Driver)
	default:
		d.known(path, "profile of the driver "+t.Driver, t.Profile, list)
	}
}

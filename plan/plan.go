package plan

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Plan is one load test, or one comparison of several, before it runs.
//
// [Parse] returns plans that are complete: every default is filled in and every cross check holds. A Plan
// built by hand carries no such promise; pass its [Plan.String] through [Parse] to obtain it. A Plan is not
// changed after parsing, so it may be shared between goroutines.
type Plan struct {
	// Name labels runs, files and reports: letters, digits, dot, underscore and dash, at most 64.
	Name string `yaml:"name"`
	// Seed feeds every random choice of the load and the order of the blocks. Default 1.
	Seed uint64 `yaml:"seed"`
	// Target is the system under test.
	Target Target `yaml:"target"`
	// Database lists the database engines; with two engines, everything is done on each.
	Database Database `yaml:"database"`
	// Placement gives the two sides of one host their own cores.
	Placement Placement `yaml:"placement"`
	// Fleet holds the settings of agents on other hosts; nil when the users are on this one.
	Fleet *Fleet `yaml:"fleet"`
	// Workload is the behavior of the simulated users.
	Workload Workload `yaml:"workload"`
	// Bounded is the test with a fixed number of users; nil when the plan has none.
	Bounded *Bounded `yaml:"bounded"`
	// Unbounded is the search for capacity; nil when the plan has none.
	Unbounded *Unbounded `yaml:"unbounded"`
	// Sizing is the ladder of load steps; nil when the plan has none.
	Sizing *LoadSteps `yaml:"sizing"`
	// Prices are machines that can be rented, for the cost of a user.
	Prices []Offer `yaml:"prices"`
	// Probes watch systems that the target does not start itself.
	Probes []Probe `yaml:"probes"`
	// Metrics is a Prometheus that watches the target's hosts already; empty if there is none.
	Metrics MetricsServer `yaml:"metrics"`
	// Gates changes limits on the generator's own health.
	Gates Gates `yaml:"gates"`
	// Compare names the arms; nil for a plan with a single variant.
	Compare *Compare `yaml:"compare"`
	// Setup holds additional rows of the report's Setup table, in the order of the file.
	Setup []SetupRow `yaml:"setup"`
	// Report holds a person's texts for the report of a comparison.
	Report Report `yaml:"report"`
}

var planKeys = section{
	{"name", label.needed("write it"), `Label of runs, files and reports.`},
	{"seed", positive.or(1), `Feeds every random choice of the load and the order of the blocks.`},
	{"target", sub(targetKeys).demanded(), `What is tested, and how it is started.`},
	{"database", sub(databaseKeys),
		`On which database engines; with two, everything is done on each.`},
	{"placement", sub(placementKeys),
		`CPU numbers of the two sides when they share a host. A side that is not named has the CPUs
		that are left; without any, the users have the last one.`},
	{"fleet", sub(fleetKeys), `Settings of agents on other hosts; pace does not touch the times.`},
	{"workload", sub(workloadKeys).demanded(), `What the simulated users do, and how fast.`},
	{"bounded", sub(boundedKeys),
		`The test with a fixed number of users. Its times are wall-clock time; pace does not touch
		them.`},
	{"unbounded", sub(unboundedKeys),
		`The search for capacity. Its budget is wall-clock time; its other times are those of pace 1.`},
	{"sizing", sub(sizingKeys),
		`A ladder of load steps on one deployment: a grade for each, and advice. Its times are
		wall-clock time.`},
	{"prices", offers, `Machines that can be rented, for the cost of a user.`},
	{"probes", probes("One source."),
		`What to watch, once a second, of systems that the target does not start itself: servers,
		databases, proxies.`},
	{"metrics", sub(metricsKeys),
		`A Prometheus server that watches the target's hosts already: its samples answer rules,
		graphs and limiter.`},
	{"gates", gates.in("a mapping such as {lag: {amber: 5ms, red: 20ms}}"),
		`Limits on the load generator's own health. Beyond amber a run has a finding, beyond red it
		is not valid.`},
	{"compare", sub(compareKeys), `The arms of a comparison, and which differences matter.`},
	{"setup", ordered("a mapping of rows such as {dataset: none}", "Value", text, "The value of the row."),
		`Further rows of the report's Setup table, in this order.`},
	{"report", sub(reportKeys),
		`Texts of a person for the report of a comparison, in place of those that are drafted from
		the findings.`},
}

// A Target describes how the system under test is started, or where it already runs.
type Target struct {
	// Driver names the way of deployment. Which names exist is known to the caller; see [Known].
	Driver string `yaml:"driver"`
	// Profile names one of the sets of parts that the driver can deploy; empty means its usual one. Which names exist
	// is known to the caller; see [Known].
	Profile string `yaml:"profile"`
	// Instances is the number of servers on one database, 1 to 64. Default 1. The users are spread over all of them.
	Instances int `yaml:"instances"`
	// Binary is the server's executable, or the directory of its release; empty means the driver's own,
	// and for External that of the API.
	Binary string `yaml:"binary"`
	// Command is the whole command line of a process, program first; Args are appended to it.
	Command []string `yaml:"command"`
	// Args are arguments for the server.
	Args []string `yaml:"args"`
	// Env holds additional environment variables of the server. A secret must be a reference; see [Expand].
	Env Env `yaml:"env"`
	// URL holds the base addresses, http or https, of the servers of a target that already runs, over which the users
	// are spread, or the one of a target that a command will serve.
	URL Addresses `yaml:"url"`
	// Ready is the address or path that answers 200 once the target can be used; empty means the driver's own,
	// and for External that of the API.
	Ready string `yaml:"ready"`
	// MetricsURL holds the addresses of the Prometheus metrics of the target's servers, in the order of URL, or one path
	// that all have; empty means the driver's own, or none.
	MetricsURL Addresses `yaml:"metrics_url"`
	// CA is a file with the certificate, in PEM, of a private authority of a target of the driver external, beside those
	// of the system; empty means none.
	CA string `yaml:"ca"`
	// HTTP is the protocol of the users' requests to a target of the driver external, by its name in ALPN: [HTTP1] or
	// [HTTP2]; empty means HTTP1. WebSockets are HTTP/1.1.
	HTTP string `yaml:"http"`
	// StopSignal is the signal that stops the server: TERM, INT, QUIT, HUP, USR1 or USR2; empty means the
	// driver's own.
	StopSignal string `yaml:"stop_signal"`
	// Version labels the build in tables when the target does not report it itself. The driver refchat also plays
	// that release if it is MAJOR.MINOR, MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-rc1.
	Version string `yaml:"version"`
	// Dataset is the content of the target's database before a run: a name or file that the target's driver makes
	// data of, or the directory of a dump; "none" or empty means only the data that the driver provisions. See
	// [Target.Filled].
	Dataset string `yaml:"dataset"`
	// Topology are the servers around the program, in the roles of a cluster; nil for none.
	Topology *Topology `yaml:"topology"`
	// Install is a command, program first, that puts a version onto a target of the driver external: it is run when an
	// arm's turn comes and another one is there. Empty means that all arms are there already.
	Install []string `yaml:"install"`
	// Reset is a command, program first, that puts the state of a target of the driver external back. It is run before
	// every run. Empty means that runs share a state.
	Reset []string `yaml:"reset"`
	// Verify is what must be true after both, before every run.
	Verify Verification `yaml:"verify"`
	// Timeouts bound both, and the wait for the target after them.
	Timeouts Timeouts `yaml:"timeouts"`
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
		number.`},
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

// With returns the target as the arm changes it: the arm's binary, version and addresses replace those of the target,
// its arguments follow the target's, its environment is laid over the target's. The result shares no memory with
// either.
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

// Database engines by the protocol they speak; the server behind it reports its own name and
// version.
const (
	PostgreSQL = "postgresql"
	MySQL      = "mysql"
)

// A Database lists the engines on which the target is tested.
type Database struct {
	// Engine lists [PostgreSQL] and [MySQL] in the order of the tables; empty means that the target's database
	// is not ours to start. With arms that have a database of their own it is the others', and one at most.
	Engine []string `yaml:"engine"`
}

// oneEngine is the type of a list of engines, or of a single one.
var oneEngine = list(wantTexts, engine, "").distinct(clip).orOne(engine)

var engines = []string{PostgreSQL, MySQL}

var (
	armEngine = oneOf("a known engine", "known:", engines...)
	engine    = armEngine.checked(func(s string) error {
		if s == "" {
			return fmt.Errorf("is empty; want %s or %s", PostgreSQL, MySQL)
		}
		return nil
	})
)

var databaseKeys = section{
	{"engine", oneEngine,
		`One engine, or a list of them. None: the database is not ours to start.`},
}

// A Placement pins the generator and the target to CPU numbers, which may not overlap. An empty set has those that
// the other one leaves; when both are empty, the generator has the last one, and all run anywhere on a host with one
// CPU only.
type Placement struct {
	Generator []int `yaml:"generator"`
	Target    []int `yaml:"target"`
	// Source lists addresses of this host from which the users connect, in turn: one address has one range of ports
	// for each destination. Empty means one, or as many as needed when the target is on the loopback device.
	Source []string `yaml:"source"`
	// Processes is how many processes the users are divided among, at least; 1 to 16. There are more if their
	// connections would not fit under the limit of open files otherwise. Default 1.
	Processes int `yaml:"processes"`
	// Agents are other hosts that have the users; nil: this host has them. Processes is then of each.
	Agents *Agents `yaml:"agents"`
	// Share is how the users are divided among Agents: [ShareEqual] (default) or [ShareRating]. Empty without Agents.
	Share string `yaml:"share"`
	// Memory is the byte budget of the users of all processes together: the bytes that answers and messages under way
	// may hold at once. 0 means the default, an eighth of the memory of this host or of its control group, and 192MB
	// at most.
	Memory Memory `yaml:"memory"`
}

// cpus is the type of a set of CPUs.
var cpus = list("a list of CPU numbers such as [0, 1]", whole("a CPU number").from(0, maxCPU), "").
	distinct(func(n string) string { return "CPU " + n })

// sourceRE matches IPv4 addresses, and roughly IPv6 addresses. Whether this host has the address is
// known when the plan is run.
var sourceRE = regexp.MustCompile(`^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7})$`)

var sources = list(wantTexts, raw.checked(func(s string) error {
	if sourceRE.MatchString(s) {
		return nil
	}
	return fmt.Errorf("%s is no address; want one of this host, such as 10.0.0.7", clip(s))
}), "").distinct(clip)

var placementKeys = section{
	{"generator", cpus, `CPUs of the simulated users.`},
	{"target", cpus, `CPUs of the target and its database.`},
	{"source", sources,
		`Addresses of this host from which the users connect, in turn, when one has too few ports.`},
	{"processes", integer.or(1).from(1, MostProcesses),
		`Processes that the users are divided among, at least; more if their connections would not
		fit under the limit of open files.`},
	{"agents", agentKeys.short("count"),
		`Other hosts that have the users: how many, or a mapping with count and match. They run
		plimsoll agent -join.`},
	{"share", oneOf("a way to divide users", "want", ShareEqual, ShareRating).or(ShareEqual),
		`How users are divided among other hosts. equal: each has as many. rating: in proportion to
		the users that plimsoll calibrate found each can drive; every agent must have a rating.`},
	{"memory", memory.from("8MB", maxMemory),
		`Byte budget of the users: what answers and messages under way may hold at once, such as
		512MB, at least 8MB. Default: an eighth of this host's memory, or of its control group's,
		and 192MB at most.`},
}

// Login modes of a [Workload].
const (
	// LoginWarm logs users in before the ramp, outside of the measured phase.
	LoginWarm = "warm"
	// LoginCold makes the login a part of the load.
	LoginCold = "cold"
)

// A Workload sets the behavior of the simulated users and their pace.
type Workload struct {
	// Behavior is that of most users. The caller knows the existing names; see [Known].
	Behavior string `yaml:"behavior"`
	// Share is the fraction of users that follow Behavior, above 0 and at most 1. Default: the rest beside
	// With.
	Share float64 `yaml:"share"`
	// With holds the fractions of users that follow other behaviors. Share and With sum to 1.
	With map[string]float64 `yaml:"with"`
	// Pace multiplies every wait of the users and every time constant of the search; 0.1 is ten times as fast.
	// Above 0, at most 100. Default 1. See the package comment for the exact rule.
	Pace float64 `yaml:"pace"`
	// Login is [LoginWarm] (default) or [LoginCold].
	Login string `yaml:"login"`
	// UsersFile is the path of a file of accounts that the users have: user i has row i. Empty means that the behaviors
	// make accounts.
	UsersFile string `yaml:"users_file"`
	// UsersDigest is "sha256:" and the hexadecimal SHA-256 of that file, so that the plan's digest is of its content;
	// empty until the file was read. A file with another one is refused.
	UsersDigest string `yaml:"users_digest"`
	// UsersAt is the path of the file for this process; empty if UsersFile is. It is no part of the plan.
	UsersAt string `yaml:"-" json:"-"`
	// Arrival is an open model in addition to the users: actions of Behavior that come by a schedule. nil if there
	// is none.
	Arrival *Arrival `yaml:"arrival"`
	// ActionMix names where the weights of the users' actions come from: [MixDefault], [MixCustom], a name known to the
	// caller (see [Known]), or the path of a file; see [Workload.MixFile].
	ActionMix string `yaml:"mix"`
	// Weights replaces the weights of single actions, or with MixCustom is all of them. Only their ratios count.
	Weights map[string]float64 `yaml:"weights"`
	// Params are settings of the behaviors, which give them their meaning.
	Params map[string]string `yaml:"params"`
}

var shares = mapping("a mapping such as {reader: 10%}", share, "Share of users that follow this behavior.").
	called("a behavior")

var workloadKeys = section{
	{"behavior", label.needed("write it"), `What most users do.`},
	{"share", share, `Share of users that follow behavior. Default: what with leaves.`},
	{"with", shares,
		`Shares of users that follow other behaviors. With share they add up to 100%.`},
	{"pace", number.from(0.001, 100),
		`Multiplies every wait of the users and every time constant of the search but its budget; 0.1
		is ten times as fast. Default 1; 0.03 in a plan without a search whose users and measure are
		auto.`},
	{"login", oneOf("a way to log in", "want", LoginWarm, LoginCold).or(LoginWarm),
		`warm: users log in before the ramp, unmeasured. cold: the login is a part of the load.`},
	{"users_file", usersFile,
		`File of accounts that the users have, instead of accounts that are made: CSV with the
		columns login, password and token in a header; user i has row i. A path counts from the
		directory of the plan.`},
	{"users_digest", usersDigest,
		`SHA-256 of the file of accounts, as sha256:HEX. plimsoll writes it into the plans of runs; a
		file with another one is refused.`},
	{"arrival", arrivalKeys.short("rate"),
		`An open model beside the users: actions of behavior that come by a schedule, however fast
		the target is.`},
	{"mix", text.or(MixDefault),
		`Where the weights of the users' actions come from: default, custom (weights alone), another
		known name, or the path of a file.`},
	{"weights", weights,
		`Weights of single actions instead of those of the mix. Only their ratios count.`},
	{"params", params("The value of the setting."),
		`Settings of the behaviors. Secrets only as ${ENV:NAME} or ${FILE:PATH}.`},
}

// Wait returns the wait d as this workload waits it: d times Pace, rounded to the nanosecond. A zero Pace counts
// as 1.
func (w Workload) Wait(d time.Duration) time.Duration {
	if w.Pace == 0 || w.Pace == 1 {
		return d
	}
	return time.Duration(float64(d) * w.Pace)
}

// Mix returns the fraction of users of every behavior, Behavior among them.
func (w Workload) Mix() map[string]float64 {
	mix := map[string]float64{w.Behavior: w.Share}
	maps.Copy(mix, w.With)
	return mix
}

// PerEngine is a number for each database engine. The key "" is one number for all of them and then the only key.
type PerEngine map[string]int

// For returns the number for an engine and whether there is one.
func (p PerEngine) For(engine string) (int, bool) {
	n, ok := p[engine]
	if !ok {
		n, ok = p[""]
	}
	return n, ok
}

// A Bounded is a test with a fixed number of users. Its durations, those of its rules among them, are wall-clock
// time: pace does not touch them.
type Bounded struct {
	// Users is how many users there are, at least 1; at least 0 with arrivals. See [Bounded.AutoUsers].
	Users PerEngine `yaml:"users"`
	// Ramp is the time from the first user to the last. Default 1m; 4s where users and measure are
	// auto, in a plan without a search.
	Ramp time.Duration `yaml:"ramp"`
	// Settle is the time with all users that is not measured. Default 1m; 6s where that of Ramp is 4s.
	Settle time.Duration `yaml:"settle"`
	// Measure is the time that counts, above 0; with Until the longest, and with "measure: auto" MeasureMax. Default 5m.
	Measure time.Duration `yaml:"measure"`
	// MeasureMin and MeasureMax are the limits of the measured phase with "measure: auto", which in a duet ends it when
	// the inside of the block leaves no more variance than deployments have; 0 for any other. A test that is no part of a
	// duet lasts MeasureMax then. Defaults 7s and 30s.
	MeasureMin time.Duration `yaml:"measure_min"`
	MeasureMax time.Duration `yaml:"measure_max"`
	// Until ends the measured phase as soon as the files of the target take so much disk; 0 means that only Measure
	// does.
	Until DiskLimit `yaml:"until"`
	// Window is the length of the end of the measured phase that counts; 0 means all of it. The part before it is
	// load without numbers.
	Window LastPart `yaml:"window"`
	// SLO holds the rules by which the test is judged; [Plan.BoundedRules] returns them as they are run. Empty means
	// those of the search, and in a plan without one the default rules, which the caller has.
	SLO []SLO `yaml:"slo"`
	// Stages are storms in the measured phase, in the order of their times.
	Stages []Stage `yaml:"stages"`
}

var boundedKeys = section{
	{"users", perEngine(users, "auto").within(0, MaxUsers).needed("write the number of users, or auto"),
		`Number of users, or one for each engine; 0 only beside workload.arrival. auto: the number at
		which the busiest role of the base uses 40 to 50 % of its cores, found by a pilot on each
		engine.`},
	{"ramp", duration,
		`Time from the first user to the last. Default 1m; 4s in a plan without a search whose users
		and measure are auto.`},
	{"settle", duration,
		`Time with all users that is not measured. Default 1m; 6s in a plan without a search whose
		users and measure are auto.`},
	{"measure", duration.or("5m").from("100ms", MaxTime).orWord("auto"),
		`Time that counts; with until the longest. auto: in a duet, until the inside of a block
		leaves no more variance than deployments have, within measure_min and measure_max.`},
	{"measure_min", duration.hidingZero().from(leastAuto, MaxTime),
		`With measure: auto, the shortest measured phase. Default 7s.`},
	{"measure_max", duration.hidingZero().from(leastAuto, MaxTime),
		`With measure: auto, the longest measured phase, and that of a test outside a duet. Default
		30s.`},
	{"until", stopRule,
		`Stop rule: disk=10GiB ends the measured phase as soon as the files of the target take so
		much.`},
	{"window", lastPart, `Which part of the measured phase counts: last 60m. Without it all.`},
	{"slo", rules,
		`Rules by which the test is judged, in the form of unbounded.slo; their times are wall-clock
		time. Default: the rules of unbounded; without that, failed operations and broken WebSockets
		(docs/capacity.md).`},
	{"stages", list("a list of storms such as [{at: 60s, storm: KIND, share: 50%}]", sub(stageKeys), "One storm.").atMost(100, "storms"),
		`Storms in the measured phase: what some of the users do at nearly the same time.`},
}

// A Stage is a storm: an action of some of the users at nearly the same time.
type Stage struct {
	// At is when it begins, counted from the beginning of the measured phase.
	At time.Duration `yaml:"at"`
	// Storm is its kind. Which kinds a behavior has is known to the caller; see [Known].
	Storm string `yaml:"storm"`
	// Share is the fraction of the users who take part, above 0 and at most 1; 0 is one single user.
	Share float64 `yaml:"share"`
	// Over is the time from the first of them to the last. Default 1s.
	Over time.Duration `yaml:"over"`
	// Params are settings of the kind, which gives them their meaning.
	Params map[string]string `yaml:"params"`
}

var stageKeys = section{
	{"at", duration.needed("write when the storm begins, counted from the beginning of the measured phase"),
		`When it begins, counted from the beginning of the measured phase.`},
	{"storm", label.needed("write its kind"), `Its kind, such as reconnect.`},
	{"share", share, `Share of the users who take part. Without it: one single user.`},
	{"over", duration.or("1s"), `Time from the first of them to the last. Default 1s.`},
	{"params", params("The value of the setting."), `Settings of the kind.`},
}

// UsersFor returns how many users the test has on an engine and whether the plan sets it.
func (b *Bounded) UsersFor(engine string) (int, bool) {
	if b.AutoUsers() {
		return 0, false
	}
	return b.Users.For(engine)
}

// An Unbounded is a search for the number of users that a target supports.
//
// Its budget is wall-clock time, as the times of the bounded test are. Its other times and its ramp rate are those of
// pace 1, as in the file. [Plan.Search] returns them as they are run.
type Unbounded struct {
	// MaxUsers ends the search: more users than this are never simulated.
	MaxUsers int `yaml:"max_users"`
	// SLO holds the rules that must hold. Empty means the default rules, which the caller has.
	SLO []SLO `yaml:"slo"`
	// Mode is [Tracking] (default) or [Staircase].
	Mode string `yaml:"mode"`
	// Start is where the search starts; empty means at the result of the caller's pilot, or of the
	// bounded test.
	Start PerEngine `yaml:"start"`
	// Budget is the longest time that the search may take, in wall-clock time. Default an hour times the pace.
	Budget time.Duration `yaml:"budget"`
	// RampRate is the growth while nothing is violated, as a fraction of the present users per second; divided by
	// pace below 1. Default 0.2%.
	RampRate float64 `yaml:"ramp_rate"`
	// Window is how far back a rule looks, and the time between two decisions. Default 15s.
	Window time.Duration `yaml:"window"`
	// Step is the change of the tracking phase, as a fraction of the present users, below 0.2. Default 0.5%.
	Step float64 `yaml:"step"`
	// Precision ends the search: the half-width of the interval, as a fraction of the capacity. Default 2%.
	Precision float64 `yaml:"precision"`
}

var unboundedKeys = section{
	{"max_users", integer.needed("write how many users the generator may ever simulate").from(1, MaxUsers),
		`More users than this are never simulated.`},
	{"slo", rules,
		`Rules that must hold: STAT(op|role) < VALUE [for D] [over D] [min N] [grace D] [warning], or
		promql: EXPR < VALUE [for D] [grace D] [warning]. Default: the rules of docs/capacity.md.`},
	{"mode", oneOf("a way to search", "want", Tracking, Staircase).or(Tracking),
		`tracking: up after a healthy window, down after a violated one. staircase: plateaus, and a
		logistic fit to them; it also recommends a number of users, and takes longer.`},
	{"start", perEngine(integer).within(1, MaxUsers),
		`Number of users at which the search starts, or one for each engine.`},
	{"budget", duration.from("1s", MaxTime),
		`Longest time of the search, in wall-clock time: pace does not touch it. Default: 1h times
		workload.pace.`},
	{"ramp_rate", percent.or("0.2%").from("0.001%", "100%"),
		`Growth while nothing is violated, of the present users per second. Divided by workload.pace
		it is less than 100%.`},
	{"window", duration.or(DefaultWindow).from("100ms", "1h"),
		`How far back a rule looks, and the time between two decisions.`},
	{"step", percent.or("0.5%").from("0.01%", "50%"),
		`Change of the tracking phase, of the present users: less than 20%.`},
	{"precision", percent.or("2%").from("0.1%", "50%"),
		`The search ends when the half-width of the interval is below this part of the capacity.`},
}

// Modes of a search.
const (
	// Tracking moves up after a healthy window and down after a violated one.
	Tracking = "tracking"
	// Staircase measures plateaus and fits the chance of a healthy one to their users.
	Staircase = "staircase"
)

// StartFor returns where the search starts on an engine and whether the plan sets it.
func (u *Unbounded) StartFor(engine string) (int, bool) { return u.Start.For(engine) }

// leastRange is the least value of $window: a rate of series that are sampled each second needs some of them.
const leastRange = 5 * time.Second

// Search returns the search in wall-clock time, and false if the plan has none: Window and the For, Over and Grace of
// every rule times pace, RampRate divided by it; $window is filled in. Budget is wall-clock time already. Numbers of
// users, thresholds, minimum counts, Step and Precision have no time in them and stay. The result shares no slice with
// the plan.
func (p *Plan) Search() (Unbounded, bool) {
	if p.Unbounded == nil {
		return Unbounded{}, false
	}
	u := *p.Unbounded
	u.Start = maps.Clone(u.Start)
	u.Window = p.Workload.Wait(u.Window)
	if p.Workload.Pace > 0 {
		u.RampRate /= p.Workload.Pace
	}
	u.SLO = slices.Clone(u.SLO)
	for i := range u.SLO {
		r := &u.SLO[i]
		r.For, r.Over, r.Grace = p.Workload.Wait(r.For), p.Workload.Wait(r.Over), p.Workload.Wait(r.Grace)
		r.fill(u.Window)
	}
	return u, true
}

// fill puts the window into an expression in place of $window.
func (r *SLO) fill(window time.Duration) {
	if r.Stat == "promql" {
		r.Arg = strings.ReplaceAll(r.Arg, "$window", fmt.Sprintf("%dms", max(window, leastRange).Milliseconds()))
	}
}

// DefaultWindow is how far back the rules of a run look if its plan does not set it.
const DefaultWindow = 15 * time.Second

// BoundedRules returns the rules of the bounded test as they are run: its own, or else those that [Plan.Search]
// returns. They look back over the window of the search, or over [DefaultWindow]. nil if the plan has neither. The
// result shares no slice with the plan.
func (p *Plan) BoundedRules() []SLO {
	u, searched := p.Search()
	if p.Bounded == nil || len(p.Bounded.SLO) == 0 {
		return u.SLO
	}
	window := DefaultWindow
	if searched {
		window = u.Window
	}
	rules := slices.Clone(p.Bounded.SLO)
	for i := range rules {
		rules[i].fill(window)
	}
	return rules
}

// Base is the name of the arm that the others are compared with.
const Base = "base"

// A Compare names the arms of a comparison and how large a difference matters.
type Compare struct {
	// Arms holds two arms or more in the order of the file; one of them is [Base].
	Arms []Arm `yaml:"arms"`
	// Combine carries both tests out in one run: the plateau, then the search from there.
	Combine bool `yaml:"combine"`
	// Blocks is how many runs each arm gets on each engine, 1 to 100; below 6 a verdict is only indicative. Default
	// 6, or the last of Looks. With a Budget ("auto" in a file) the most that there can be.
	Blocks int `yaml:"blocks"`
	// Budget is the time of a comparison with "blocks: auto", which goes on until every primary endpoint is decided
	// or no time is left for more blocks; 0 for any other. Default 30m.
	Budget time.Duration `yaml:"budget"`
	// Looks are the numbers of blocks after which the comparison is judged and ends if it is decided; the last is
	// Blocks. Empty means one look, after all blocks.
	Looks []int `yaml:"looks"`
	// Mode is [ModeSequence], [ModeDuet], or empty for the one that [Plan.Duet] returns.
	Mode string `yaml:"mode"`
	// Slice is how long a turn of an arm in a duet takes, 100ms to 5s; 0 means that it follows the latencies of the
	// operations.
	Slice time.Duration `yaml:"slice"`
	// Swap has arms of the driver external exchange their addresses from block to block; see [Plan.Place].
	Swap bool `yaml:"swap"`
	// Retry is how long the comparison may take, in all, to wait for a quiet host and to run voided blocks again; 0
	// for neither. Default: the time of a third of the blocks, see [Plan.RunLength].
	Retry time.Duration `yaml:"retry"`
	// Margin holds the differences that do not matter, by endpoint.
	Margin Margin `yaml:"margin"`
	// Endpoints names those that are judged also where the plan could not decide them; see [Plan.Insists].
	Endpoints []string `yaml:"endpoints"`
}

var compareKeys = section{
	{"arms", arms, `Two variants of the target or more; one is named base.`},
	{"combine", boolean.or(false),
		`Carry both tests out in one run: the plateau, then the search from there.`},
	{"blocks", single("a number of blocks", parseBlocks, strconv.Itoa, object{"type": "integer"}).or(6).from(1, maxBlocks).orWord("auto"),
		`Runs of each arm on each engine; below 6 a verdict is only indicative. auto: as many as are
		needed, at most 30, within budget.`},
	{"budget", duration.hidingZero().from("1s", MaxTime),
		`With blocks: auto, the time after which no more blocks begin. The comparison is judged after
		6, 9, 12 and so on up to 30 blocks and ends when every primary endpoint is decided. Default
		30m.`},
	{"looks", list("a list of numbers of blocks such as [6, 9, 12]", whole("a number of blocks").within(6, 12), ""),
		`Numbers of blocks after which the comparison is judged and ends if it is decided: [6, 9,
		12]. Without it: one look, after all blocks.`},
	{"mode", oneOf("a way to compare", "want", ModeSequence, ModeDuet),
		`sequence: the arms of a block run one after the other. duet: they are up at once and take
		turns in short slices. Default: duet where plimsoll starts all arms on this host and the
		plan has no search, else sequence; plimsoll plan check prints which, and why.`},
	{"slice", turn,
		`How long a turn in a duet takes, 100ms to 5s. Default, and 0s: ten times the longest p95 of
		an operation, 200ms at least.`},
	{"swap", boolean.hidingZero(),
		`With the driver external, install, and a url and a version in every arm: the arms exchange
		their addresses from block to block, so that differences of the hosts cancel.`},
	{"retry", duration.from("0s", MaxTime),
		`How long the comparison may take, in all, to wait for a quiet host and to run voided blocks
		again; 0s for neither. Default: the time of a third of the blocks, in whole minutes.`},
	{"margin", margins, `Differences that do not matter. A single value sets capacity.`},
	{"endpoints", words,
		`Endpoints that are judged also where the plan could not decide them. An endpoint with
		another margin than the usual one is judged too.`},
}

func (c *Compare) autoKey() string {
	if c.Auto() {
		return "blocks"
	}
	return ""
}

// Auto reports whether the comparison has as many blocks as it needs, within its Budget.
func (c *Compare) Auto() bool { return c.Budget > 0 }

// Arm returns the arm of that name and whether there is one.
func (c *Compare) Arm(name string) (Arm, bool) {
	i := slices.IndexFunc(c.Arms, func(a Arm) bool { return a.Name == name })
	if i < 0 {
		return Arm{}, false
	}
	return c.Arms[i], true
}

// An Arm is a variant of the target; empty fields are as in the target. See [Target.With].
type Arm struct {
	Name string `yaml:"-"`
	// Binary replaces the target's binary.
	Binary string `yaml:"binary"`
	// Args follow the target's arguments.
	Args []string `yaml:"args"`
	// Env is laid over the target's environment.
	Env Env `yaml:"env"`
	// Version labels the build in tables, and replaces the target's; see [Target].
	Version string `yaml:"version"`
	// URL is where this arm's servers are, for arms of the driver external that are all up (blue and green). It
	// replaces the target's.
	URL Addresses `yaml:"url"`
	// MetricsURL replaces the target's.
	MetricsURL Addresses `yaml:"metrics_url"`
	// Probes watch this arm alone; those of the plan watch all arms.
	Probes []Probe `yaml:"probes"`
	// Metrics takes the place of the plan's for an arm with a URL; without an address it is of the plan's server. See
	// [Plan.MetricsOf].
	Metrics MetricsServer `yaml:"metrics"`
	// Database is the engine that this arm runs on instead of that of the plan: [PostgreSQL] or [MySQL]; see
	// [Plan.EngineOf].
	Database string `yaml:"database"`
	// Deployment is how this arm's server is run; nil, in all arms, means a process on this host like
	// the others.
	Deployment *Deployment `yaml:"deployment"`
}

// arms is the type of the arms of a comparison.
var arms = armsType()

func armsType() valueType {
	arm := sub(armKeys)
	arm.nothing = "write {} for an arm that changes nothing"
	t := ordered("a mapping of arms such as {base: {}, new: {args: [-x]}}", "", arm,
		"What this arm changes; {} for nothing.").called("an arm").atMost(maxArms, "arms").demanded()
	schema := t.schema
	t.schema = func(t valueType) object {
		s := schema(t)
		s["minProperties"] = 2
		s["maxProperties"] = maxArms
		s["required"] = []string{Base}
		return s
	}
	return t
}

var armKeys = section{
	{"binary", text, `Replaces the target's binary.`},
	{"args", arguments, `Follow the target's arguments.`},
	{"env", env("The value of the variable."),
		`Laid over the target's environment, in the same forms.`},
	{"version", text,
		`Label of the build. The driver refchat also plays that release if it is MAJOR.MINOR,
		MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-rc1.`},
	{"url", servers,
		`With the driver external: where this arm's servers are, if all arms are up at addresses of
		their own.`},
	{"metrics_url", pages, `With url: address or path of this arm's Prometheus metrics.`},
	{"probes", probes("One source, as in probes."), `Sources of numbers about this arm alone.`},
	{"metrics", sub(metricsSection(false)),
		`With url: a Prometheus server that watches this arm's hosts, in place of that of the plan;
		without prometheus, that server.`},
	{"database", armEngine,
		`The engine that this arm runs on instead of database.engine, which then is one at most.`},
	{"deployment", sub(deploymentKeys),
		`How this arm's server is run. What one arm sets, all have: the others none and 100%.`},
}

// A SetupRow is one additional line of the report's Setup table.
type SetupRow struct{ Name, Value string }

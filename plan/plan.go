package plan

import (
	"fmt"
	"regexp"
)

// A Plan is one load test, or one comparison of several, before it runs.
//
// [Parse] returns plans that are complete: every default is filled in and every cross check holds.
// A Plan built by hand carries no such promise; pass its [Plan.String] through [Parse] to obtain
// it. A Plan is not changed after parsing, so it may be shared between goroutines.
//
// The table below a struct has the meaning of its keys, with their ranges and defaults;
// docs/plan.md is made of these tables.
type Plan struct {
	Name      string    `yaml:"name"`
	Seed      uint64    `yaml:"seed"`
	Target    Target    `yaml:"target"`
	Database  Database  `yaml:"database"`
	Placement Placement `yaml:"placement"`
	// Fleet holds the settings of agents on other hosts; nil when the users are on this one.
	Fleet    *Fleet   `yaml:"fleet"`
	Workload Workload `yaml:"workload"`
	// Bounded is the test with a fixed number of users; nil when the plan has none.
	Bounded *Bounded `yaml:"bounded"`
	// Unbounded is the search for capacity; nil when the plan has none.
	Unbounded *Unbounded `yaml:"unbounded"`
	// Sizing is the ladder of load steps; nil when the plan has none.
	Sizing *LoadSteps `yaml:"sizing"`
	Prices []Offer    `yaml:"prices"`
	Probes []Probe    `yaml:"probes"`
	// Metrics is a Prometheus that watches the target's hosts already; empty if there is none.
	Metrics MetricsServer `yaml:"metrics"`
	Gates   Gates         `yaml:"gates"`
	// Compare names the arms; nil for a plan with a single variant.
	Compare *Compare   `yaml:"compare"`
	Setup   []SetupRow `yaml:"setup"`
	Report  Report     `yaml:"report"`
	// Source is the history in which the commits behind a difference are looked for; nil if none
	// are.
	Source *SourceRange `yaml:"source"`
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
	{
		"setup",
		ordered(
			"a mapping of rows such as {dataset: none}",
			"Value",
			text,
			"The value of the row.",
		),
		`Further rows of the report's Setup table, in this order.`,
	},
	{"report", sub(reportKeys),
		`Texts of a person for the report of a comparison, in place of those that are drafted from
		the findings.`},
	{"source", sub(sourceKeys),
		`The git history between the builds of a comparison: the report names the commits that touch
		what changed. Nothing is fetched.`},
}

// Database engines by the protocol they speak; the server behind it reports its own name and
// version.
const (
	PostgreSQL = "postgresql"
	MySQL      = "mysql"
)

// A Database lists the engines on which the target is tested.
type Database struct {
	// Engine lists [PostgreSQL] and [MySQL] in the order of the tables; empty means that the
	// target's database is not ours to start. If some arms have their own database, it is the
	// engine of the other arms, and at most one.
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

// A Placement pins the generator and the target to CPU numbers, which may not overlap. An empty set
// has the CPUs that the other one leaves; when both are empty, the generator has the last one, and
// all run anywhere on a host with one CPU only.
type Placement struct {
	Generator []int `yaml:"generator"`
	Target    []int `yaml:"target"`
	// Source lists addresses of this host from which the users connect, in turn: one address has
	// one range of ports for each destination. Empty means one, or as many as needed when the
	// target is on the loopback device.
	Source    []string `yaml:"source"`
	Processes int      `yaml:"processes"`
	// Agents are other hosts that have the users; nil: this host has them. Processes is then of
	// each.
	Agents *Agents `yaml:"agents"`
	// Share selects how users are divided among Agents: [ShareEqual] (default) or [ShareRating].
	// Empty without Agents.
	Share string `yaml:"share"`
	// Memory is the byte budget of the users of all processes together: the bytes that answers and
	// messages under way may hold at once. 0 means the default, an eighth of the memory of this
	// host or of its control group, and 192MB at most.
	Memory Memory `yaml:"memory"`
}

// cpus is the type of a set of CPUs.
var cpus = list("a list of CPU numbers such as [0, 1]", whole("a CPU number").from(0, maxCPU), "").
	distinct(func(n string) string { return "CPU " + n })

// sourceRE matches IPv4 addresses, and roughly IPv6 addresses. Whether this host has the address is
// known when the plan is run.
var sourceRE = regexp.MustCompile(
	`^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7})$`,
)

var sources = list(wantTexts, raw.checked(func(s string) error {
	if sourceRE.MatchString(s) {
		return nil
	}
	return refuse(s, "is no address; want one of this host, such as 10.0.0.7")
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

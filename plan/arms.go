package plan

import (
	"slices"
	"strconv"
	"time"
)

// Base is the name of the arm that the others are compared with.
const Base = "base"

// A Compare names the arms of a comparison and how large a difference matters.
type Compare struct {
	// Arms holds two arms or more in the order of the file; one of them is [Base].
	Arms    []Arm `yaml:"arms"`
	Combine bool  `yaml:"combine"`
	Blocks  int   `yaml:"blocks"`
	// Budget is 0 unless the file has "blocks: auto"; Blocks is the most that there can be then.
	Budget time.Duration `yaml:"budget"`
	// Looks are the numbers of blocks after which the comparison is judged and ends if it is
	// decided; the last is Blocks. Empty means one look, after all blocks.
	Looks []int `yaml:"looks"`
	// Mode is [ModeSequence], [ModeDuet], or empty for the mode that [Plan.Duet] returns.
	Mode string `yaml:"mode"`
	// Slice is the length of a turn of an arm in a duet, 100ms to 5s; 0 means that it follows the
	// latencies of the operations.
	Slice time.Duration `yaml:"slice"`
	// Swap has arms of the driver external exchange their addresses from block to block; see
	// [Plan.Place].
	Swap bool `yaml:"swap"`
	// Retry limits the time, in all, of waiting for a quiet host and of running voided blocks
	// again; 0 for neither. Default: the time of a third of the blocks, see [Plan.RunLength].
	Retry  time.Duration `yaml:"retry"`
	Margin Margin        `yaml:"margin"`
	// Profile has the CPU time of the target's processes sampled in the measured phase of a bounded
	// test; see package watch/profile.
	Profile bool `yaml:"profile"`
	// Endpoints names the endpoints that are judged even where the plan could not decide them; see
	// [Plan.Insists].
	Endpoints []string `yaml:"endpoints"`
}

var compareKeys = section{
	{"arms", arms, `Two variants of the target or more; one is named base.`},
	{"combine", boolean.or(false),
		`Carry both tests out in one run: the plateau, then the search from there.`},
	{
		"blocks",
		single("a number of blocks", parseBlocks, strconv.Itoa, object{"type": "integer"}).or(6).
			from(1, maxBlocks).
			orWord(autoWord),
		`Runs of each arm on each engine; below 6 a verdict is only indicative. auto: as many as are
		needed, at most 30, within budget.`,
	},
	{"budget", duration.hidingZero().from("1s", MaxTime),
		`With blocks: auto, the time after which no more blocks begin. The comparison is judged after
		6, 9, 12 and so on up to 30 blocks and ends when every primary endpoint is decided. Default
		30m.`},
	{
		"looks",
		list(
			"a list of numbers of blocks such as [6, 9, 12]",
			whole("a number of blocks").within(6, 12),
			"",
		),
		`Numbers of blocks after which the comparison is judged and ends if it is decided: [6, 9,
		12]. Without it: one look, after all blocks.`,
	},
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
	{"profile", boolean.or(true),
		`Sample the call stacks of the servers and their databases in the measured phase of a
		bounded test, alike in all arms, so that the report can name the functions behind a
		difference in cost.`},
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
	for _, a := range c.Arms {
		if a.Name == name {
			return a, true
		}
	}
	return Arm{}, false
}

// An Arm is a variant of the target; empty fields are as in the target. See [Target.With].
type Arm struct {
	Name   string   `yaml:"-"`
	Binary string   `yaml:"binary"`
	Args   []string `yaml:"args"`
	Env    Env      `yaml:"env"`
	// Version labels the build in tables, and replaces the target's; see [Target].
	Version    string    `yaml:"version"`
	URL        Addresses `yaml:"url"`
	MetricsURL Addresses `yaml:"metrics_url"`
	Probes     []Probe   `yaml:"probes"`
	// Metrics takes the place of the plan's for an arm with a URL; without an address it is of the
	// plan's server. See [Plan.MetricsOf].
	Metrics MetricsServer `yaml:"metrics"`
	// Database is the engine of this arm in place of the plan's: [PostgreSQL] or [MySQL]; see
	// [Plan.EngineOf].
	Database string `yaml:"database"`
	// Deployment sets how this arm's server is run; nil, in all arms, means a process on this
	// host.
	Deployment *Deployment `yaml:"deployment"`
}

// arms is the type of the arms of a comparison.
var arms = armsType()

func armsType() valueType {
	arm := sub(armKeys)
	arm.nothing = "write {} for an arm that changes nothing"
	return ordered(
		"a mapping of arms such as {base: {}, new: {args: [-x]}}",
		"",
		arm,
		"What this arm changes; {} for nothing.",
	).called("an arm").atMost(maxArms, "arms").demanded().describing(object{
		"minProperties": 2,
		"maxProperties": maxArms,
		"required":      []string{Base},
	})
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

// arms returns the arms of the plan; none of a plan without compare.
func (p *Plan) arms() []Arm {
	if p.Compare == nil {
		return nil
	}
	return p.Compare.Arms
}

// anyArm reports whether an arm of the plan is so.
func (p *Plan) anyArm(so func(Arm) bool) bool { return slices.ContainsFunc(p.arms(), so) }

// everyArm reports whether the plan has arms, and all are so.
func (p *Plan) everyArm(so func(Arm) bool) bool {
	return len(p.arms()) > 0 && !p.anyArm(func(a Arm) bool { return !so(a) })
}

// variants returns the arms of the plan, or one that changes nothing.
func (p *Plan) variants() []Arm {
	if p.Compare == nil {
		return []Arm{{}}
	}
	return p.Compare.Arms
}

// armsElsewhere reports whether every arm has its own address.
func (p *Plan) armsElsewhere() bool {
	return p.everyArm(func(a Arm) bool { return len(a.URL) > 0 })
}

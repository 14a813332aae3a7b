package record

import "slices"

// A Cause is the party that made a run invalid.
type Cause string

// The causes.
const (
	ByTarget    Cause = "target"    // the server under test failed, refused, crashed or did not start
	ByGenerator Cause = "generator" // the load generator was too slow, or could not be watched
	ByHost      Cause = "host"      // other processes on the host took resources that the run needed
	// ByDeployment is the cause of runs before which a command of the plan failed, or left the target in another state
	// than the plan wants: nothing follows from them about the server under test.
	ByDeployment Cause = "deployment"
	// ByHand is the cause of runs that a person steered: they are not the plan's.
	ByHand Cause = "person"
	// ByEither is the cause of gates that read the whole host of the generator: if the target runs there too, it may
	// be the one that uses the host up.
	ByEither Cause = "target or generator"
)

// gateCauses is the only table of causes: for each gate and finding that can make a run invalid, the party that
// caused it. Those of the target can be turned red by the target alone: it serves fewer arrivals than come, refuses
// logins, lets a behavior succeed in nothing, has a full accept queue, stands still for half of the phase, carries no
// user, loses acknowledged messages, or ends, so that its probes have no data. A generator that is too slow turns
// some of them red as well, and a neighbor too; then its own gate is red beside them ([CauseOf]). An entry that is
// not in the table has no known cause: an interruption, or a rule without data.
var gateCauses = map[string]Cause{
	"users": ByTarget, "rate": ByTarget, "wait": ByTarget, "stationary": ByTarget, "level": ByTarget, "operations": ByTarget, "failed users": ByTarget,
	"search": ByTarget, "behavior": ByTarget, "audit": ByTarget, "rows": ByTarget, "telemetry": ByTarget, "signals": ByTarget, "shares": ByTarget, StartGate: ByTarget, CrashGate: ByTarget,

	PanicGate: ByGenerator, "lag": ByGenerator, "late": ByGenerator, "cpu": ByGenerator, "core": ByGenerator, "sched": ByGenerator, "pause": ByGenerator, "gc": ByGenerator,
	"throttled": ByGenerator, "inbox": ByGenerator, "fds": ByGenerator, "fds_free": ByGenerator, "drops": ByGenerator,
	"bursts": ByGenerator, "little": ByGenerator, "clock": ByGenerator, "headroom": ByGenerator, "agents": ByGenerator,

	"memory": ByEither, "ports": ByEither, BudgetGate: ByEither,

	DeployGate: ByDeployment, HandGate: ByHand,

	"steal": ByHost, "target_steal": ByHost, "others": ByHost,
}

// DeployGate is the finding of a run before which the plan's commands to install or reset the target failed, or after
// which the target was not as the plan wants it.
const DeployGate = "deploy"

// HandGate is the finding of a run that a person steered while it went on. Such a run is exploratory: it gets no
// verdict.
const HandGate = "exploratory"

// StartGate is the finding of a run whose target did not start, and CrashGate that of one whose target, or a server
// that it needs, ended, crashed, recovered or was restarted during the run. PanicGate is that of a panic of this
// program, which failed then.
const (
	StartGate = "start"
	CrashGate = "crash"
	PanicGate = "panic"
)

// GateCause returns the party that turns the gate red; empty if it is unknown.
func GateCause(gate string) Cause { return gateCauses[gate] }

// Foreign reports whether a gate is about others on the hosts, and not about the generator or the load that it drives.
func Foreign(gate string) bool { return GateCause(gate) == ByHost }

// CauseOf returns the party that made a run invalid; empty for a valid run, and if it is unknown. A panic of
// this program comes first and is the generator's; then a crash, which is always the target's own: no neighbor
// excuses the end of a server, and such a run is never dropped as a neighbor's. Then comes the host, already
// when its gate is amber, then the generator: either may have taken all that the target lacked. Red gates of the
// target come last, and those that are [ByEither] count as the target's.
func CauseOf(v Validity) Cause {
	if v.Valid {
		return ""
	}
	has := func(c Cause, levels ...string) bool {
		return slices.ContainsFunc(v.Findings, func(f Finding) bool { return GateCause(f.Gate) == c && slices.Contains(levels, f.Level) })
	}
	crashed := slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Gate == CrashGate && f.Level == Red })
	switch {
	case has(ByHand, Red): // whatever else came of it
		return ByHand
	case Panicked(v):
		return ByGenerator
	case crashed:
		return ByTarget
	case has(ByDeployment, Red):
		return ByDeployment
	case has(ByHost, Red, Amber):
		return ByHost
	case has(ByGenerator, Red):
		return ByGenerator
	case has(ByTarget, Red), has(ByEither, Red):
		return ByTarget
	}
	return ""
}

// Panicked reports whether this program failed in the run: nothing follows from it about the target.
func Panicked(v Validity) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Gate == PanicGate && f.Level == Red })
}

// TargetToo reports whether a run that is void by the host may be void by the target: a gate of the target is red,
// and those of the host are amber alone.
func TargetToo(v Validity) bool {
	red := func(c Cause) bool {
		return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Level == Red && GateCause(f.Gate) == c })
	}
	return CauseOf(v) == ByHost && red(ByTarget) && !red(ByHost) && !red(ByGenerator)
}

// timesAlone are the gates that speak of times, rates and capacities, and not of counts of work. A neighbor on the
// generator's cores makes actions late too.
var timesAlone = []string{"steal", "target_steal", "others", "users", "rate", "wait", "stationary", "search",
	"core", "lag", "late", "sched", "pause", "inbox", "drops", "bursts", "little"}

// Disturbed reports whether a run is not valid only because other processes on the host disturbed it. They spoil its
// times and its capacity; CPU time is counted by process, so the cost of an operation stays valid.
func Disturbed(v Validity) bool {
	return CauseOf(v) == ByHost && !slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Level == Red && !slices.Contains(timesAlone, f.Gate) })
}

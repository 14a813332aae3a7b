package record

import (
	"slices"

	"plimsoll/plan"
)

// A Cause is the party that made a run invalid.
type Cause = plan.Cause

// The causes. Those of gates are explained in package plan.
const (
	ByTarget    = plan.ByTarget
	ByGenerator = plan.ByGenerator
	ByHost      = plan.ByHost
	ByEither    = plan.ByEither
	// ByDeployment is the cause of runs before which a command of the plan failed, or left the
	// target in another state than the plan wants: nothing follows from them about the server under
	// test.
	ByDeployment Cause = "deployment"
	// ByHand is the cause of runs that a person steered: they are not the plan's.
	ByHand Cause = "person"
)

// findings has the cause of each finding that is not a gate of [plan.DefaultGates] and can make a
// run invalid. The target alone can turn a finding of the target red: it refuses logins, lets a
// behavior succeed in nothing, has a full accept queue, stands still for half of the phase, carries
// no user, loses acknowledged messages, or ends, so that its probes have no data. A generator that
// is too slow, or a neighbor, turns some of them red as well; then its own gate is red beside them
// ([CauseOf]). A finding that is not in the table has no known cause: an interruption, or a rule
// without data.
var findings = map[string]Cause{
	"stationary":   ByTarget,
	"level":        ByTarget,
	"operations":   ByTarget,
	"failed users": ByTarget,
	"search":       ByTarget,
	"behavior":     ByTarget,
	"audit":        ByTarget,
	"rows":         ByTarget,
	"telemetry":    ByTarget,
	"signals":      ByTarget,
	StartGate:      ByTarget,
	CrashGate:      ByTarget,
	PanicGate:      ByGenerator,
	"agents":       ByGenerator,
	BudgetGate:     ByEither,
	DeployGate:     ByDeployment,
	HandGate:       ByHand,
}

// DeployGate is the finding of a run before which the plan's commands to install or reset the
// target failed, or after which the target was not as the plan wants it.
const DeployGate = "deploy"

// HandGate is the finding of a run that a person steered while it went on. Such a run is
// exploratory: it gets no verdict.
const HandGate = "exploratory"

const (
	// StartGate is the finding of a run whose target did not start.
	StartGate = "start"
	// CrashGate is the finding of a run whose target, or a server that it needs, ended, crashed,
	// recovered or was restarted during the run.
	CrashGate = "crash"
	// PanicGate is the finding of a run in which this program panicked.
	PanicGate = "panic"
)

// GateCause returns the party that turns the gate red; empty if it is unknown.
func GateCause(gate string) Cause {
	if g, ok := plan.Gates(nil).Of(gate); ok {
		return g.Cause
	}
	return findings[gate]
}

// Foreign reports whether a gate is about others on the hosts, and not about the generator or the
// load that it drives.
func Foreign(gate string) bool { return GateCause(gate) == ByHost }

// CauseOf returns the party that made a run invalid; empty for a valid run, and if it is unknown. A
// panic of this program comes first and is the generator's; then a crash, which is always the
// target's own: no neighbor excuses the end of a server, and such a run is never dropped as a
// neighbor's. Then comes the host, already when its gate is amber, then the generator: either may
// have taken all that the target lacked. Red gates of the target come last; gates with the cause
// [ByEither] count as the target's.
func CauseOf(v Validity) Cause {
	if v.Valid {
		return ""
	}
	switch {
	case v.caused(ByHand, Red): // whatever else came of it
		return ByHand
	case Panicked(v):
		return ByGenerator
	case v.red(CrashGate):
		return ByTarget
	case v.caused(ByDeployment, Red):
		return ByDeployment
	case v.caused(ByHost, Red, Amber):
		return ByHost
	case v.caused(ByGenerator, Red):
		return ByGenerator
	case v.caused(ByTarget, Red), v.caused(ByEither, Red):
		return ByTarget
	}
	return ""
}

// Panicked reports whether this program failed in the run: nothing follows from it about the
// target.
func Panicked(v Validity) bool {
	return v.red(PanicGate)
}

// TargetToo reports whether a run that is void by the host may also be void by the target: a gate
// of the target is red, and the gates of the host are only amber.
func TargetToo(v Validity) bool {
	return CauseOf(v) == ByHost && v.caused(ByTarget, Red) &&
		!v.caused(ByHost, Red) && !v.caused(ByGenerator, Red)
}

// timesOnly reports whether a finding is about times, rates and capacities, and not about counts of
// work.
func timesOnly(gate string) bool {
	g, _ := plan.Gates(nil).Of(gate)
	return g.TimesOnly || gate == "stationary" || gate == "search"
}

// Disturbed reports whether a run is not valid only because other processes on the host disturbed
// it. They spoil its times and its capacity; CPU time is counted by process, so the cost of an
// operation stays valid.
func Disturbed(v Validity) bool {
	spoiled := func(f Finding) bool { return f.Level == Red && !timesOnly(f.Gate) }
	return CauseOf(v) == ByHost && !slices.ContainsFunc(v.Findings, spoiled)
}

// red reports whether a gate is red.
func (v Validity) red(gate string) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool {
		return f.Gate == gate && f.Level == Red
	})
}

// caused reports whether a party turned a gate to one of the levels.
func (v Validity) caused(by Cause, levels ...string) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool {
		return slices.Contains(levels, f.Level) && GateCause(f.Gate) == by
	})
}

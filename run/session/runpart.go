package session

import (
	"cmp"

	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/run/preflight"
	"plimsoll/run/trial"
	"plimsoll/run/turns"
)

// FirstAccounts is the number of users for which a pilot that finds their number prepares its
// target at first: accounts cost a real server most of a deployment.
const FirstAccounts = 100

// A RunPart names a run: which arm on which database, and which part of a comparison it is.
type RunPart struct {
	Arm, Engine, Comparison string
	Block, Order            int
	Pilot                   bool
	Bounded, Unbounded      bool // which tests it carries
	// the state that the part before has left; else the system is reset
	Keep bool
	// of the search; 0 for the plan's or the bounded test's
	Start int
	Place *turns.DuetPlace // in a duet; nil: the run has its host for itself
	Step  bool             // of a sizing
	// users of a pilot that finds their number; 0 for any other part
	Most int
}

// ofPlan names the part of the plan.
func (pt RunPart) ofPlan() preflight.OneRun {
	return preflight.OneRun{
		Arm: pt.Arm, Engine: pt.Engine, Bounded: pt.Bounded, Unbounded: pt.Unbounded,
	}
}

// Tests returns the tests of a plan that the part carries.
func (pt RunPart) Tests(p *plan.Plan) trial.Config {
	return trial.Planned(p, trial.Tests{
		Engine:    pt.Engine,
		Bounded:   pt.Bounded,
		Unbounded: pt.Unbounded,
		Short:     pt.Comparison == "" || pt.Step, // the runs of an arm have one length
		Start:     pt.Start,
		Most:      pt.Most,
	}, deploy.OpTimeout)
}

// name names the arm and the database of the part in errors.
func (pt RunPart) name() string {
	return pt.Arm + " on " + cmp.Or(pt.Engine, "-")
}

// Users returns how many users a part may need at most.
func (s *Session) Users(pt RunPart) int {
	if pt.Most > 0 {
		return pt.Most
	}
	return pt.ofPlan().Users(s.Plan)
}

// Need names the system of a part.
func (s *Session) Need(pt RunPart) deploy.Need {
	return deploy.Need{
		Arm:        pt.Arm,
		Engine:     pt.Engine,
		Comparison: pt.Comparison,
		Block:      pt.Block,
		Users:      s.Users(pt),
	}
}

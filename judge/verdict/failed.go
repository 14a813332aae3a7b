package verdict

import (
	"fmt"
	"strings"

	"plimsoll/plan"
	"plimsoll/stats"
)

// FailedRuns is the name of the endpoint that counts the runs which the target itself made invalid:
// it is the worst rank, since no number of such a run counts elsewhere.
const FailedRuns = "failed runs"

// Attempts are the runs of one arm that neither the load generator nor others on the host made
// invalid, those of blocks that were run again included.
type Attempts struct {
	Runs   int `json:"runs"`
	Failed int `json:"failed"` // those that the target made invalid, or in which it did not start
	// Each element names one failure: "stationary in block 3".
	What []string `json:"what,omitempty"`
}

// JudgeFailed compares how many runs of each arm failed, by Fisher's exact test on their numbers.
// As many in both are the same, of six runs of each arm or more, of which some did not fail.
// Otherwise builds are never the same: the new arm is worse or better when the test excludes one
// share of failures, and the result is inconclusive when it does not.
func JudgeFailed(base, fresh Attempts, opt Options) Result {
	r := newResult(plan.Endpoint{
		Name:     FailedRuns,
		Better:   plan.Lower,
		Margin:   1,
		Absolute: true,
		Unit:     "%",
	}, nil, opt)
	r.N, r.Failed = min(base.Runs, fresh.Runs), &FailedPair{Base: base, New: fresh}
	for _, arm := range []struct {
		s *Summary
		a Attempts
	}{{&r.Base, base}, {&r.New, fresh}} {
		arm.s.N = arm.a.Runs
		if arm.a.Runs > 0 {
			arm.s.Mean = 100 * float64(arm.a.Failed) / float64(arm.a.Runs)
		}
		if len(arm.a.What) > 0 {
			r.Warn(FailedArm, fmt.Sprintf(
				"runs of %s that failed by the target's doing: %s",
				arm.s.Name,
				strings.Join(arm.a.What, ", "),
			))
		}
	}
	r.P = stats.Fisher(base.Failed, base.Runs, fresh.Failed, fresh.Runs)
	tally := fmt.Sprintf(
		"%d of %s of %s failed and %d of %d of %s (Fisher's exact test, %s)",
		fresh.Failed,
		Count(fresh.Runs, "run"),
		r.New.Name,
		base.Failed,
		base.Runs,
		r.Base.Name,
		pText(r.P),
	)
	// by share: the arms may have other numbers of runs
	more := fresh.Failed*base.Runs - base.Failed*fresh.Runs
	switch {
	case r.P <= r.Alpha && more > 0:
		return r.conclude(Worse, tally)
	case r.P <= r.Alpha && more < 0:
		return r.conclude(Better, tally)
	case fresh.Failed != base.Failed:
		tally += ": a build that fails more often is never the same"
	case r.N >= stats.MinPairs && base.Failed < base.Runs && fresh.Failed < fresh.Runs: // of nearly as many runs: blocks were run again
		return r.conclude(Same, tally)
	case r.N >= stats.MinPairs:
		tally += ": no run is left that would show a difference"
	default:
		tally += ": fewer than six runs of an arm show no sameness"
	}
	r.Indicative = 0 < r.N && r.N < stats.MinPairs // no run indicates nothing
	return r.conclude(Inconclusive, tally)
}

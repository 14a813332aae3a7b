package comparison

import (
	"fmt"
	"math"

	"plimsoll/judge/verdict"
	"plimsoll/stats"
)

// Clockwork separates the CPU time of a role that follows the clock from the time that follows the
// load, in a run that took turns. Timers of a target expire while it is paused, and their work is
// done at the beginning of its next turn, so that with k runs the work that follows the clock would
// count k times. Times are CPU seconds between two samples.
type Clockwork struct {
	Used float64 // in all
	// Backlog is the CPU time between the end of a pause and the start of the clock, Covered the
	// pauses before it, and Paused all pauses, in seconds of real time.
	Backlog, Covered, Paused float64
	// Idle is the number of cores that the role uses without load and without pauses, and Error its
	// standard error.
	Idle, Error float64
	Turns       TurnSums
}

// TurnSums are sums over the turns of a run: of the pauses before them in seconds and of the cores
// that a role used in them, of their squares and of their product.
type TurnSums struct{ N, Pause, PauseSquares, Cores, CoresSquares, Product float64 }

// growth returns the share of the CPU time in turns that grows with the pause before them, by a
// line of least squares, and its standard error; false where it is not known.
func (t TurnSums) growth() (share, se float64, ok bool) {
	if t.N < leastTurns || t.Cores <= 0 {
		return 0, 0, false
	}
	xx := t.PauseSquares - t.Pause*t.Pause/t.N
	xy := t.Product - t.Pause*t.Cores/t.N
	rest := t.CoresSquares - t.Cores*t.Cores/t.N - xy*xy/xx
	scale := t.Pause / t.Cores
	return xy / xx * scale, math.Sqrt(max(rest, 0)/(t.N-2)/xx) * scale, xx > 0
}

const (
	// leastCovered is the least share of the pauses whose backlog has to be known.
	leastCovered = 0.2
	// mostByClock is the largest share of the CPU time of a role that pauses may add: beyond it,
	// little is left that operations cost.
	mostByClock = 0.5
	// mostDeferred is the largest difference between two arms in the share of work that was put
	// off. After a pause it is done at a stretch, and costs less than in continuous time, where
	// each part of it wakes a thread: 22 % more CPU time were measured as 17 %. Work of the clock
	// that is more under load than without is in it, too.
	mostDeferred = 0.02
	// mostGrowth is the same for the share of CPU time that grows with the pause before a turn: a
	// cache that expires by the clock, say, is filled by the first request after it, so that no
	// backlog shows it.
	mostGrowth = 0.05
	// A difference must have at least this number of standard errors. Those of deferred and of
	// unexplained work come from the scatter between blocks: where they are large, work comes in
	// bursts that are rounds apart, or the idle rates scatter.
	certainDeferred, certainUnexplained, certainGrowth = 2, 4, 3
	leastTurns                                         = 20
)

// Shares returns the share of the CPU time that pauses added, which continuous time would not cost,
// and the share of work that the load left for later and that was done in a backlog. A backlog is
// the clock's as far as the idle rate explains it. That rate is known from a short time, so that
// twice its error is added to it: a backlog that is all the clock's counts as it is. Where too few
// backlogs are known, the idle rate alone is used, and nothing is known about work that was put
// off.
func (c Clockwork) Shares() (byClock, deferred float64) {
	if c.Used <= 0 || c.Paused <= 0 {
		return 0, 0
	}
	if !c.read() {
		return c.Idle * c.Paused / c.Used, 0
	}
	clock := min(c.Backlog, (c.Idle+2*c.Error)*c.Covered)
	whole := c.Paused / c.Covered / c.Used
	return clock * whole, (c.Backlog - clock) * whole
}

// read reports whether there were pauses, and enough of their backlogs are known.
func (c Clockwork) read() bool { return c.Paused > 0 && c.Covered >= leastCovered*c.Paused }

// unexplained returns by what share of the CPU time the backlog is more than the idle rate foresaw,
// and the standard error by that rate's. Little work that was put off can hide behind a single
// event of the idle target, but is unexplained in each run of its arm.
func (c Clockwork) unexplained() (share, se float64) {
	if c.Used <= 0 || !c.read() {
		return 0, 0
	}
	scale := c.Paused / c.Used
	return (c.Backlog/c.Covered - c.Idle) * scale, c.Error * scale
}

// Correct takes the share that pauses added out of the cost of a role.
func (c Clockwork) Correct(cost *SecondaryValue) {
	cost.ByClock, cost.Deferred = c.Shares()
	share, se := c.unexplained()
	cost.Unexplained, cost.UnexplainedVariance = share, se*se
	if share, se, ok := c.Turns.growth(); ok {
		cost.Growth, cost.GrowthVariance = share, se*se
	}
	keep := 1 - cost.ByClock
	cost.Value *= keep
	if cost.Mix != nil {
		for i := range cost.Mix.CPU {
			cost.Mix.CPU[i] *= keep
		}
	}
}

// A clockDifference is a share of the CPU time of both arms, means over the blocks, with the
// standard error of the difference.
type clockDifference struct{ base, fresh, se float64 }

// differenceOf returns the difference in a share of a cost, with the error by the scatter between
// blocks; of less than two the largest difference that is allowed.
func differenceOf(
	cost string,
	pairs []numbersPair,
	share func(SecondaryValue) float64,
) (d clockDifference) {
	var each stats.Sample
	for _, p := range pairs {
		base, fresh := share(p.base.Costs[cost]), share(p.fresh.Costs[cost])
		each.Values = append(each.Values, fresh-base)
		d.base += base / float64(len(pairs))
		d.fresh += fresh / float64(len(pairs))
	}
	if d.se = mostDeferred; len(pairs) >= 2 {
		d.se = each.Estimate().SE
	}
	return d
}

// ownError is the standard error of a difference in a share, by the variances that the runs know.
func ownError(cost string, pairs []numbersPair, variance func(SecondaryValue) float64) float64 {
	v := differenceOf(cost, pairs, variance)
	return math.Sqrt((v.base + v.fresh) / max(float64(len(pairs)), 1))
}

// beyond reports a difference of more than most that has this number of standard errors.
func (d clockDifference) beyond(most, certain float64) bool {
	return math.Abs(d.fresh-d.base) > max(most, certain*d.se)
}

// armsClockwork is what the blocks show of work by the clock in a cost of both arms.
type armsClockwork struct{ byClock, deferred, unexplained, growth clockDifference }

// clockwork compares both arms. The error of unexplained work is at least what the idle rates are
// uncertain by: blocks may be alike by chance.
func clockwork(cost string, pairs []numbersPair) (c armsClockwork) {
	c.byClock = differenceOf(cost, pairs, func(v SecondaryValue) float64 { return v.ByClock })
	c.deferred = differenceOf(cost, pairs, func(v SecondaryValue) float64 { return v.Deferred })
	c.unexplained = differenceOf(cost, pairs, func(v SecondaryValue) float64 { return v.Unexplained })
	c.unexplained.base = max(c.unexplained.base, 0)
	c.unexplained.fresh = max(c.unexplained.fresh, 0)
	c.unexplained.se = max(c.unexplained.se, ownError(cost, pairs,
		func(v SecondaryValue) float64 { return v.UnexplainedVariance }))
	c.growth = differenceOf(cost, pairs, func(v SecondaryValue) float64 { return v.Growth })
	c.growth.se = ownError(cost, pairs, func(v SecondaryValue) float64 { return v.GrowthVariance })
	return c
}

// lacks returns the reason why a duet cannot give a difference in the cost of a role; empty where
// it can.
func (c armsClockwork) lacks(role string, label [2]string) string {
	for i, byClock := range []float64{c.byClock.base, c.byClock.fresh} {
		if byClock > mostByClock {
			return fmt.Sprintf(
				"pauses added %.0f %% of the CPU time of %s of %s, which follows the clock and not the load "+
					"(at most %.0f %%); write mode: sequence",
				100*byClock,
				role,
				label[i],
				100*mostByClock,
			)
		}
	}
	off, putOff := c.deferred, c.deferred.beyond(mostDeferred, certainDeferred)
	if !putOff {
		off, putOff = c.unexplained, c.unexplained.beyond(mostDeferred, certainUnexplained)
	}
	if putOff {
		return fmt.Sprintf(
			"%.0f %% of the CPU time of %s of %s and %.0f %% of %s is work put off until after a "+
				"pause, where it is done at a stretch (at most %.0f %% of difference); "+
				"write mode: sequence",
			100*off.base,
			role,
			label[0],
			100*off.fresh,
			label[1],
			100*mostDeferred,
		)
	}
	if c.growth.beyond(mostGrowth, certainGrowth) {
		return fmt.Sprintf(
			"the CPU time of %s in a turn grows with the pause before it, by %.0f %% in %s and %.0f %% in %s "+
				"(at most %.0f %% of difference); write mode: sequence",
			role,
			100*c.growth.base,
			label[0],
			100*c.growth.fresh,
			label[1],
			100*mostGrowth,
		)
	}
	return ""
}

// judgeClockwork sets the shares that were taken out of the costs of each arm, and withholds a
// difference that a duet cannot give.
func judgeClockwork(
	r verdict.Result,
	pairs []numbersPair,
	label [2]string,
	opt verdict.Options,
) verdict.Result {
	c := clockwork(r.Name, pairs)
	if why := c.lacks(r.Of, label); why != "" {
		return verdict.Unknown(r.Endpoint, why, opt)
	}
	r.ByClock = [2]float64{c.byClock.base, c.byClock.fresh}
	return r
}

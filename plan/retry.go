package plan

import (
	"math"
	"time"
)

// BetweenRuns is the approximate time of a reset and the end of a run.
const BetweenRuns = 6 * time.Second

// betweenTurns is the approximate time of the reset and the end of each run of a duet.
const betweenTurns = 2 * time.Second

// Between returns about how long the reset and the end of a run take: [BetweenRuns], and less in a
// duet, whose systems are reset one right after the other.
func Between(duet bool) time.Duration {
	if duet {
		return betweenTurns
	}
	return BetweenRuns
}

// RunLength returns how long a run of these tests of the plan takes at most, without a reset and
// the end of the run ([BetweenRuns]).
func (p *Plan) RunLength(bounded, unbounded bool) time.Duration {
	var d time.Duration
	if b := p.Bounded; b != nil && bounded {
		d += b.Ramp + b.Settle + b.Measure
	}
	if u, ok := p.Search(); ok && unbounded {
		d += 2*u.Window + u.Budget
	}
	return d
}

// defaultRetry returns how long a third of the blocks takes, rounded up to whole blocks and
// minutes; a third of the budget where that decides how many there are. The plan's values may be
// out of range.
func (p *Plan) defaultRetry() time.Duration {
	minutes := p.Compare.Budget.Minutes() / 3
	if !p.Compare.Auto() {
		run := (p.RunLength(true, true) + BetweenRuns).Minutes()
		blocks := (max(p.Compare.Blocks, 1) + 2) / 3
		arms, engines := len(p.Compare.Arms), max(len(p.Database.Engine), 1)
		minutes = max(run*float64(blocks)*float64(arms)*float64(engines), 1)
	}
	return time.Duration(min(math.Ceil(minutes), MaxTime.Minutes())) * time.Minute
}

// SearchStart returns the number of users with which a search on an engine begins when nothing is
// known: the plan's start, else the users of the bounded test, else a twentieth of the most.
func (p *Plan) SearchStart(engine string) int {
	u := p.Unbounded
	if u == nil {
		return 0
	}
	n, ok := u.Start.For(engine)
	if !ok && p.Bounded != nil {
		n, _ = p.Bounded.UsersFor(engine)
	}
	if n == 0 {
		n = u.MaxUsers / 20 // a ramp from one user would take for ever
	}
	return max(n, 1)
}

package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// state fills in how far the comparison came.
func (b *builder) state() {
	s := State{Complete: b.c.State == record.Sealed, State: b.c.State, Why: b.c.Why,
		Planned: b.c.Blocks, Block: b.blockTime()}
	for block, whole := range b.whole {
		if whole && !b.c.Waits(block) {
			s.Judged++
		}
	}
	if slices.ContainsFunc(b.in.Arms, costJudged) {
		s.Cost = b.c.CostBlocks()
	}
	b.State = s
}

func costJudged(j Judged) bool {
	return slices.ContainsFunc(j.Verdict.Results, func(r verdict.Result) bool {
		_, cost := plan.CostOf(r.Name)
		return cost && r.N > 0
	})
}

// blockTime returns how long a block took from the beginning to the end of the comparison, pauses
// left out; 0 where that is not known.
func (b *builder) blockTime() time.Duration {
	runs := 0
	for _, r := range b.c.Runs {
		if !r.Pilot && !r.Cut {
			runs++
		}
	}
	took := b.c.Ended.Sub(b.c.Started)
	for _, r := range b.c.Resumed {
		took -= r.At.Sub(r.Cut)
	}
	if runs == 0 || b.c.Started.IsZero() || b.c.Ended.IsZero() || b.c.Gathered != nil || took <= 0 {
		return 0
	}
	return took * time.Duration(len(b.c.Arms)*max(1, len(b.c.Engines))) / time.Duration(runs)
}

// judgedText states how many blocks were judged: "6 of 6 blocks judged".
func (s State) judgedText() string {
	switch {
	case s.Cost == 0:
		return fmt.Sprintf("%d of %d blocks judged", s.Judged, s.Planned)
	case s.Judged == 0:
		return fmt.Sprintf("%d of %d blocks judged, by cost alone", s.Cost, s.Planned)
	}
	return fmt.Sprintf("%d of %d blocks judged, %d more by cost alone", s.Judged, s.Planned, s.Cost)
}

// lasting returns the time that a number of blocks takes: "about 52 minutes, 23 blocks"; the number
// alone if the time of a block is not known.
func (s State) lasting(blocks int) string {
	n := count(blocks, "block", "blocks")
	if s.Block <= 0 {
		return n
	}
	return fmt.Sprintf("about %s, %s", count(MinutesOf(blocks, s.Block), "minute", "minutes"), n)
}

// MinutesOf returns the minutes that a number of blocks takes, rounded up to two significant
// digits; 0 if the time of a block is not known.
func MinutesOf(blocks int, each time.Duration) int {
	if blocks <= 0 || each <= 0 {
		return 0
	}
	minutes := math.Ceil((time.Duration(blocks) * each).Minutes())
	unit := math.Pow(10, max(0, math.Floor(math.Log10(minutes))-1))
	return int(math.Ceil(minutes/unit) * unit)
}

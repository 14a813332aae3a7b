package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/record"
)

// State describes the end of a comparison.
type State struct {
	Complete bool         `json:"complete"`
	State    record.State `json:"state"`
	Why      string       `json:"why,omitempty"`
	Planned  int          `json:"blocks_planned"`
	Judged   int          `json:"blocks_judged"` // blocks whose runs were all there and valid
	// Cost counts further blocks that were judged by the cost of their operations alone, because
	// others on the host disturbed them.
	Cost int `json:"blocks_judged_by_cost,omitempty"`
	// Block is the mean duration of a block; 0 where it is not known.
	Block time.Duration `json:"block_time,omitempty"`
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

// briefly returns the same as a cell of a table has it: "52 min, 23 blocks".
func (s State) briefly(blocks int) string {
	n := count(blocks, "block", "blocks")
	if s.Block <= 0 {
		return n
	}
	return fmt.Sprintf("%d min, %s", MinutesOf(blocks, s.Block), n)
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

// missing states that a comparison is not complete, the reason, and how much of it can be judged,
// where its blocks are known.
func (s State) missing(how string) string {
	if s.Planned == 0 {
		return s.Why
	}
	return fmt.Sprintf("the comparison is not complete (%s): %d of %d blocks can be judged", how,
		s.Judged, s.Planned)
}

// ended describes the end of a comparison that is not complete.
func (s State) ended() string {
	word := stateWord(s.State)
	if s.Why == "" || strings.HasPrefix(s.Why, word) {
		return cmp.Or(s.Why, word)
	}
	return word + ": " + s.Why
}

func stateWord(s record.State) string {
	return string(cmp.Or(s, "state unknown"))
}

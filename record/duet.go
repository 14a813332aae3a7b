package record

import (
	"time"

	"plimsoll/plan"
)

// A Duet records the turns of a run in its block. The run's instants are on its own clock, which
// stands still while the run has no turn. Durations are nanoseconds of real time in JSON.
type Duet struct {
	Seats int `json:"seats"` // runs that took turns
	Turns int `json:"turns"` // of this run
	// SliceMin and SliceMax are the lengths of the turns, Own is their sum, and Alone the part of
	// it after all others had ended.
	SliceMin time.Duration `json:"slice_min"`
	SliceMax time.Duration `json:"slice_max"`
	Own      time.Duration `json:"own"`
	Alone    time.Duration `json:"alone"`
	// Foreign is the time between the first turn and the last in which the run had none,
	// LongestForeign the longest stretch of it.
	Foreign        time.Duration `json:"foreign"`
	LongestForeign time.Duration `json:"longest_foreign"`
	// Carried counts the turns that ended with operations under way, which went on in the next
	// turn; CarriedOps counts these operations, each once for every end of a turn.
	Carried    int `json:"carried"`
	CarriedOps int `json:"carried_ops"`
	// Guard is the total time by which turns were lengthened to end without operations under way.
	Guard time.Duration `json:"guard"`
	// Pausing and Continuing are the total times that it took to pause and to continue the target,
	// LongestPausing and LongestContinuing the longest single ones.
	Pausing           time.Duration `json:"pausing"`
	LongestPausing    time.Duration `json:"longest_pausing"`
	Continuing        time.Duration `json:"continuing"`
	LongestContinuing time.Duration `json:"longest_continuing"`
	// CatchingUp is the time before the turns began in which continued targets worked off the
	// backlog of their timers.
	CatchingUp time.Duration `json:"catching_up"`
	// PausedBy is the means: "freezer", "signals", or [PausedByNothing].
	PausedBy string `json:"paused_by"`
}

// PausedByNothing is PausedBy of a target elsewhere, which works on between the turns of its run.
const PausedByNothing = "nothing"

// InTurns reports whether the runs of each block were made at the same time, in turns: a duet.
func (c *Comparison) InTurns() bool { return c.Mode == plan.ModeDuet }

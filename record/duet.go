package record

import (
	"time"

	"plimsoll/plan"
)

// A Duet is how a run took turns with the others of its block. The instants of such a run are those of its own clock,
// which stands still while it has no turn. Durations are nanoseconds of real time in JSON.
type Duet struct {
	Seats int `json:"seats"` // runs that took turns
	Turns int `json:"turns"` // of this run
	// SliceMin and SliceMax are the lengths of the turns, Own is their sum, and Alone the part of it after all others
	// had ended.
	SliceMin time.Duration `json:"slice_min"`
	SliceMax time.Duration `json:"slice_max"`
	Own      time.Duration `json:"own"`
	Alone    time.Duration `json:"alone"`
	// Foreign is the time between the first turn and the last in which the run had none, LongestForeign the longest
	// stretch of it.
	Foreign        time.Duration `json:"foreign"`
	LongestForeign time.Duration `json:"longest_foreign"`
	// Carried is how many turns ended with operations under way, which went on in the next turn; CarriedOps is how many
	// these were, each counted once for every end of a turn.
	Carried    int `json:"carried"`
	CarriedOps int `json:"carried_ops"`
	// Guard is by how much turns were lengthened, in all, to end at a moment without operations under way.
	Guard time.Duration `json:"guard"`
	// Pausing and Continuing are how long it took to pause and to continue the target, in all, LongestPausing and
	// LongestContinuing the most that it took once.
	Pausing           time.Duration `json:"pausing"`
	LongestPausing    time.Duration `json:"longest_pausing"`
	Continuing        time.Duration `json:"continuing"`
	LongestContinuing time.Duration `json:"longest_continuing"`
	// CatchingUp is how long targets that were continued worked off what their timers had left, before the turns began.
	CatchingUp time.Duration `json:"catching_up"`
	// PausedBy is the means: "freezer", "signals", or [PausedByNothing].
	PausedBy string `json:"paused_by"`
}

// PausedByNothing is PausedBy of a target elsewhere, which works on between the turns of its run.
const PausedByNothing = "nothing"

// InTurns reports whether the runs of each block were made at the same time, in turns: a duet.
func (c *Comparison) InTurns() bool { return c.Mode == plan.ModeDuet }

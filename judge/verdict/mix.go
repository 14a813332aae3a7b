package verdict

import "math"

// A RemovedMix describes the kinds of operations behind a cost: each counts by what it costs both
// arms.
type RemovedMix struct {
	Kinds int `json:"kinds"` // that have a cost of their own
	// Removed is ln(new/base) of the CPU time for each operation that the arms' mixes alone make,
	// mean of the blocks: it is not in the effect.
	Removed float64 `json:"removed"`
}

// Sentence returns the mix in words: "each of 24 kinds of operations counts by what it costs both
// arms; their mixes alone make +1.6 %, which is not in it".
func (m RemovedMix) Sentence() string {
	return "each of " + Count(m.Kinds, "kind") + " of operations counts by what it costs both arms; " +
		"their mixes alone make " + signed(100*math.Expm1(m.Removed), 1) + " %, which is not in it"
}

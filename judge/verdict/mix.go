package verdict

import "math"

// A Mix describes the kinds of operations behind a cost: each counts by what it costs both arms.
type Mix struct {
	Kinds int `json:"kinds"` // that have a cost of their own
	// Removed is ln(new/base) of the CPU time for each operation that the arms' mixes alone make,
	// mean of the blocks: it is not in the effect.
	Removed float64 `json:"removed"`
}

// Sentence returns the mix in words: "operations count by what each of 24 kinds costs both arms; of
// the CPU time for each operation, another mix in the new arm makes +1.6 %, which is not in it".
func (m Mix) Sentence() string {
	return "operations count by what each of " + Count(m.Kinds, "kind") +
		" costs both arms; another mix of operations in the new arm would make " +
		signed(100*math.Expm1(m.Removed), 1) + " %" + ", which is not in it"
}

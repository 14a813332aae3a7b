package workload

import "fmt"

// A RowCount is how many things of one kind a store holds after a run, beyond what it held before, against what the acknowledged
// requests made. What was under way or failed when the run ended may be there or not: Least and Most enclose what is right.
type RowCount struct {
	Store string `json:"store"` // its role
	What  string `json:"what"`  // "participants"
	Least int64  `json:"least"`
	Most  int64  `json:"most"`
	// Actual is what is there; with Unknown it is not known, and Why says why.
	Actual  int64  `json:"actual"`
	Unknown bool   `json:"unknown,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Right reports whether the count is known and as it should be.
func (c RowCount) Right() bool { return !c.Unknown && c.Least <= c.Actual && c.Actual <= c.Most }

// String says what was expected and what is there.
func (c RowCount) String() string {
	want := fmt.Sprint(c.Least)
	if c.Most != c.Least {
		want += fmt.Sprintf(" to %d", c.Most)
	}
	if c.Unknown {
		return fmt.Sprintf("%s: %s: expected %s, not known: %s", c.Store, c.What, want, c.Why)
	}
	return fmt.Sprintf("%s: %s: expected %s, there are %d", c.Store, c.What, want, c.Actual)
}

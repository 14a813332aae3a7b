package workload

import "fmt"

// A RowCount compares the number of rows of one kind that a store gained over a run with the number
// that the acknowledged requests made. Requests under way or failed when the run ended may have
// made rows or not: Least and Most enclose the right number.
type RowCount struct {
	Store string `json:"store"` // its role
	What  string `json:"what"`  // "participants"
	Least int64  `json:"least"`
	Most  int64  `json:"most"`
	// Actual is the number of rows; with Unknown it is not known, and Why is the reason.
	Actual  int64  `json:"actual"`
	Unknown bool   `json:"unknown,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Right reports whether the count is known and as it should be.
func (c RowCount) Right() bool { return !c.Unknown && c.Least <= c.Actual && c.Actual <= c.Most }

// String returns the expected and the actual number.
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

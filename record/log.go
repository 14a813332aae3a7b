package record

import (
	"cmp"
	"slices"
)

// The kinds of the events of a search. A window's event has its reading (held, broken, unsound or
// undecided) in Text, the rule nearest to its limit in Rule, and the readings below. Once there is
// an interval, both kinds have its readings.
const (
	WindowEvent     = "window"
	SearchOverEvent = "search over"
)

// The readings of these events: users, and the value of the rule divided by its limit (1 at the
// limit).
const (
	WindowUsers    = "users" // mean of the window
	WindowRatio    = "ratio"
	WindowEstimate = "estimate" // that the search would have had if it had stopped here
	WindowLo       = "lo"
	WindowHi       = "hi"
)

// Routine reports whether an event is a reading that comes every second or window: a log for people
// leaves it out.
func (e Event) Routine() bool {
	return slices.Contains([]string{"users", "gates", "slo", WindowEvent}, e.Kind)
}

// Line is the text of an event for people.
func (e Event) Line() string {
	text := cmp.Or(e.Text, e.Phase)
	if e.Kind == "finding" && e.Rule != "" {
		text = e.Rule + ": " + text
	}
	return text
}

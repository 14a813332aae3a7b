package comparison

import (
	"strings"

	"plimsoll/record"
)

// EndedSearch returns the cause of a search's end if it lies outside the arm, and the reason why
// the run does not count in a comparison; both are empty otherwise. A bound set by other processes
// on the host is theirs, and a search that they or the generator ended before any level was
// confirmed is not evidence against the arm: it is a valid run by itself, but not half of a pair,
// because a block can be run again. A bound that the generator confirmed stands.
func EndedSearch(c *record.Capacity) (cause record.Cause, why string) {
	if c == nil || c.Kind != record.AtLeast && c.Kind != record.Unstable {
		return "", ""
	}
	gate, ok := strings.CutPrefix(c.Rule, record.ByGate)
	if !ok {
		return "", ""
	}
	found := "its lower bound says nothing of the arm"
	if c.Kind == record.Unstable {
		found = "no level was confirmed before that, which says nothing of the arm"
	}
	switch cause := record.GateCause(gate); {
	case cause == record.ByHost:
		return cause, "others on the host ended its search (gate " + gate + "): " + found
	case cause == record.ByGenerator && c.Kind == record.Unstable:
		return cause, "the load generator ended its search (gate " + gate + "): " + found
	}
	return "", ""
}

// VoidOf returns the second result of [EndedSearch].
func VoidOf(c *record.Capacity) string {
	_, why := EndedSearch(c)
	return why
}

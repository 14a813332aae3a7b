package record

import (
	"fmt"
	"strings"
)

// Answers holds the memory that the target's answers took over a run, and counts those beyond a
// limit (docs/validity.md).
type Answers struct {
	// Budget is the limit of the bytes that the answers and messages under way may hold at once, in
	// all processes with users together; Held is the largest number of bytes that they held.
	Budget int64 `json:"budget"`
	Held   int64 `json:"held"`
	// NoRoom counts the answers and messages that found no room in the budget.
	NoRoom int64 `json:"no_room,omitempty"`
	// The other fields count answers and messages beyond a limit of their kind. Each is an
	// operation, or a WebSocket, that failed with the class body, header or ws.
	Bodies    int64 `json:"bodies,omitempty"`
	Headers   int64 `json:"headers,omitempty"`
	Elements  int64 `json:"elements,omitempty"`
	Messages  int64 `json:"messages,omitempty"`
	Fragments int64 `json:"fragments,omitempty"`
	Controls  int64 `json:"controls,omitempty"`
	OfAll     bool  `json:"of_all,omitempty"` // as in Connections
}

// BudgetGate is the finding of a run whose byte budget was exhausted; LimitsGate is the finding of
// a run with answers beyond another limit.
const (
	BudgetGate = "budget"
	LimitsGate = "limits"
)

// Findings is red when the budget had no room for an answer: the operation failed for want of
// memory here, so the capacity of the target is unknown. It is amber when the target sent more than
// a limit allows: those operations failed, and rules judge them.
func (a Answers) Findings() (fs []Finding) {
	if a.NoRoom > 0 {
		fs = append(fs, Finding{
			Gate:  BudgetGate,
			Level: Red,
			Value: float64(a.NoRoom),
			Text: fmt.Sprintf(
				"%d answers or messages found no room in the byte budget of %s for what the target's answers take, and their operations failed here; raise placement.memory, or find out why the answers are so large",
				a.NoRoom,
				mebibytes(a.Budget),
			) + whose(a.OfAll),
		})
	}
	var parts []string
	sum := int64(0)
	for _, p := range []struct {
		n    int64
		what string
	}{
		{a.Bodies, "response bodies"}, {a.Headers, "response headers"}, {a.Elements, "lists of too many elements"}, {a.Messages, "WebSocket messages"},
		{a.Fragments, "messages of too many fragments"}, {a.Controls, "WebSockets with too many control frames"},
	} {
		if sum += p.n; p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", p.what, p.n))
		}
	}
	if sum > 0 {
		fs = append(fs, Finding{
			Gate:  LimitsGate,
			Level: Amber,
			Value: float64(sum),
			Text: fmt.Sprintf(
				"the target sent %d answers beyond a limit, each of which was cut off and failed (%s)",
				sum,
				strings.Join(parts, ", "),
			) + whose(a.OfAll),
		})
	}
	return fs
}

// String is a part of a sentence for persons.
func (a Answers) String() string {
	return fmt.Sprintf("%s at most, of a budget of %s", mebibytes(a.Held), mebibytes(a.Budget))
}

func mebibytes(n int64) string { return fmt.Sprintf("%.4gMB", float64(n)/(1<<20)) }

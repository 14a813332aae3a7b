package users

import (
	"fmt"
	"runtime"

	"plimsoll/load/wire"
	"plimsoll/record"
)

// Received sums up the arrivals at the users of a run.
type Received struct {
	// Stamps counts how the arrivals were dated, and connections.
	Stamps wire.Clocks
	// Refused counts answers and messages beyond a limit.
	Refused wire.Refusals
	// Budget is the number of bytes that answers under way may hold, 0 if there was no load, and
	// Held the most that they held at once.
	Budget, Held int64
	// OfAll is true if the counts include all runs of a block.
	OfAll bool
}

// Describe sets the fields of a manifest that describe connections and answers.
func (r Received) Describe(m *record.Manifest) {
	m.Clock = r.ClockText()
	m.Connections = r.connections()
	m.Answers = nil
	if r.Budget > 0 {
		m.Answers = r.answers()
	}
}

// Findings returns the findings about connections and answers.
func (r Received) Findings() (out []record.Finding) {
	if f, bad := r.connections().Finding(); bad {
		out = append(out, f)
	}
	return append(out, r.answers().Findings()...)
}

func (r Received) connections() *record.Connections {
	n := r.Stamps
	return &record.Connections{Requests: n.Requests, Repeated: n.Repeats, Reopened: n.Reopened,
		OfAll: r.OfAll}
}

func (r Received) answers() *record.Answers {
	n := r.Refused
	return &record.Answers{
		Budget: r.Budget, Held: r.Held, NoRoom: n.Budget, Bodies: n.Bodies, Headers: n.Headers,
		Elements: n.Elements,
		Messages: n.Messages, Fragments: n.Fragments, Controls: n.Controls, OfAll: r.OfAll,
	}
}

// ClockText describes in the manifest which clocks stamped the instants of a run, and how often
// each did (docs/method/time.md).
func (r Received) ClockText() string {
	n := r.Stamps
	s := fmt.Sprintf("CLOCK_MONOTONIC of each process that has users (%s); arrivals by the "+
		"kernel's receive stamps where it gives them", runtime.Version())
	if total := n.Kernel + n.Process; total > 0 {
		s += fmt.Sprintf(": %d of %d responses and messages", n.Kernel, total)
		if r.OfAll {
			s += record.OfAll
		}
	}
	if n.Steps > 0 {
		s += fmt.Sprintf("; the wall clock was set %d times, and for a second after each the read "+
			"counted as the arrival", n.Steps)
	}
	return s
}

package rig

import (
	"fmt"
	"runtime"

	"plimsoll/load/wire"
	"plimsoll/record"
)

// clockText describes in the manifest which clocks stamped the instants of a run, and how often each did
// (docs/method/time.md). ofAll is whether the counts are those of all runs of a block.
func clockText(n wire.Clocks, ofAll bool) string {
	s := fmt.Sprintf("CLOCK_MONOTONIC of each process that has users (%s); arrivals by the kernel's receive stamps where it gives them", runtime.Version())
	if total := n.Kernel + n.Process; total > 0 {
		s += fmt.Sprintf(": %d of %d responses and messages", n.Kernel, total)
		if ofAll {
			s += record.OfAll
		}
	}
	if n.Steps > 0 {
		s += fmt.Sprintf("; the wall clock was set %d times, and for a second after each the read counted as the arrival", n.Steps)
	}
	return s
}

func connections(n wire.Clocks, ofAll bool) *record.Connections {
	return &record.Connections{Requests: n.Requests, Repeated: n.Repeats, Reopened: n.Reopened, OfAll: ofAll}
}

// received sums up the users' connections in a trial.
type received struct {
	stamps  wire.Clocks
	answers *record.Answers // nil if there was no load
}

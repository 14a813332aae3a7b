package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"plimsoll/load/clock"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/target/lab"
)

// mostCrashFindings of one run stand in its validity; the events have all.
const mostCrashFindings = 8

// A CrashLog writes the crashes of a system's programs into a run.
type CrashLog struct {
	*deploy.CrashWatch
	clock *clock.Clock
	err   error // of the writer
}

// WatchCrashes begins to follow the programs of a system. Its findings have the time of the run's
// clock. The caller calls Findings.
func WatchCrashes(sys *deploy.System, w *record.Writer, run *clock.Clock) *CrashLog {
	c := &CrashLog{clock: run}
	c.CrashWatch = sys.WatchCrashes(func(x lab.Crash) {
		err := w.Event(record.Event{
			At: c.clock.Of(x.At), Kind: "crash", Rule: x.Role, Text: x.String(),
		})
		c.err = cmp.Or(c.err, err)
	})
	return c
}

// Findings looks for the last time and returns the run's findings. The target's programs still run.
func (c *CrashLog) Findings(phases []record.Phase) (out []record.Finding, err error) {
	kept, more, unread := c.End()
	for i, x := range kept {
		if i == mostCrashFindings {
			more += len(kept) - i
			break
		}
		at := c.clock.Of(x.At)
		out = append(out, record.Finding{
			Gate: record.CrashGate, Level: record.Red, Value: at.Seconds(), Unit: "s",
			Text: fmt.Sprintf("the target did not stay up: %s; seen at %s", x, whenIn(phases, at)),
		})
	}
	if more > 0 {
		out = append(out, record.Finding{
			Gate: record.CrashGate, Level: record.Red, Value: float64(more),
			Text: fmt.Sprintf("%d more crashes, ends and restarts of the target's programs; "+
				"see the events", more),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(unread)) {
		out = append(out, record.Finding{
			Gate: record.CrashGate, Level: record.Amber, Value: float64(unread[name]),
			Unit: "bytes",
			Text: fmt.Sprintf("%d bytes of the log of %s were not looked at for crashes: "+
				"it grew faster than it is read", unread[name], name),
		})
	}
	return out, c.err
}

// whenIn names a moment of a run.
func whenIn(phases []record.Phase, at time.Duration) string {
	for _, p := range phases {
		if at >= p.From && at < p.To {
			return fmt.Sprintf("%.1f s, in the phase %s", at.Seconds(), p.Name)
		}
	}
	return fmt.Sprintf("%.1f s", at.Seconds())
}

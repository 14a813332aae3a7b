package rig

import (
	"fmt"
	"time"

	"plimsoll/load/fleet"
	"plimsoll/record"
)

// clocksApart are the findings on deliveries between hosts of a run; none without agents elsewhere.
func clocksApart(d *fleet.RemoteDriver) []record.Finding {
	if d == nil {
		return nil
	}
	out := untimely(d.Untimely())
	if a, left := d.Apart(); left {
		out = append(out, measuredPart(a))
	}
	return out
}

// mostPairs is how many pairs of hosts are named.
const mostPairs = 5

// untimely voids a run in which messages arrived before they were sent: a clock is not what it was taken for. The list
// has the worst first.
func untimely(list []fleet.Untimely) (out []record.Finding) {
	for _, u := range list[:min(len(list), mostPairs)] {
		out = append(out, record.Finding{Gate: "clock", Level: record.Red, Value: u.By.Seconds() * 1e3, Limit: u.Within.Seconds() * 1e3, Unit: "ms",
			Text: fmt.Sprintf("%d deliveries from %s to %s came before they were sent, by up to %v, where their clocks may be off by %v: a clock was set, or is read wrongly",
				u.Count, u.From, u.To, rounded(u.By), rounded(u.Within))})
	}
	if more := len(list) - mostPairs; more > 0 {
		out = append(out, record.Finding{Gate: "clock", Level: record.Red, Text: fmt.Sprintf("deliveries between %d more pairs of hosts came before they were sent, by less", more)})
	}
	return out
}

// measuredPart says which deliveries the latency is of.
func measuredPart(a fleet.Apart) record.Finding {
	text := fmt.Sprintf("the clocks of two hosts may be off by %v, more than a tenth of the median of deliveries (%v): from %v of the run on, deliveries between hosts are not in the latency, in all %d; it has %d deliveries within hosts",
		rounded(a.Within), rounded(a.Median), a.Since.Round(time.Second), a.Left, a.Same)
	if a.Kept > 0 {
		text += fmt.Sprintf(" and %d between hosts of before", a.Kept)
	}
	return record.Finding{Gate: "clock", Level: record.Amber, Value: a.Within.Seconds() * 1e3, Limit: a.Median.Seconds() * 1e3 / 10, Unit: "ms",
		Text: text + ". Losses are counted of all"}
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

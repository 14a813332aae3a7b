package users

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/load/fleet"
	"plimsoll/record"
)

// stalls voids a run if an agent elsewhere stood still while it was measured: each agent is a
// generator with its own lag.
func stalls(list []fleet.Stall, phases []record.Phase) (out []record.Finding) {
	type worst struct {
		lag   time.Duration
		ticks int
	}
	agents := map[string]worst{}
	for _, st := range list {
		measured := slices.ContainsFunc(phases, func(p record.Phase) bool {
			return (p.Name == "measure" || p.Name == "search") && st.At > p.From && st.At <= p.To
		})
		if measured {
			w := agents[st.Agent]
			agents[st.Agent] = worst{max(w.lag, st.Lag), w.ticks + 1}
		}
	}
	for name, w := range agents {
		out = append(out, record.Finding{
			Gate:  "lag",
			Level: record.Red,
			Value: milliseconds(w.lag),
			Limit: 1000,
			Unit:  "ms",
			Text: fmt.Sprintf(
				"%s stood still: it was late by up to %v in %d ticks of the measured time",
				name,
				w.lag.Round(time.Millisecond),
				w.ticks,
			),
		})
	}
	slices.SortFunc(out, func(a, b record.Finding) int { return strings.Compare(a.Text, b.Text) })
	return out
}

// mostPairs is the largest number of pairs of hosts that are named.
const mostPairs = 5

// untimely voids a run if messages arrived before they were sent: a clock was misjudged. The
// list has the worst first.
func untimely(list []fleet.Untimely) (out []record.Finding) {
	for _, u := range list[:min(len(list), mostPairs)] {
		out = append(out, record.Finding{
			Gate:  "clock",
			Level: record.Red,
			Value: milliseconds(u.By),
			Limit: milliseconds(u.Within),
			Unit:  "ms",
			Text: fmt.Sprintf(
				"%d deliveries from %s to %s came before they were sent, by up to %v, "+
					"where their clocks may be off by %v: a clock was set, or is read wrongly",
				u.Count,
				u.From,
				u.To,
				rounded(u.By),
				rounded(u.Within),
			),
		})
	}
	if more := len(list) - mostPairs; more > 0 {
		out = append(out, record.Finding{
			Gate:  "clock",
			Level: record.Red,
			Text: fmt.Sprintf(
				"deliveries between %d more pairs of hosts came before they were sent, by "+
					"less",
				more,
			),
		})
	}
	return out
}

// measuredPart names the deliveries that are in the latency.
func measuredPart(a fleet.Apart) record.Finding {
	text := fmt.Sprintf(
		"the clocks of two hosts may be off by %v, more than a tenth of the median "+
			"of deliveries (%v): from %v of the run on, deliveries between hosts are not in the latency, "+
			"in all %d; it has %d deliveries within hosts",
		rounded(a.Within),
		rounded(a.Median),
		a.Since.Round(time.Second),
		a.Left,
		a.Same,
	)
	if a.Kept > 0 {
		text += fmt.Sprintf(" and %d between hosts of before", a.Kept)
	}
	return record.Finding{
		Gate: "clock", Level: record.Amber, Value: milliseconds(a.Within),
		Limit: milliseconds(a.Median) / 10, Unit: "ms",
		Text: text + ". Losses are counted of all",
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

func rounded(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

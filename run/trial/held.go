package trial

import (
	"cmp"
	"fmt"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
)

// held gathers the held windows of a search, while the number of wanted users stood still,
// no gate was red and every rule held. They are folded into one slice, so that a long search takes
// no more memory than a short one.
type held struct {
	until   time.Duration // the end of the last window; windows do not overlap
	span    time.Duration
	windows int
	worst   slice
	sum     slice
	all     measureSecond
	bursts  Reading // the worst window's: levels differ in their mean
}

// add takes in a window that was sound and in which every rule held, if its users stood still.
func (h *held) add(w stretch) {
	if w.before == nil || len(w.in) == 0 || w.first < h.until {
		return
	}
	for _, sl := range w.in {
		if sl.desired != w.before.desired {
			return
		}
	}
	if h.windows == 0 {
		h.bursts = readBursts(w)
		h.worst = slice{desired: w.in[0].desired, active: w.in[0].active}
	} else if rd := readBursts(w); rd.Why == "" && (h.bursts.Why != "" || rd.Value > h.bursts.Value) {
		h.bursts = rd
	}
	for _, sl := range w.in {
		h.worst.keepWorst(sl)
		h.all.add(sl.windows)
		h.sum.fold(sl)
	}
	h.sum.counts.Begun = nil // of the windows by themselves
	h.windows++
	h.span += w.span()
	h.until = w.in[len(w.in)-1].at
}

// readHeld takes a gate's reading over the held windows: while users come and go, or the target is
// overloaded, it does not describe the generator.
func (r *run) readHeld(g plan.Gate) Reading {
	h := &r.stood
	_, counts := r.Driver.(Counter)
	last := readers[g.Name](r.trail.last(r.Window))
	switch {
	case last.Inapplicable: // with held windows or without
		return last
	case h.windows == 0:
		return Unread(
			"the search had no window in which the number of users stood still and every rule held",
		)
	case !counts && g.Over == plan.WholePhase:
		return Unread("this driver does not count actions")
	case g.Name == "bursts":
		return h.bursts
	}
	sl := h.sum
	sl.desired, sl.active, sl.windows = h.worst.desired, h.worst.active, h.all.sorted()
	return readers[g.Name](stretch{in: []slice{sl}})
}

// gateSearch judges at the end of a search the gates that do not end one. Beyond a limit they are
// amber, even beyond red: in the held windows every rule has held, and the target may have had a
// part in the reading. But a script that throws while every rule holds did not do what was asked.
func (r *run) gateSearch() {
	for i := range r.gates {
		g := &r.gates[i]
		switch {
		case g.Search == plan.HeldWindows:
			rd := r.readHeld(g.Gate)
			if rd.Why != "" {
				if g.value == nil {
					g.why, g.na = rd.Why, rd.Inapplicable
				}
				continue
			}
			if g.value == nil {
				g.value = &rd.Value
				g.seconds = int(r.stood.span / time.Second)
				g.worst = rd.Value
			}
			r.amberInSearch(g, rd.Value, fmt.Sprintf(
				"%s: %s in %d windows of the search in which the number of users stood still and every rule held%s",
				g.What,
				g.Format(rd.Value),
				r.stood.windows,
				noted(r.thrown(g.Gate)),
			))
		case g.Search == plan.EachSecond && g.value == nil && g.red+g.amber > record.Tolerated(g.seconds):
			r.amberInSearch(g, g.worst, fmt.Sprintf(
				"%s: beyond the limit in %d of %d seconds of the search, worst %s",
				g.What, g.red+g.amber, g.seconds, g.Format(g.worst)))
		}
	}
}

// amberInSearch adds the finding of a gate whose reading is beyond a limit.
func (r *run) amberInSearch(g *watched, value float64, text string) {
	level := g.Gate.Level(value)
	if level == "" {
		return
	}
	if g.Name != scriptGate {
		level = record.Amber
	}
	g.level = cmp.Or(g.level, level)
	r.out.Validity.Add(g.finding(level, value, text))
}

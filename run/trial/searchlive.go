package trial

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/record"
	"plimsoll/run/capacity"
	"plimsoll/run/live"
)

// interval is the estimate of a search and its interval, in users; zero before there is one.
type interval struct{ users, lo, hi float64 }

// searched keeps a window of the search, for those who watch and on disk.
func (r *run) searched(w stretch, rds []capacity.RuleReading, unsound bool) {
	v := &r.watching
	v.seen++
	win := live.SearchWindow{
		N:       v.seen,
		At:      r.now().Seconds(),
		Users:   w.meanUsers(),
		Reading: live.Held,
	}
	for _, rd := range rds {
		if rd.Warning {
			continue
		}
		switch st := rd.Status(); {
		case st == capacity.Violated:
			win.Reading = live.Broken
		case st != capacity.Healthy && win.Reading == live.Held:
			win.Reading = live.Undecided
		}
		if q := rd.Ratio(); q > win.Ratio {
			win.Ratio, win.Rule = q, rd.Rule
		}
	}
	if unsound {
		win.Reading = live.Unsound
	}
	if v.decision.Phase != capacity.Ramp {
		if res := v.search.Result(); res.Kind == capacity.Estimate && !math.IsNaN(res.Lo) &&
			!math.IsInf(res.Hi, 0) &&
			!math.IsNaN(res.Hi) {
			v.best = interval{math.Round(res.Users), math.Round(res.Lo), math.Round(res.Hi)}
		}
	}
	r.event(record.Event{
		Kind:  record.WindowEvent,
		Phase: r.phase,
		Rule:  win.Rule,
		Text:  win.Reading,
		Readings: v.best.into(map[string]float64{
			record.WindowUsers: win.Users, record.WindowRatio: win.Ratio}),
	})
	v.windows = append(v.windows, win)
	if len(v.windows) > shownWindows {
		v.windows = slices.Delete(v.windows, 0, 1)
	}
}

// into adds the interval to the readings of an event, if there is one.
func (b interval) into(readings map[string]float64) map[string]float64 {
	if b != (interval{}) {
		readings[record.WindowEstimate] = b.users
		readings[record.WindowLo] = b.lo
		readings[record.WindowHi] = b.hi
	}
	return readings
}

// searchOver puts the result of the search into the log.
func (r *run) searchOver() {
	c := r.out.Capacity
	if c == nil {
		return
	}
	e := record.Event{
		Kind:  record.SearchOverEvent,
		Phase: r.phase,
		Text:  "the search found " + resultText(c),
	}
	if r.watching.best = (interval{}); c.Kind == record.Estimate {
		r.watching.best = interval{c.Users, c.Lo, c.Hi}
		e.Readings = r.watching.best.into(map[string]float64{})
	}
	r.event(e)
}

// resultText is the result of a search, with its interval.
func resultText(c *record.Capacity) string {
	text := record.CapacityText(c.Kind, c.Users)
	if c.Kind == record.Estimate {
		text += fmt.Sprintf(" (%.0f to %.0f)", c.Lo, c.Hi)
	}
	return text
}

// searchNow is the search with the result that it would have had if it had stopped at its last
// window.
func (r *run) searchNow(sl slice) *live.SearchNow {
	w := &r.watching
	s := &live.SearchNow{
		Level:    float64(sl.desired),
		Step:     w.decision.Phase,
		Why:      w.decision.Why,
		Forecast: w.forecast,
		Windows:  append([]live.SearchWindow{}, w.windows...),
		Estimate: w.best.users,
		Lo:       w.best.lo,
		Hi:       w.best.hi,
	}
	if c := r.out.Capacity; c != nil {
		s.Step, s.Why, s.Result = capacity.Done, c.Why, resultText(c)
		return s
	}
	if w.search != nil {
		s.Bound, _ = w.search.Bound()
	}
	return s
}

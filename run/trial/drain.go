package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// A Drainer is a [Driver] whose users have their operations under way in other processes. Requests
// by Mark and Censor take effect with the next Collect, which also brings the operations that Open
// returns.
type Drainer interface {
	// Mark is [measure.Registry.Mark] at an offset from the epoch.
	Mark(at time.Duration)
	// Open is [measure.Registry.Open], added up over the processes.
	Open() int
	// Censor is [measure.Registry.Censor] with an age taken at an offset from the epoch.
	Censor(at, timeout time.Duration)
}

// A Ticker is a [Driver] whose reports are of ticks, so that one that comes late is in its own.
type Ticker interface {
	// Tick says that the next Collect is of the tick that ends at an offset from the epoch.
	Tick(at time.Duration)
}

// An Ender is a [Drainer] whose processes go on by themselves while they hear nothing.
type Ender interface {
	// Ends says at which offset from the epoch the stretch under way ends at the latest: no process
	// sets a mark beyond it by itself. 0: that is not known, and the end of each tick is a mark. It
	// takes effect with the next Collect.
	Ends(at time.Duration)
}

const (
	// drainSlack is the time that a drain waits beyond an operation's timeout: the client ends the
	// operation at that time, and records it.
	drainSlack = time.Second
	// drainLook and drainAsk are the periods at which a drain looks whether it is over, here and in
	// other processes.
	drainLook = 2 * time.Millisecond
	drainAsk  = 50 * time.Millisecond
)

// tails holds the operations that were under way when the measured phase ended, by name.
type tails struct {
	late, open, after measureSecond
}

// ends tells the driver when the stretch under way ends; 0 for not.
func (r *run) ends(at time.Duration) {
	if d, ok := r.Driver.(Ender); ok {
		d.Ends(at)
	}
}

// inFlight returns how many operations are under way that were due before the last mark.
func (r *run) inFlight() int {
	n := r.Registry.Open()
	if d, ok := r.Driver.(Drainer); ok {
		n += d.Open()
	}
	return n
}

// cut takes in the recorded operations. Those due before the mark belong to this slice too, unless
// the mark belongs to a phase that is being drained.
func (r *run) cut() []*measure.Window {
	p := measure.Split(r.Registry.Cut())
	if r.tails == nil {
		if len(p.Late) == 0 {
			return p.InTime
		}
		var all measureSecond
		all.add(p.InTime)
		all.add(p.Late)
		return all.sorted()
	}
	r.tails.late.add(p.Late)
	r.tails.open.add(p.Open)
	r.tails.after.add(p.After)
	return p.InTime
}

// drain waits, at most for an operation's timeout, until the operations that were under way when
// the measured phase ended have ended, and counts them there: a target that stood still at the end
// would otherwise look as fast as before. The users go on meanwhile, so that these end under the
// load under which they began. Operations that are still under way after that enter with their age.
func (r *run) drain(ctx context.Context) error {
	end := r.now()
	r.tails = new(tails)
	if err := r.glance(ctx); err != nil {
		return err
	}
	waited := r.Clock.Now() - end
	if r.inFlight() > 0 && r.Timeout > 0 {
		r.beginPhase("drain")
		for r.inFlight() > 0 && r.now()-end < r.Timeout+drainSlack {
			if err := r.advance(ctx); err != nil {
				return err
			}
		}
		waited = r.now() - end
		if err := r.stay(ctx, wholeSeconds(r.now())-r.now(), nil); err != nil {
			return err
		}
		r.endPhase()
	}
	if r.inFlight() > 0 {
		at := max(r.now(), end)
		r.Registry.Censor(at, r.Timeout)
		if d, ok := r.Driver.(Drainer); ok {
			d.Censor(at, r.Timeout)
		}
	}
	if c, ok := r.Driver.(Collector); ok {
		if err := c.Collect(ctx); err != nil {
			return err
		}
	}
	r.Registry.Merge(r.cut())
	r.endDrain(end, waited)
	return r.werr
}

// glance waits for a part of a tick: most drains are over by then, and cost the run no time.
func (r *run) glance(ctx context.Context) error {
	c, far := r.Driver.(Collector)
	every := drainLook
	if far {
		every = drainAsk
	}
	for until := r.now() + r.tick/2; ; {
		if far {
			if err := c.Collect(ctx); err != nil {
				return err
			}
		}
		next := r.Clock.Now() + every
		if r.inFlight() == 0 || next > until {
			return nil
		}
		if err := r.Clock.SleepUntil(ctx, next); err != nil {
			return err
		}
	}
}

// endDrain counts the operations that were under way at the end of the measured phase in its last
// second, and writes the windows that were held back.
func (r *run) endDrain(end, waited time.Duration) {
	t := r.tails
	r.tails = nil
	tail := &record.Tail{Waited: waited}
	for name, w := range t.late {
		if workload.Beyond(name) {
			continue // they are in the series of their operation
		}
		tail.Add(name, record.TailOp{Drained: w.Count(), OK: w.Classes[measure.OK]})
	}
	for name, w := range t.open {
		tail.Add(name, record.TailOp{Open: w.Response.Count(), Least: w.Response.Min()})
	}
	var all measureSecond
	all.add(t.late.sorted())
	all.add(t.open.sorted())
	if ws := all.sorted(); len(ws) > 0 {
		r.keep(r.Writer.Windows(int((end-1)/time.Second), ws))
		if len(r.measured.in) > 0 {
			sl := &r.measured.in[0]
			all.add(sl.windows)
			sl.windows = all.sorted()
		}
	}
	r.omission(end, t)
	for _, f := range r.held {
		r.keep(r.Writer.Windows(f.second, f.windows))
	}
	r.held = nil
	if ph := r.measuredPhase(); ph != nil {
		ph.Tail = tail
	}
	sum := tail.Of(nil)
	drained, open := sum.Drained, sum.Open
	if drained+open == 0 {
		return
	}
	text := fmt.Sprintf(
		"%d operations were under way when the measured phase ended, and have ended since, within %v; they count in it",
		drained,
		waited.Round(time.Millisecond),
	)
	if open > 0 {
		text += fmt.Sprintf(
			"; %d have not, and count with their age: their latencies are at least that",
			open,
		)
		r.out.Validity.Add(record.Finding{
			Gate:  "drain",
			Level: record.Amber,
			Value: float64(open),
			Text:  text,
		})
	}
	r.event(record.Event{Kind: "note", Text: text})
}

// measuredPhase returns the measured phase when it is over, otherwise nil.
func (r *run) measuredPhase() *record.Phase {
	i := slices.IndexFunc(r.out.Phases, func(p record.Phase) bool { return p.Name == "measure" })
	if i < 0 {
		return nil
	}
	return &r.out.Phases[i]
}

// cutOff is for a run that ends in its measured phase: it does not wait, and operations under way
// enter with their age at the last tick.
func (r *run) cutOff() {
	if r.phase != "measure" && r.tails == nil {
		return
	}
	end := r.now()
	if r.tails == nil {
		if _, far := r.Driver.(Drainer); far {
			return // the agents may be gone, and get no more requests
		}
		r.sec.add(r.cut())
		r.tails = new(tails)
	} else if ph := r.measuredPhase(); ph != nil {
		end = ph.To
	}
	r.Registry.Censor(r.now(), r.Timeout)
	r.sec.add(r.cut())
	if r.phase == "measure" {
		r.endPhase()
	}
	r.endDrain(end, r.now()-end)
	r.censored = true
}

// A frame is a second that is written when the one before it is complete.
type frame struct {
	second  int
	windows []*measure.Window
}

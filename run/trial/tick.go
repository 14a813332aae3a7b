package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// stay ticks for d, calling each after every tick until it returns false.
func (r *run) stay(ctx context.Context, d time.Duration, each func() bool) error {
	for end := r.now() + d; r.now() < end; {
		if err := r.advance(ctx); err != nil {
			return err
		}
		if each != nil && !each() {
			return nil
		}
	}
	return nil
}

// advance waits for the next tick and takes in the recorded data.
func (r *run) advance(ctx context.Context) error {
	if err := errors.Join(r.storm(ctx), r.steer()); err != nil {
		return err
	}
	if err := r.Clock.SleepUntil(ctx, r.now()+r.tick); err != nil {
		return err
	}
	r.n++
	if r.tails == nil {
		r.Registry.Mark(r.now())
		if d, ok := r.Driver.(Drainer); ok {
			d.Mark(r.now())
		}
	}
	if t, ok := r.Driver.(Ticker); ok {
		t.Tick(r.now())
	}
	if c, ok := r.Driver.(Collector); ok {
		if err := c.Collect(ctx); err != nil {
			return err
		}
	}
	desired, active, _ := r.Driver.Users()
	sl := slice{at: r.now(), desired: desired, active: active, windows: r.cut()}
	sl.userSeconds = float64(active) * r.tick.Seconds()
	if n := len(r.trail.slices); n > 0 {
		sl.userSeconds = float64(active+r.trail.slices[n-1].active) / 2 * r.tick.Seconds()
	}
	if c, ok := r.Driver.(Counter); ok {
		sl.counts = c.Activity()
	}
	sl.health = healthOf(r.Signals.Health(desired, r.opsPerSecond(sl)))
	sl.busy = r.busy()
	for _, w := range sl.windows {
		if w.Name != workload.Delivery && !workload.Beyond(w.Name) {
			r.errs += w.Errors()
		}
	}
	r.hopes.add(r.now(), sl.windows)
	r.answers(sl.windows)
	if r.now()%time.Second == 0 {
		r.Ledger.Settle(time.Now())
	}
	sl.messages = r.Ledger.Count()
	r.back()
	r.trail.push(sl, r.trailing)
	r.sec.add(sl.windows)
	if r.now()%time.Second == 0 {
		if r.CPU != nil {
			r.watching.cpu = r.CPU()
		}
		r.count(r.sec)
		r.export(ctx, sl)
		r.flush(false)
		r.progress(sl)
		r.event(record.Event{Kind: "users", Users: active, Phase: r.phase})
		r.watch()
		r.publish(sl)
	}
	return r.werr
}

// opsPerSecond is the rate of all operations that ended in about the last second.
func (r *run) opsPerSecond(sl slice) float64 {
	n, from := uint64(0), sl.at-r.tick
	count := func(sl slice) {
		for _, w := range sl.windows {
			if w.Name != workload.Delivery && !workload.Beyond(w.Name) {
				n += w.Count()
			}
		}
	}
	count(sl)
	for i := len(r.trail.slices) - 1; i > 0 && sl.at-from < time.Second; i-- {
		from = r.trail.slices[i].at - r.tick
		count(r.trail.slices[i])
	}
	return float64(n) / (sl.at - from).Seconds()
}

// flush writes the second that has just ended, or with last the begun part of the current one.
func (r *run) flush(last bool) {
	if last {
		if r.censored {
			p := measure.Split(r.Registry.Cut())
			r.sec.add(p.InTime)
			r.sec.add(slices.DeleteFunc(p.Late, func(w *measure.Window) bool {
				return w.Name != workload.Delivery
			}))
		} else {
			r.sec.add(r.cut())
		}
		if len(r.sec) == 0 {
			return
		}
	}
	second := int(r.now()/time.Second) - 1
	if last {
		second = int(r.now() / time.Second)
	}
	if r.tails != nil {
		r.held = append(r.held, frame{second, r.sec.sorted()})
	} else {
		r.keep(r.Writer.Windows(second, r.sec.sorted()))
	}
	r.sec = measureSecond{}
}

// event writes an event of this moment.
func (r *run) event(e record.Event) {
	e.At = r.now()
	r.keep(r.Writer.Event(e))
}

// red adds a finding that makes the run invalid, amber one that it is to be read with.
func (r *run) red(gate, text string) {
	r.out.Validity.Add(record.Finding{Gate: gate, Level: record.Red, Text: text})
}

func (r *run) amber(gate, text string) {
	r.out.Validity.Add(record.Finding{Gate: gate, Level: record.Amber, Text: text})
}

func (r *run) keep(err error) {
	if err != nil && r.werr == nil {
		r.werr = fmt.Errorf("writing the run: %w", err)
	}
}

// note writes an error as an event, once a second at most for each kind.
func (r *run) note(what string, err error) {
	if key := what + err.Error(); !r.seen[key] {
		r.seen[key] = true
		r.event(record.Event{Kind: "error", Text: what + ": " + err.Error()})
	}
}

func (r *run) progress(sl slice) {
	if r.Progress == nil {
		return
	}
	second := r.trail.last(time.Second)
	w := second.steady()
	r.Progress(Progress{
		Phase: r.phase, Active: sl.active,
		OpsPerSecond: float64(w.Count()) / second.span().Seconds(), P95: w.Response.Quantile(0.95),
		Errors: r.errs, Left: max(r.total-r.now(), 0),
	})
}

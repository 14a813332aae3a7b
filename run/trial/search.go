package trial

import (
	"context"
	"fmt"
	"math"
	"time"

	"plimsoll/record"
	"plimsoll/run/capacity"
)

// patience is for how many windows without a break a search waits for the generator and its host to be healthy again.
// It gives up sooner when a fifth of its time was spent so.
const patience = 4

// targets is the role whose CPU utilization predicts a limit of the search.
const targets = "app"

// search brings the users to the start and lets the step function decide until it is done.
func (r *run) search(ctx context.Context) error {
	r.beginPhase("search")
	defer r.endPhase()
	defer r.searchOver()
	defer r.gateSearch()
	seen := r.busySeconds()
	defer func() {
		if r.out.Capacity != nil && r.busySeconds() == seen {
			r.out.Validity.Add(record.Finding{Gate: "core", Level: record.Red, Text: "the CPU use of the generator was not measured in the search"})
		}
	}()
	if r.Bounded == nil {
		r.beginConduct()
		defer r.endConduct()
	}
	if err := r.Driver.SetUsers(r.Search.Start, r.Search.Rush); err != nil {
		return err
	}
	// The first window must hold nothing of the way there.
	if err := r.stay(ctx, r.Search.Rush+r.Window, nil); err != nil {
		return err
	}
	for _, s := range r.rules {
		s.at, s.values = nil, nil // nor old values of rules
	}
	c, err := capacity.New(r.Search.Config)
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	forecast, err := r.Search.Forecast()
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	defer func() {
		if r.out.Capacity != nil {
			r.out.Capacity.Forecast = &record.Forecast{Ramp: forecast.Ramp, Least: forecast.Least, Most: forecast.Most, Reach: math.Floor(forecast.Reach)}
			if p, ok := c.Predicted(); ok {
				r.out.Capacity.Forecast.CPU = math.Floor(p.Users)
			}
		}
	}()
	r.event(record.Event{Kind: "note", Text: "forecast of the search: " + forecast.String()})
	r.watching.forecast, r.watching.search = forecast.String(), c
	var healthy float64 // the most users of a sound window in which every rule held
	redSince, redFor := time.Duration(-1), time.Duration(0)
	var fault record.Finding
	foreseen := ""
	began, last := r.now(), r.now()
	holding := false
	for {
		if err := r.advance(ctx); err != nil {
			return err
		}
		if behind := r.Clock.Now() - r.now(); r.Hold > 0 && behind > r.Hold {
			if !holding { // a step would be taken at once for a tick that is long over
				r.event(record.Event{Kind: "note", Phase: r.phase,
					Text: fmt.Sprintf("the search holds its level: reports of an agent are %v late", behind.Round(100*time.Millisecond))})
			}
			holding = true
			c.Skip(r.now()) // these seconds are not judged
			if redSince >= 0 {
				redSince += r.tick
			}
			continue
		}
		holding = false
		w := r.trail.last(r.Window)
		f, red := r.generatorFault(w)
		obs := capacity.Observation{At: r.now(), Users: w.users(), MeanUsers: w.meanUsers(), Readings: r.readings(ctx, w, true), Unsound: red}
		obs.Utilization, _ = w.cpu(targets)
		r.observed(obs.Readings)
		act := c.Step(obs)
		r.watching.decision = act
		if text := c.Foreseen(); text != foreseen {
			foreseen = text
			r.event(record.Event{Kind: "note", Text: text, Phase: r.phase})
		}
		if r.now()-last >= r.Window {
			last = r.now()
			r.writeReadings(obs.Readings, act)
			r.searched(w, obs.Readings, red)
		}
		if red {
			if redSince < 0 {
				redSince = r.now()
			}
			redFor, fault = redFor+r.tick, f
		} else {
			redSince = -1
			if carried(obs.Readings) {
				healthy = max(healthy, w.meanUsers())
				r.stood.add(w)
			}
		}
		much := redFor > (r.now()-began)/5
		if redSince >= 0 && r.now()-redSince >= patience*r.Window || much && redFor >= patience*r.Window || much && act.Done {
			bound, held := c.Bound()
			r.out.Capacity = atLeast(bound, healthy, held, fault)
			if u, ok := c.Contradicted(); ok && r.out.Capacity.Kind == record.AtLeast {
				r.out.Capacity = contradicted(u, r.out.Capacity)
				r.out.Validity.Add(record.Finding{Gate: "search", Level: record.Amber, Text: "the search is unstable: " + u.Why})
			}
			// The search's answer is a bound that is true; only one without any window that was sound and healthy
			// voids the run.
			if r.out.Capacity.Kind != record.Invalid {
				fault.Level, fault.Text = record.Amber, fault.Text+"; this ended the search"
			}
			r.out.Validity.Add(fault)
			r.mark(fault)
			return nil
		}
		if act.Done {
			res := c.Result()
			r.out.Capacity = capacityOf(res)
			for _, w := range res.Warnings {
				r.out.Validity.Add(record.Finding{Gate: "rules", Level: record.Amber, Text: w})
			}
			switch r.out.Capacity.Kind {
			case record.Invalid:
				r.out.Validity.Add(record.Finding{Gate: "search", Level: record.Red, Text: r.out.Capacity.Why})
			case record.Unstable:
				r.out.Validity.Add(record.Finding{Gate: "search", Level: record.Amber, Text: "the search is unstable: " + r.out.Capacity.Why})
			}
			return nil
		}
		// A step is spread over the tick; the ramp is a step each tick.
		if err := r.Driver.SetUsers(act.Users, r.tick); err != nil {
			return err
		}
	}
}

// atLeast is the capacity of a search that the generator ended: the bound, the most users of sound windows that were
// held for so long without a violation. Without a bound it is unstable, and without a sound window in which every
// rule held, whose most users are healthy, invalid.
func atLeast(bound, healthy float64, held time.Duration, f record.Finding) *record.Capacity {
	c := &record.Capacity{Kind: record.AtLeast, Users: math.Floor(bound), Lo: math.Floor(bound), Confirmed: held, Rule: record.ByGate + f.Gate,
		Stopped: record.ByHealth + f.Text, Why: "the load generator was held up: " + f.Text}
	if record.Foreign(f.Gate) {
		c.Why = "the host was not the target's alone: " + f.Text
	}
	if record.GateCause(f.Gate) == record.ByEither {
		c.Why = "the generator's host was at its limit: " + f.Text
	}
	switch {
	case bound > 0:
		c.Reached = math.Floor(healthy)
	case healthy > 0:
		c.Kind, c.Reached, c.Confirmed = record.Unstable, math.Floor(healthy), 0
		c.Why += fmt.Sprintf("; every rule held at %.0f users, but no level was held without a violation for the %v that a bound takes", healthy, held.Round(100*time.Millisecond))
	default:
		c.Kind, c.Confirmed, c.Why = record.Invalid, 0, c.Why+", and in no sound window before that did every rule hold"
	}
	return c
}

// contradicted is the capacity of such a search whose bound does not stand: the unstable result u, with the cause
// that ended the bound.
func contradicted(u capacity.Result, bound *record.Capacity) *record.Capacity {
	c := capacityOf(u)
	c.Rule, c.Stopped, c.Why = bound.Rule, bound.Stopped, bound.Why+"; "+u.Why
	return c
}

func capacityOf(res capacity.Result) *record.Capacity {
	c := &record.Capacity{Kind: string(res.Kind), Users: res.Users, Lo: res.Lo, Hi: res.Hi, Rule: res.Rule,
		Estimator: res.Estimator, Stopped: res.Stopped, Why: res.Why, Recommended: res.Recommended,
		Reached: res.Reached, Held: res.Held, Confirmed: res.Confirmed}
	for _, m := range res.Margins {
		if m.Windows > 0 {
			c.Margins = append(c.Margins, record.RuleMargin{Rule: m.Rule, Value: m.Ratio, Limit: 1})
		}
	}
	return c
}

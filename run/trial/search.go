package trial

import (
	"context"
	"fmt"
	"math"
	"time"

	"plimsoll/record"
	"plimsoll/run/capacity"
)

// patience is the number of windows in a row for which a search waits for the generator and its
// host to be healthy again. It gives up sooner when it spent a fifth of its time so.
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
			r.red("core", "the CPU use of the generator was not measured in the search")
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
	defer r.keepForecast(c, forecast)
	r.event(record.Event{Kind: "note", Text: "forecast of the search: " + forecast.String()})
	r.watching.forecast, r.watching.search = forecast.String(), c
	s := searching{run: r, Search: c, began: r.now(), last: r.now(), redSince: -1}
	for {
		if err := r.advance(ctx); err != nil {
			return err
		}
		if s.behind() {
			continue
		}
		users, done := s.step(ctx)
		if done {
			return nil
		}
		// A step is spread over the tick; the ramp is a step each tick.
		if err := r.Driver.SetUsers(users, r.tick); err != nil {
			return err
		}
	}
}

// keepForecast adds to the result how long the search was to take, and the limit that it predicted.
func (r *run) keepForecast(c *capacity.Search, f capacity.SearchTime) {
	if r.out.Capacity == nil {
		return
	}
	kept := &record.Forecast{Ramp: f.Ramp, Least: f.Least, Most: f.Most, Reach: math.Floor(f.Reach)}
	if p, ok := c.Predicted(); ok {
		kept.CPU = math.Floor(p.Users)
	}
	r.out.Capacity.Forecast = kept
}

// searching is a search under way.
type searching struct {
	*run
	*capacity.Search
	began, last time.Duration // last is when a window was written
	healthy     float64       // the most users of a sound window in which every rule held
	redSince    time.Duration // since when a gate has been red; -1 while none is
	redFor      time.Duration // in all
	fault       record.Finding
	foreseen    string
	holding     bool
}

// behind reports whether the tick is too late to decide anything: a step would be taken at once for
// a tick that is long over.
func (s *searching) behind() bool {
	late := s.Clock.Now() - s.now()
	if s.Hold <= 0 || late <= s.Hold {
		s.holding = false
		return false
	}
	if !s.holding {
		s.event(record.Event{
			Kind:  "note",
			Phase: s.phase,
			Text: fmt.Sprintf(
				"the search holds its level: reports of an agent are %v late",
				late.Round(100*time.Millisecond),
			),
		})
	}
	s.holding = true
	s.Skip(s.now()) // these seconds are not judged
	if s.redSince >= 0 {
		s.redSince += s.tick
	}
	return true
}

// step judges the window that ends now and returns how many users to have next, or that the search
// is over.
func (s *searching) step(ctx context.Context) (users int, done bool) {
	w := s.trail.last(s.Window)
	f, red := s.generatorFault(w)
	obs := capacity.Observation{At: s.now(), Users: w.users(), MeanUsers: w.meanUsers(),
		Readings: s.readings(ctx, w, true), Unsound: red}
	obs.Utilization, _ = w.cpu(targets)
	if s.series != nil {
		s.series.last = obs.Readings
	}
	act := s.Step(obs)
	s.watching.decision = act
	if text := s.Foreseen(); text != s.foreseen {
		s.foreseen = text
		s.event(record.Event{Kind: "note", Text: text, Phase: s.phase})
	}
	if s.now()-s.last >= s.Window {
		s.last = s.now()
		s.writeReadings(obs.Readings, act)
		s.searched(w, obs.Readings, red)
	}
	if red {
		if s.redSince < 0 {
			s.redSince = s.now()
		}
		s.redFor, s.fault = s.redFor+s.tick, f
	} else {
		s.redSince = -1
		if carried(obs.Readings) {
			s.healthy = max(s.healthy, w.meanUsers())
			s.stood.add(w)
		}
	}
	long := patience * s.Window
	much := s.redFor > (s.now()-s.began)/5
	switch {
	case s.redSince >= 0 && s.now()-s.redSince >= long, much && s.redFor >= long, much && act.Done:
		s.giveUp()
		return 0, true
	case act.Done:
		s.found(s.Result())
		return 0, true
	}
	return act.Users, false
}

// giveUp ends the search by the fault of the generator or its host.
func (s *searching) giveUp() {
	bound, long := s.Bound()
	c := atLeast(bound, s.healthy, long, s.fault)
	if u, ok := s.Contradicted(); ok && c.Kind == record.AtLeast {
		c = contradicted(u, c)
		s.amber("search", "the search is unstable: "+u.Why)
	}
	s.out.Capacity = c
	// The search's answer is a bound that is true; only one without any window that was sound and
	// healthy voids the run.
	if c.Kind != record.Invalid {
		s.fault.Level, s.fault.Text = record.Amber, s.fault.Text+"; this ended the search"
	}
	s.out.Validity.Add(s.fault)
	s.mark(s.fault)
}

// found takes over the result of a search that ended by itself.
func (s *searching) found(res capacity.Result) {
	c := capacityOf(res)
	s.out.Capacity = c
	for _, w := range res.Warnings {
		s.amber("rules", w)
	}
	switch c.Kind {
	case record.Invalid:
		s.red("search", c.Why)
	case record.Unstable:
		s.amber("search", "the search is unstable: "+c.Why)
	}
}

// atLeast is the capacity of a search that the generator ended: the bound, the most users of sound
// windows that were held for so long without a violation. Without a bound it is unstable, and
// without a sound window in which every rule held, whose most users are healthy, invalid.
func atLeast(bound, healthy float64, held time.Duration, f record.Finding) *record.Capacity {
	c := &record.Capacity{
		Kind:      record.AtLeast,
		Users:     math.Floor(bound),
		Lo:        math.Floor(bound),
		Confirmed: held,
		Rule:      record.ByGate + f.Gate,
		Stopped:   record.ByHealth + f.Text,
		Why:       "the load generator was held up: " + f.Text,
	}
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
		c.Why += fmt.Sprintf(
			"; every rule held at %.0f users, but no level was held without a violation for the %v that a bound takes",
			healthy,
			held.Round(100*time.Millisecond),
		)
	default:
		c.Kind = record.Invalid
		c.Confirmed = 0
		c.Why = c.Why + ", and in no sound window before that did every rule hold"
	}
	return c
}

// contradicted is the capacity of such a search whose bound does not stand: the unstable result u,
// with the cause that ended the bound.
func contradicted(u capacity.Result, bound *record.Capacity) *record.Capacity {
	c := capacityOf(u)
	c.Rule = bound.Rule
	c.Stopped = bound.Stopped
	c.Why = bound.Why + "; " + u.Why
	return c
}

func capacityOf(res capacity.Result) *record.Capacity {
	c := &record.Capacity{
		Kind:        string(res.Kind),
		Users:       res.Users,
		Lo:          res.Lo,
		Hi:          res.Hi,
		Rule:        res.Rule,
		Estimator:   res.Estimator,
		Stopped:     res.Stopped,
		Why:         res.Why,
		Recommended: res.Recommended,
		Reached:     res.Reached,
		Held:        res.Held,
		Confirmed:   res.Confirmed,
	}
	for _, m := range res.Margins {
		if m.Windows > 0 {
			c.Margins = append(c.Margins, record.RuleMargin{Rule: m.Rule, Value: m.Ratio, Limit: 1})
		}
	}
	return c
}

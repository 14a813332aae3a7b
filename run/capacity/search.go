package capacity

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A Search is one search under way. It is not safe for concurrent use.
type Search struct {
	cfg   Config
	phase string
	users float64 // desired; a float, so that slow growth is not lost to rounding

	begun       bool
	start, last time.Duration
	hold        time.Duration // no decision before it: the last change must fill a window
	lastSample  time.Duration // when the last window was recorded
	// since when every observation was violated; -1 after one that was not
	badSince  time.Duration
	fullSince time.Duration // since when the ramp stands at Max; -1 before
	// since when fewer users are active than desired; -1 when they follow
	shortSince   time.Duration
	healthyUsers float64 // highest mean users of a window in which no rule was violated
	levels       []held  // rising; the levels since the last violation that may become bounds
	holds        []hold  // of levels before

	costs    []cost // of windows of the ramp
	foreseen string // a sentence on the predicted limit of CPU

	rules []ruleBook

	bracketed bool    // a healthy window has been seen since the ramp ended
	step      float64 // present stride as a fraction
	dir, run  int     // last direction, and how many times in a row
	topped    int     // healthy decisions in a row at Max

	arrived  arrivals
	settling time.Duration // wait after users joined, beside a window
	end      ending

	plateaus  []plateau // of a staircase
	seen, bad int       // windows of the present plateau, and the violated of them

	samples []sample
	done    bool
	result  Result
}

// A ruleBook is the state of one rule in the search.
type ruleBook struct {
	name     string
	lastData time.Duration
	grace    time.Duration // longest time without data
	warning  bool          // does not move the users
	rate     bool
	limit    float64
	decided  bool   // was ever healthy or violated
	brief    bool   // was ever violated for too short a time
	most     uint64 // highest count seen
	minCount uint64
}

// A sample is one window.
type sample struct {
	at       time.Duration
	phase    string
	users    float64   // mean over the window
	util     float64   // CPU utilization of the target; 0 without one
	ratios   []float64 // by rule; NaN without a decided reading
	states   []Status  // by rule
	bad, of  []uint64  // by rule: operations of the window alone, for rates
	complete bool      // every rule that moves the users has data
	violated bool      // some rule that moves the users does not hold
	worst    int       // the one of them that uses most of its limit; -1 without any
}

// New returns a search that has seen nothing yet, or an error that names everything wrong with the
// config.
func New(c Config) (*Search, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("capacity search: %w", err)
	}
	return &Search{cfg: c, phase: Ramp, users: float64(c.Start), step: maxStep(c),
		badSince: -1, fullSince: -1, shortSince: -1}, nil
}

// maxStep is the longest stride of the tracking phase: a quarter of the back-off.
func maxStep(c Config) float64 { return max(c.Step, (1-afterRamp)/4) }

// Step takes the next observation and returns the next action. After an action with Done it repeats
// that action.
func (s *Search) Step(o Observation) Action {
	if s.done {
		return s.action("finished")
	}
	if !s.begun {
		s.begun = true
		s.start = o.At
		s.last = o.At
		s.lastSample = o.At
		s.hold = o.At + s.cfg.Window
		if u := float64(s.cfg.Start); math.Abs(o.MeanUsers-u) < 0.02*u {
			s.hold = o.At // the window is already one of these users
		}
	}
	if o.At < s.last {
		return s.action("an observation from the past was ignored")
	}
	tick := o.At - s.last
	s.last = o.At

	w := s.observe(o)
	s.confirm(o, w, tick)
	if rule, grace, ok := s.starved(o.At); ok {
		return s.finish(Result{
			Kind:    Invalid,
			Rule:    rule,
			Stopped: "fault: a rule has no data",
			Why: fmt.Sprintf(
				"%s had no data for more than %v; a missing signal is not a healthy one",
				rule,
				grace,
			),
		})
	}
	if s.lagging(o) {
		return s.finish(s.censored("users: the active users do not follow", fmt.Sprintf(
			"only %d of the %d users that were asked for were active for more than %v",
			o.Users, int(math.Round(s.users)), s.cfg.grace)))
	}
	if o.At-s.start+tick > s.cfg.Budget { // the next tick would be too late
		return s.finish(s.conclude(fmt.Sprintf("budget: the time of %v is over", s.cfg.Budget)))
	}
	if o.Unsound {
		s.badSince, s.fullSince = -1, -1
		return s.action("paused: the window is not sound")
	}
	if s.phase == Ramp && o.At < s.hold {
		return s.action("the first window is not full")
	}
	switch s.phase {
	case Ramp:
		return s.ramp(w, tick)
	case Stairs:
		return s.stairs(w)
	case Steady:
		return s.constant(w)
	case Overload:
		return s.overloaded(w)
	}
	return s.track(w)
}

// Skip lets time pass until an offset. Nothing is observed in it. Users do not grow for it, no
// level counts as held in it, and no rule as without data; the budget goes on.
func (s *Search) Skip(until time.Duration) {
	gone := until - s.last
	if !s.begun || s.done || gone <= 0 {
		return
	}
	s.last, s.badSince = until, -1
	for _, since := range []*time.Duration{&s.fullSince, &s.shortSince} {
		if *since >= 0 {
			*since += gone
		}
	}
	for i := range s.rules {
		s.rules[i].lastData += gone
	}
	for i := range s.levels {
		s.levels[i].at += gone
	}
}

// Result returns the result. Before the end it is the result if the search stopped now.
func (s *Search) Result() Result {
	if s.done {
		return s.result
	}
	return s.complete(s.settle(s.conclude("interrupted: the search was stopped from outside")))
}

// observe turns an observation into a window and keeps the books of the rules.
func (s *Search) observe(o Observation) sample {
	for _, r := range o.Readings {
		if s.rule(r.Rule) < 0 {
			b := ruleBook{
				name:     r.Rule,
				lastData: o.At,
				minCount: r.MinCount,
				grace:    r.Grace,
				warning:  r.Warning,
				rate:     r.Rate,
				limit:    r.Limit,
			}
			if b.grace <= 0 {
				b.grace = s.cfg.grace
			}
			s.rules = append(s.rules, b)
		}
	}
	w := sample{at: o.At, phase: s.phase, users: o.MeanUsers, util: o.Utilization, worst: -1,
		ratios: make([]float64, len(s.rules)), states: make([]Status, len(s.rules)),
		bad: make([]uint64, len(s.rules)), of: make([]uint64, len(s.rules))}
	for i := range w.ratios {
		w.ratios[i] = math.NaN()
	}
	usable := finite(o.MeanUsers) && o.MeanUsers > 0
	for _, r := range o.Readings {
		i := s.rule(r.Rule)
		st := r.Status()
		if !usable || st == Missing {
			continue
		}
		b := &s.rules[i]
		b.lastData, b.most = o.At, max(b.most, r.Count)
		w.states[i] = st
		w.bad[i], w.of[i] = r.own()
		if st == Undecided {
			b.brief = b.brief || r.Brief && r.Count >= r.MinCount
			continue
		}
		b.decided = true
		w.ratios[i] = r.Ratio()
		w.violated = w.violated || st == Violated && !r.Warning
	}
	w.complete = len(w.states) > 0
	for i, st := range w.states {
		if s.rules[i].warning {
			continue
		}
		w.complete = w.complete && st != Missing
		if j := w.worst; st > Undecided && (j < 0 || st > w.states[j] ||
			st == w.states[j] && w.ratios[i] > w.ratios[j]) {
			w.worst = i // the nearest to stopping the users
		}
	}
	if w.violated {
		if s.badSince < 0 {
			s.badSince = o.At
		}
	} else {
		s.badSince = -1
	}
	return w
}

func (s *Search) rule(name string) int {
	return slices.IndexFunc(s.rules, func(b ruleBook) bool { return b.name == name })
}

// starved returns a rule that has been without data for longer than its grace. A rule that is only
// a warning never ends a search; the result notes that it had none.
func (s *Search) starved(at time.Duration) (string, time.Duration, bool) {
	if len(s.rules) == 0 && at-s.start > s.cfg.grace {
		return "every rule", s.cfg.grace, true
	}
	for _, b := range s.rules {
		if !b.warning && at-b.lastData > b.grace {
			return b.name, b.grace, true
		}
	}
	return "", 0, false
}

// lagging reports whether the users have been short of nine tenths of the requested number for
// longer than the grace.
func (s *Search) lagging(o Observation) bool {
	if float64(o.Users) >= 0.9*s.users-1 {
		s.shortSince = -1
		return false
	}
	if s.shortSince < 0 {
		s.shortSince = o.At
	}
	return o.At-s.shortSince > s.cfg.grace
}

// ramp grows the users in proportion to themselves, and ends with a sustained violation or at Max.
func (s *Search) ramp(w sample, tick time.Duration) Action {
	if s.last-s.lastSample >= s.cfg.Window && w.complete {
		s.record(w)
		if !w.violated {
			s.healthyUsers = max(s.healthyUsers, w.users)
			s.costly(w)
		}
	}
	switch {
	case s.badSince >= 0 && s.last-s.badSince >= s.cfg.Window:
		return s.backOff(w)
	case w.violated:
		s.fullSince = -1
		return s.action("paused: " + s.rules[w.worst].name + " does not hold")
	case !w.complete:
		if s.fullSince >= 0 {
			s.fullSince = min(s.fullSince+tick, s.last) // no evidence: this time does not count
		}
		return s.action("paused: a rule has no data")
	}
	if s.users >= float64(s.cfg.Max) {
		if s.fullSince < 0 {
			s.fullSince = s.last
		}
		// The window that looks back on the ramp, then the hold.
		if _, long := s.Bound(); s.last-s.fullSince >= s.cfg.Window+long {
			return s.finish(s.censored("max users: every rule held there", fmt.Sprintf(
				"all %d users that the plan allows were supported; the target may carry more",
				s.cfg.Max,
			)))
		}
		return s.action("holding at the maximum")
	}
	s.users = min(s.users+s.cfg.growth(s.users)*tick.Seconds(), float64(s.cfg.Max))
	return s.action("growing")
}

// backOff ends the ramp, or goes further down while no window has been healthy since.
func (s *Search) backOff(w sample) Action {
	if s.users <= 1 {
		rule := s.rules[w.worst].name
		return s.finish(Result{
			Kind:    Invalid,
			Rule:    rule,
			Stopped: "min users: a rule is violated there",
			Why:     rule + " is violated at 1 users, the fewest that the search may try",
		})
	}
	// The window that decided is worth recording. It may overlap the last one of the ramp; if by
	// more than half, it takes its place.
	if n := len(s.samples); s.phase == Ramp && w.complete && s.last > s.lastSample {
		if s.last-s.lastSample < s.cfg.Window/2 {
			s.samples = s.samples[:n-1]
		}
		s.record(w)
	}
	s.phase = Track
	s.users = max(s.users*afterRamp, 1)
	s.hold = s.last + s.cfg.Window + s.cfg.Window/2
	return s.action("backing off: " + s.rules[w.worst].name + " does not hold")
}

// track judges one window at a time.
func (s *Search) track(w sample) Action {
	if s.last < s.hold {
		return s.action("waiting for a window at these users")
	}
	if !w.complete && !w.violated { // one broken rule is enough, for any value of the missing one
		return s.action("paused: a rule has no data")
	}
	if s.joining(w) {
		s.hold = s.last + s.cfg.Window
		return s.action("a second window: joining may cost")
	}
	s.record(w)
	dir := 1
	if w.violated {
		dir = -1
	} else {
		s.healthyUsers = max(s.healthyUsers, w.users)
	}
	if !s.bracketed && dir < 0 {
		return s.backOff(w)
	}
	s.bracketed = true
	if s.cfg.Staircase {
		s.phase = Stairs
		s.hold = s.last + s.cfg.Window // these users have settled while the search backed off
		return s.action("the first plateau begins")
	}
	if a, over := s.lastTests(); over {
		return a
	}
	s.stride(dir)
	a, over := s.top(dir > 0, "all %d users that the plan allows were supported in three windows in "+
		"a row; the violation before did not come back")
	if over {
		return a
	}
	delta := max(s.users*s.step, min(stepFloor, max(1, s.users/100)))
	s.users = min(max(s.users+float64(dir)*delta, 1), float64(s.cfg.Max))
	s.hold = s.last + s.cfg.Window
	if dir > 0 {
		s.hold += s.settling
	}
	if dir < 0 {
		return s.action("down: " + s.rules[w.worst].name + " does not hold")
	}
	return s.action("up")
}

// top counts decisions in a row that held at Max, and ends the search after three. why has a verb
// for Max.
func (s *Search) top(held bool, why string) (Action, bool) {
	if !held || s.users < float64(s.cfg.Max) {
		s.topped = 0
		return Action{}, false
	}
	if s.topped++; s.topped < 3 || !s.heldMax() {
		return Action{}, false
	}
	why = fmt.Sprintf(why, s.cfg.Max)
	return s.finish(s.censored("max users: every rule held there", why)), true
}

// stride halves the step at a reversal and doubles it on every fourth move in one direction.
func (s *Search) stride(dir int) {
	if dir == s.dir {
		s.run++
		if s.run%4 == 0 {
			s.step = min(2*s.step, maxStep(s.cfg))
		}
		return
	}
	if s.dir != 0 {
		s.step = max(s.step/2, s.cfg.Step)
	}
	s.dir, s.run = dir, 1
}

func (s *Search) record(w sample) {
	s.samples = append(s.samples, w)
	s.lastSample = s.last
}

func (s *Search) action(why string) Action {
	a := Action{Users: int(math.Round(s.users)), Phase: s.phase, Done: s.done, Why: why}
	if s.done {
		a.Phase = Done
	}
	return a
}

func (s *Search) finish(r Result) Action {
	s.done = true
	s.result = s.complete(s.settle(r))
	return s.action(r.Stopped)
}

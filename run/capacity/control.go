package capacity

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// A RuleReading is the value of one rule over the trailing window.
type RuleReading struct {
	// Rule names the rule as reports do. Readings of one search with the same Rule are of the same
	// rule.
	Rule string
	// Value is the measured number and Limit the one that it is compared with, in the same unit.
	Value, Limit float64
	// Less means that the rule holds while Value < Limit; otherwise it holds while Value > Limit.
	Less bool
	// Count is the number of operations behind Value, and MinCount the number that the rule
	// requires. A rule of something that is not counted has both 0.
	Count, MinCount uint64
	// Rate means that Value is the fraction of Count operations that were bad. Then too few
	// operations can still decide: if the bad ones exceed the number allowed in MinCount
	// operations, the rule is violated.
	Rate bool
	// Span is the time over which Value looks back, when that is not the window of the observation:
	// a rate may look further back, to see MinCount operations. Bad of Of operations are then those
	// of the observation's own window.
	Span    time.Duration
	Bad, Of uint64
	// Brief means that Value has not been observed for as long as the rule must be violated: a
	// value that violates leaves the rule undecided.
	Brief bool
	// OK means that there is data. Without it Value is undefined.
	OK bool
	// Warning means that the rule is reported and does not move the users.
	Warning bool
	// Grace is the longest time without data; 0 for four windows.
	Grace time.Duration
}

// A Status is the state of a rule by one reading.
type Status int

// Statuses, by how bad they are for the users.
const (
	Missing   Status = iota // no data: neither healthy nor violated
	Undecided               // data, but too few operations or for too short a time
	Healthy
	Violated
)

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Status judges the reading: the only judgement of a rule, for searches and for measured phases. A
// value on its limit is violated, since rules are strict inequalities.
func (r RuleReading) Status() Status {
	if !r.OK || !finite(r.Value) || !finite(r.Limit) {
		return Missing
	}
	over := r.Value >= r.Limit
	if !r.Less {
		over = r.Value <= r.Limit
	}
	if r.Count < r.MinCount {
		if bad := math.Round(r.Value * float64(r.Count)); r.Rate && r.Less && over &&
			bad >= r.Limit*float64(r.MinCount)-1e-9 {
			return Violated
		}
		return Undecided
	}
	switch {
	case over && r.Brief:
		return Undecided
	case over:
		return Violated
	}
	return Healthy
}

// Ratio returns how much of its limit the reading uses: above 1 is violated, whichever way the rule
// points. It is 0 when a ratio has no meaning: nothing measured, or a sign that differs from the
// limit's.
func (r RuleReading) Ratio() float64 {
	if !r.OK {
		return 0
	}
	q := r.Value / r.Limit
	if !r.Less {
		q = r.Limit / r.Value
	}
	if !finite(q) || q < 0 {
		return 0
	}
	return q
}

// An Observation is the state of the trial at one tick. Ticks come about five times per window; all
// readings cover the trailing window.
type Observation struct {
	// At is the time since the trial's start. It never decreases.
	At time.Duration
	// Users is the number of active users, and MeanUsers their mean over the trailing window.
	Users     int
	MeanUsers float64
	// Readings holds one reading per rule. The search does not keep the slice.
	Readings []RuleReading
	// Utilization is the share of the target's CPU time that was used over the trailing window, 0
	// to 1; 0 when it is not known.
	Utilization float64
	// Unsound means that the window is not evidence about the target, because the generator or the
	// host was not healthy: the search waits.
	Unsound bool
}

// A Config is a search before it runs. Its times are wall-clock time: a caller that scales time has
// done so. A zero field takes its default.
type Config struct {
	// Start is the first number of users, and Max the largest (both at least 1, and required).
	Start, Max int
	// RampRate is the growth of the ramp, as a fraction of the present users per second (default
	// 0.002).
	RampRate float64
	// RampFloor is the least growth in users per second (default 4). Where it would add more than a
	// tenth per window, it adds a tenth per window: a small server deserves a slow ramp too.
	RampFloor float64
	// Window is the span of a reading and the least time between two decisions (default 15 s).
	Window time.Duration
	// Step is the smallest change when tracking, as a fraction of the users (default 0.005). See
	// stepFloor.
	Step float64
	// Staircase measures plateaus once the ramp has shown where, instead of tracking: 12 windows
	// each, and at least 12 of them. They differ by 2.5 % for any Step.
	Staircase bool
	// Precision ends the search: the half-width of the 95 % interval over the estimate (default
	// 0.02).
	Precision float64
	// Budget is the longest time of the search (default 20 min).
	Budget time.Duration
	// Saturation is the CPU utilization at which the target is at its limit, in (0, 1]: 1, or that
	// of a rule (default 1). The search predicts the limit for it, where observations have a
	// utilization.
	Saturation float64
	// grace is the longest time for which a rule may be without data, or the users below the
	// requested number, before the search gives up: four windows, but for tests.
	grace time.Duration
}

const (
	// stepFloor is the smallest change when tracking, in users, but never more than a hundredth of
	// the present users, or 1.
	stepFloor = 4
	// afterRamp multiplies the users when the ramp has ended.
	afterRamp = 0.90
)

// withDefaults returns the config with its zero fields filled in, or everything that is wrong with
// it.
func (c Config) withDefaults() (Config, error) {
	set := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	dur := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	set(&c.RampRate, 0.002)
	set(&c.RampFloor, 4)
	set(&c.Step, 0.005)
	set(&c.Precision, 0.02)
	set(&c.Saturation, 1)
	dur(&c.Window, 15*time.Second)
	dur(&c.Budget, 20*time.Minute)
	dur(&c.grace, 4*c.Window)
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	below := func(v, most float64) bool { return v > 0 && v < most } // also false for NaN
	check(c.Start >= 1, "start %d: want at least 1 user", c.Start)
	check(c.Max >= c.Start, "max users %d: want at least the start of %d users", c.Max, c.Start)
	check(
		below(c.RampRate, 1),
		"ramp rate %v per second: want a fraction between 0 and 1",
		c.RampRate,
	)
	check(below(c.RampFloor, 1e6), "ramp floor %v users per second: want more than 0", c.RampFloor)
	check(below(c.Step, 0.2), "step %v: want a fraction between 0 and 0.2", c.Step)
	check(below(c.Precision, 1), "precision %v: want a fraction between 0 and 1", c.Precision)
	check(
		c.Saturation > 0 && c.Saturation <= 1,
		"saturation %v: want a fraction above 0, at most 1",
		c.Saturation,
	)
	check(c.Window > 0, "window %v: want more than 0", c.Window)
	check(c.Budget > c.Window, "budget %v: want more than a window of %v", c.Budget, c.Window)
	return c, errors.Join(errs...)
}

// Phases of a search, as in [Action].
const (
	Ramp     = "ramp"
	Track    = "track"
	Stairs   = "stairs"
	Steady   = "steady"
	Overload = "overload"
	Done     = "done"
)

// An Action is the caller's next step: keep Users active, and stop when Done.
type Action struct {
	Users int
	Phase string
	Done  bool
	// Why names in a few words the reason of the last move, for a progress line.
	Why string
}

// A Kind is the kind of a [Result].
type Kind string

// Kinds of a [Result].
const (
	// Estimate: the target's capacity was found, with an interval.
	Estimate Kind = "estimate"
	// AtLeast: something else than the target ended the search; Users were supported.
	AtLeast Kind = "at-least"
	// Unstable: the target ended the search, and its windows contradict each other. There is no
	// number: the capacity lies somewhere between Lo and Hi, or the target has two of them, Reached
	// and Held.
	Unstable Kind = "unstable"
	// Invalid: there is no result; Why names the missing evidence.
	Invalid Kind = "invalid"
)

// Estimators of a [Result].
const (
	// Regression is the crossing of log(value/limit) = 0 over log(users).
	Regression = "regression"
	// TrackMean is the mean of the users while tracking, after the first reversal.
	TrackMean = "tracking mean"
	// Bracket is the cut that best parts healthy windows from violated ones: the last resort of a
	// short search.
	Bracket = "bracket"
	// Logistic is the level at which half of the plateaus of a staircase hold.
	Logistic = "logistic fit"
)

// A Result is the result of a search.
type Result struct {
	Kind Kind
	// Users is the capacity of an Estimate, the users that were supported of an AtLeast, and 0 of
	// any other.
	Users float64
	// Lo and Hi are the 95 % interval of an Estimate: of the capacity in this run. The results of
	// several runs vary more. AtLeast has Lo = Users and Hi = 0. Those of an Unstable are not an
	// interval of a stated confidence.
	Lo, Hi float64
	// Reached is the level up to which an Unstable search saw every rule hold going up, and Held
	// that of the time after an overload; 0 when not seen. Of an AtLeast, Reached is the level of
	// the highest healthy window, which was not held as long as a bound must be.
	Reached, Held float64
	// Confirmed is the time for which Users of an AtLeast were held without a violation. A later
	// effect would not have shown.
	Confirmed time.Duration
	// Recommended is the level at which nine of ten plateaus hold; 0 without a staircase.
	Recommended float64
	// Rule is the binding rule: the one that stopped the users. Empty when none did.
	Rule string
	// Estimator is Regression, TrackMean, Bracket or Logistic for an Estimate, else empty.
	Estimator string
	// Stopped is a word and a sentence on the end of the search: "precision: ...", "budget: ...",
	// "max users: ...".
	Stopped string
	// Why is a sentence on how the result came about, or why there is none.
	Why string
	// Windows is the number of non-overlapping windows behind the estimate.
	Windows int
	// Margins holds the part of its limit that each rule uses at Users, in the order of the
	// readings.
	Margins []RuleUse
	// Warnings are facts that a reader of the number must know.
	Warnings []string

	eff float64 // independent windows that Windows are worth
}

// A RuleUse is the part of its limit that a rule uses: 0.4 is 40 % of the limit, above 1 is
// violated. Windows is how many windows it is the median of; with 0, Ratio means nothing.
type RuleUse struct {
	Rule    string
	Ratio   float64
	Windows int
}

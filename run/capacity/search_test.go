package capacity

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestReadingStatus(t *testing.T) {
	tests := []struct {
		name string
		r    RuleReading
		want Status
	}{
		{"below a ceiling", RuleReading{Value: 0.9, Limit: 1, Less: true, OK: true}, Healthy},
		{"on a ceiling", RuleReading{Value: 1, Limit: 1, Less: true, OK: true}, Violated},
		{"above a ceiling", RuleReading{Value: 1.1, Limit: 1, Less: true, OK: true}, Violated},
		{"above a floor", RuleReading{Value: 1.1, Limit: 1, OK: true}, Healthy},
		{"on a floor", RuleReading{Value: 1, Limit: 1, OK: true}, Violated},
		{"below a floor", RuleReading{Value: 0.9, Limit: 1, OK: true}, Violated},
		{"no data", RuleReading{Value: 0.5, Limit: 1, Less: true}, Missing},
		{"not a number", RuleReading{Value: math.NaN(), Limit: 1, Less: true, OK: true}, Missing},
		{"infinite", RuleReading{Value: math.Inf(1), Limit: 1, Less: true, OK: true}, Missing},
		{"minus infinite", RuleReading{
			Value: math.Inf(-1),
			Limit: 1,
			Less:  true,
			OK:    true,
		}, Missing},
		{"limit not a number", RuleReading{
			Value: 1,
			Limit: math.NaN(),
			Less:  true,
			OK:    true,
		}, Missing},
		{"few operations", RuleReading{
			Value:    2,
			Limit:    1,
			Less:     true,
			OK:       true,
			Count:    99,
			MinCount: 100,
		}, Undecided},
		{"enough operations", RuleReading{
			Value:    2,
			Limit:    1,
			Less:     true,
			OK:       true,
			Count:    100,
			MinCount: 100,
		}, Violated},
		// 3 of 100 failed; of 200 operations at most 2 may fail, so the other 100 cannot mend it.
		{"few but hopeless", RuleReading{
			Value:    0.03,
			Limit:    0.01,
			Less:     true,
			OK:       true,
			Count:    100,
			MinCount: 200,
			Rate:     true,
		}, Violated},
		{"few and open", RuleReading{
			Value:    0.03,
			Limit:    0.02,
			Less:     true,
			OK:       true,
			Count:    100,
			MinCount: 200,
			Rate:     true,
		}, Undecided},
	}
	for _, tt := range tests {
		if got := tt.r.Status(); got != tt.want {
			t.Errorf("%s: got status %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestRatioPointsUp(t *testing.T) {
	for _, tt := range []struct {
		r    RuleReading
		want float64
	}{
		{RuleReading{OK: true, Value: 2, Limit: 4, Less: true}, 0.5},
		{RuleReading{OK: true, Value: 2, Limit: 4}, 2},
		{RuleReading{OK: true, Value: 0, Limit: 4, Less: true}, 0},
		{RuleReading{OK: true, Value: 0, Limit: 4}, 0},              // infinitely bad: no ratio
		{RuleReading{OK: true, Value: -2, Limit: 4, Less: true}, 0}, // signs differ: no ratio
	} {
		if got := tt.r.Ratio(); got != tt.want {
			t.Errorf("%+v: got ratio %v, want %v", tt.r, got, tt.want)
		}
	}
}

func TestNewNamesEveryProblem(t *testing.T) {
	_, err := New(Config{Start: 10, Max: 5, RampRate: math.NaN(), Step: 0.5,
		Precision: 2, Window: -1, Budget: time.Second, RampFloor: -1})
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{"max users 5", "ramp rate NaN", "ramp floor", "step 0.5", "precision", "window"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("want an error for the zero config: it has no start and no maximum")
	}
	if _, err := New(Config{Start: 1, Max: 1}); err != nil {
		t.Errorf("start and maximum must be enough: %v", err)
	}
}

// A script drives a search by hand: one second is one tick, a window has five.
type script struct {
	t     *testing.T
	s     *Search
	at    time.Duration
	users int
	last  Action
	rules func(users int, at time.Duration) []RuleReading
	// active returns the number of active users for a requested number.
	active func(users int) int
}

func newScript(t *testing.T, c Config, rules func(int, time.Duration) []RuleReading) *script {
	t.Helper()
	c.Window = 5 * time.Second
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &script{t: t, s: s, users: c.Start, rules: rules, active: func(n int) int { return n }}
}

// until steps the search until stop returns true or it is done, for at most an hour.
func (sc *script) until(stop func(Action) bool) Action {
	sc.t.Helper()
	for range 3600 {
		sc.at += time.Second
		n := sc.active(sc.users)
		sc.last = sc.s.Step(Observation{
			At:        sc.at,
			Users:     n,
			MeanUsers: float64(n),
			Readings:  sc.rules(sc.users, sc.at),
		})
		sc.users = sc.last.Users
		if sc.last.Done || stop != nil && stop(sc.last) {
			return sc.last
		}
	}
	sc.t.Fatal("the search did not end within an hour")
	return Action{}
}

func (sc *script) result() Result {
	sc.t.Helper()
	sc.until(nil)
	return sc.s.Result()
}

func ok(rule string) RuleReading {
	return RuleReading{Rule: rule, Value: 0.5, Limit: 1, Less: true, OK: true}
}

func bad(rule string) RuleReading {
	return RuleReading{Rule: rule, Value: 1.5, Limit: 1, Less: true, OK: true}
}

// always reads the same, whatever the users and the time.
func always(readings ...RuleReading) func(int, time.Duration) []RuleReading {
	return func(int, time.Duration) []RuleReading { return readings }
}

// cpuOf is a rule that n users violate when they are as many as a limit.
func cpuOf(n int, limit float64) RuleReading {
	return RuleReading{Rule: "cpu(app)", Value: float64(n) / limit, Limit: 1, Less: true, OK: true}
}

func want(t *testing.T, r Result, kind Kind, users float64, words ...string) {
	t.Helper()
	if r.Kind != kind || math.Abs(r.Users-users) > 1e-9 {
		t.Errorf(
			"got %s of %v users, want %s of %v\nstopped: %s\nwhy: %s",
			r.Kind,
			r.Users,
			kind,
			users,
			r.Stopped,
			r.Why,
		)
	}
	for _, w := range words {
		if !strings.Contains(r.Stopped+"; "+r.Why+"; "+r.Rule, w) {
			t.Errorf("result lacks %q\nstopped: %s\nwhy: %s\nrule: %s", w, r.Stopped, r.Why, r.Rule)
		}
	}
}

func TestMaxIsCensored(t *testing.T) {
	sc := newScript(t, Config{Start: 100, Max: 200}, always(ok("p99")))
	r := sc.result()
	want(t, r, AtLeast, 200, "max users", "may carry more")
	if r.Hi != 0 || r.Lo != 200 || r.Rule != "" {
		t.Errorf(
			"got interval [%v, %v] and rule %q, want an open one from 200 and no rule",
			r.Lo,
			r.Hi,
			r.Rule,
		)
	}
}

// A violation on the way that does not come back must not turn a censored search into a number. The
// tool that came before answers 5337 users where 5400 were its cap.
func TestCensoredInSpiteOfAFalseAlarm(t *testing.T) {
	for _, from := range []time.Duration{20 * time.Second, 60 * time.Second, 4 * time.Minute} {
		sc := newScript(t, Config{
			Start: 100,
			Max:   300,
		}, func(_ int, at time.Duration) []RuleReading {
			if at >= from && at < from+30*time.Second {
				return []RuleReading{bad("p99")}
			}
			return []RuleReading{ok("p99")}
		})
		want(t, sc.result(), AtLeast, 300, "max users")
	}
}

// A search that still climbs when its time is over has not met the capacity: it names no number
// beyond those that it tried.
func TestStillClimbingAtTheEndIsCensored(t *testing.T) {
	for _, length := range []time.Duration{10 * time.Second, 20 * time.Second} {
		most := 0
		sc := newScript(t, Config{
			Start:  100,
			Max:    100000,
			Budget: 2 * time.Minute,
		}, func(n int, at time.Duration) []RuleReading {
			most = max(most, n)
			if at >= 20*time.Second && at < 20*time.Second+length {
				return []RuleReading{bad("p99")}
			}
			return []RuleReading{ok("p99")}
		})
		r := sc.result()
		if r.Kind != AtLeast || r.Users > float64(most) || r.Users < 0.85*float64(most) ||
			r.Hi != 0 ||
			!strings.HasPrefix(r.Stopped, "budget") {
			t.Errorf(
				"an alarm of %v: got %s of %.1f in [%.1f, %.1f] (%s: %s), want at least what held of the %d users that were tried",
				length,
				r.Kind,
				r.Users,
				r.Lo,
				r.Hi,
				r.Stopped,
				r.Why,
				most,
			)
		}
		if !strings.Contains(r.Why, "held afterwards with as many users") {
			t.Errorf("an alarm of %v on the way up: %s", length, r.Why)
		}
		if r.Reached < r.Users || r.Reached > float64(most) {
			t.Errorf(
				"an alarm of %v: reached %.1f, want %.1f to %d",
				length,
				r.Reached,
				r.Users,
				most,
			)
		}
	}
}

func TestBudgetInTheRampIsCensored(t *testing.T) {
	sc := newScript(t, Config{Start: 100, Max: 100000, Budget: time.Minute}, always(ok("p99")))
	r := sc.result()
	if r.Kind != AtLeast || r.Users < 100 || r.Users > float64(sc.users) ||
		!strings.Contains(r.Stopped, "budget: the time of 1m0s") {
		t.Errorf("got %+v, want at least what was held for a window when the budget ended", r)
	}
}

func TestViolatedAtStartSearchesDownward(t *testing.T) {
	sc := newScript(t, Config{
		Start:  1000,
		Max:    5000,
		Budget: 10 * time.Minute,
	}, func(n int, _ time.Duration) []RuleReading {
		return []RuleReading{{
			Rule:  "p99",
			Value: math.Pow(float64(n)/400, 3),
			Limit: 1,
			Less:  true,
			OK:    true,
		}}
	})
	r := sc.result()
	if r.Kind != Estimate || math.Abs(r.Users/400-1) > 0.01 {
		t.Errorf("got %s of %v, want an estimate of 400: %s %s", r.Kind, r.Users, r.Stopped, r.Why)
	}
}

func TestViolatedAtTheMinimumIsInvalid(t *testing.T) {
	sc := newScript(t, Config{Start: 2, Max: 200}, always(ok("p99"), bad("rate(5xx)")))
	want(t, sc.result(), Invalid, 0, "rate(5xx) is violated at 1 users", "min users")
}

func TestMissingDataIsInvalid(t *testing.T) {
	for name, gone := range map[string]func() []RuleReading{
		"not OK": func() []RuleReading {
			return []RuleReading{ok("p99"), {
				Rule:  "cpu(app)",
				Limit: 1,
				Less:  true,
			}}
		},
		"not a number": func() []RuleReading {
			return []RuleReading{ok("p99"), {
				Rule:  "cpu(app)",
				Value: math.NaN(),
				Limit: 1,
				Less:  true,
				OK:    true,
			}}
		},
		"infinite": func() []RuleReading {
			return []RuleReading{ok("p99"), {
				Rule:  "cpu(app)",
				Value: math.Inf(1),
				Limit: 1,
				Less:  true,
				OK:    true,
			}}
		},
		"left out":     func() []RuleReading { return []RuleReading{ok("p99")} },
		"all left out": func() []RuleReading { return nil },
		"floor, NaN": func() []RuleReading {
			return []RuleReading{ok("p99"), {
				Rule:  "cpu(app)",
				Value: math.NaN(),
				Limit: 1,
				OK:    true,
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var held int
			sc := newScript(t, Config{Start: 100, Max: 2000, grace: 10 * time.Second}, nil)
			sc.rules = func(n int, at time.Duration) []RuleReading {
				if at < 30*time.Second {
					held = n
					return []RuleReading{ok("p99"), ok("cpu(app)")}
				}
				return gone()
			}
			r := sc.result()
			want(t, r, Invalid, 0, "no data")
			if name != "all left out" && r.Rule != "cpu(app)" {
				t.Errorf("got rule %q, want cpu(app) named", r.Rule)
			}
			if sc.at != 30*time.Second+10*time.Second {
				t.Errorf("ended after %v, want the grace of 10s after the last data at 29s", sc.at)
			}
			if sc.users > held+held/20 {
				t.Errorf("grew from %d to %d users without data", held, sc.users)
			}
		})
	}
	sc := newScript(t, Config{
		Start: 100,
		Max:   2000,
	}, func(int, time.Duration) []RuleReading { return nil })
	want(t, sc.result(), Invalid, 0, "every rule had no data")
}

func TestAShortGapInTheDataIsForgiven(t *testing.T) {
	sc := newScript(t, Config{
		Start: 100,
		Max:   150,
		grace: 10 * time.Second,
	}, func(_ int, at time.Duration) []RuleReading {
		r := ok("p99")
		r.OK = at%(15*time.Second) < 7*time.Second
		return []RuleReading{r}
	})
	want(t, sc.result(), AtLeast, 150)
}

// A window that is not sound neither grows the ramp nor ends it, however violated it is, and
// tracking waits for the next.
func TestUnsoundWindowsMoveNothing(t *testing.T) {
	s, err := New(Config{Start: 100, Max: 10000, Window: 5 * time.Second, Budget: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Duration(0)
	step := func(r RuleReading, unsound bool) Action {
		at += time.Second
		return s.Step(Observation{
			At:        at,
			Users:     int(s.users),
			MeanUsers: s.users,
			Readings:  []RuleReading{r},
			Unsound:   unsound,
		})
	}
	for range 20 {
		step(ok("p99"), false)
	}
	before := s.users
	for range 30 {
		if a := step(bad("p99"), true); a.Phase != Ramp || a.Users != int(math.Round(before)) ||
			!strings.Contains(a.Why, "not sound") {
			t.Fatalf("an unsound window: %+v", a)
		}
	}
	for range 6 {
		step(bad("p99"), false)
	}
	if s.phase != Track {
		t.Fatalf("phase %s, want the ramp to end a window after the violation was sound", s.phase)
	}
	before, n := s.users, len(s.samples)
	for range 60 {
		step(bad("p99"), true)
	}
	if s.users != before || len(s.samples) != n {
		t.Errorf(
			"unsound windows moved the users from %v to %v and left %d samples more",
			before,
			s.users,
			len(s.samples)-n,
		)
	}
}

// One bad moment is visible in trailing readings for just under a window. It pauses the ramp and
// must not end it.
func TestOneBadMomentDoesNotEndTheRamp(t *testing.T) {
	for _, ticks := range []int{1, 2, 5} {
		sc := newScript(t, Config{Start: 100, Max: 10000}, nil)
		var seen []int
		sc.rules = func(n int, at time.Duration) []RuleReading {
			tick := int(at / time.Second)
			if tick >= 20 && tick < 20+ticks {
				seen = append(seen, n)
				return []RuleReading{bad("p99")}
			}
			return []RuleReading{ok("p99")}
		}
		a := sc.until(func(Action) bool { return sc.at >= time.Minute })
		if a.Phase != Ramp || a.Users <= 110 {
			t.Errorf(
				"%d bad ticks: got phase %s with %d users, want the ramp to go on",
				ticks,
				a.Phase,
				a.Users,
			)
		}
		if seen[0] != seen[len(seen)-1] {
			t.Errorf(
				"%d bad ticks: the ramp grew from %d to %d while violated",
				ticks,
				seen[0],
				seen[len(seen)-1],
			)
		}
	}
	sc := newScript(t, Config{Start: 100, Max: 10000}, func(_ int, at time.Duration) []RuleReading {
		if at >= 20*time.Second {
			return []RuleReading{bad("p99")}
		}
		return []RuleReading{ok("p99")}
	})
	sc.until(func(a Action) bool { return a.Phase == Track })
	if sc.at != 25*time.Second {
		t.Errorf("a lasting violation from 20s ended the ramp at %v, want a window later", sc.at)
	}
}

func TestRampIsGentle(t *testing.T) {
	for _, start := range []int{1, 10, 300, 5000} {
		sc := newScript(t, Config{
			Start:  start,
			Max:    20 * start,
			Budget: time.Hour,
		}, always(ok("p99")))
		var path []int
		sc.until(func(a Action) bool { path = append(path, a.Users); return false })
		for i := 5; i < len(path); i++ {
			// 2 users may be rounding.
			if grown := float64(path[i]) / float64(path[i-5]); grown > 1.17 &&
				path[i]-path[i-5] > 2 {
				t.Fatalf("start %d: from %d to %d users in one window", start, path[i-5], path[i])
			}
		}
		if path[len(path)-1] != 20*start {
			t.Errorf("start %d: ended at %d users, want %d", start, path[len(path)-1], 20*start)
		}
	}
}

func TestUsersThatDoNotFollowCensor(t *testing.T) {
	sc := newScript(t, Config{Start: 100, Max: 1000, grace: 40 * time.Second}, always(ok("p99")))
	sc.active = func(n int) int { return min(n, 150) }
	want(t, sc.result(), AtLeast, 150, "do not follow", "only 150 of the")
	if r := sc.s.Result(); r.Confirmed != (sc.at-time.Second)/3 {
		t.Errorf(
			"the bound says that it was held for %v, want a third of %v",
			r.Confirmed,
			sc.at-time.Second,
		)
	}
}

func TestTheBindingRuleIsNamed(t *testing.T) {
	sc := newScript(t, Config{
		Start:  300,
		Max:    5000,
		Budget: 20 * time.Minute,
	}, func(n int, _ time.Duration) []RuleReading {
		load := float64(n) / 500
		return []RuleReading{
			{Rule: "mean(op)", Value: 0.02 * load, Limit: 0.1, Less: true, OK: true},
			{Rule: "cpu(app)", Value: 0.85 * load, Limit: 0.85, Less: true, OK: true},
			{
				Rule:     "rate(5xx)",
				Value:    0,
				Limit:    0.00025,
				Less:     true,
				OK:       true,
				Count:    500,
				MinCount: 8000,
				Rate:     true,
			},
		}
	})
	r := sc.result()
	if r.Kind != Estimate || r.Rule != "cpu(app)" || math.Abs(r.Users-500) > 2 ||
		r.Estimator != Regression {
		t.Errorf(
			"got %s of %.1f by %s, rule %q; want 500 by regression on cpu(app)",
			r.Kind,
			r.Users,
			r.Estimator,
			r.Rule,
		)
	}
	if !strings.HasPrefix(r.Stopped, "precision: half of the interval is ") {
		t.Errorf("stopped %q, want the precision", r.Stopped)
	}
	tracked := 0
	for _, w := range sc.s.samples {
		if w.phase == Track {
			tracked++
		}
	}
	if tracked < 4 {
		t.Errorf("stopped after %d tracking windows, want at least 4", tracked)
	}
	if len(r.Margins) != 3 || math.Abs(r.Margins[0].Ratio-0.2) > 0.01 ||
		math.Abs(r.Margins[1].Ratio-1) > 0.02 ||
		r.Margins[2].Windows < 100 ||
		r.Margins[2].Ratio != 0 {
		t.Errorf("got margins %+v, want 0.2, 1 and 0 of many windows", r.Margins)
	}
	if len(r.Warnings) != 0 { // no window has 8000 operations, but all of them together have
		t.Errorf("got warnings %q, want none", r.Warnings)
	}
	if !(r.Lo <= 500 && 500 <= r.Hi) {
		t.Errorf("interval [%v, %v] does not hold 500", r.Lo, r.Hi)
	}
}

// A floor, such as free memory, is a rule that holds while the value is above its limit.
func TestAFloorBinds(t *testing.T) {
	sc := newScript(t, Config{
		Start:  300,
		Max:    5000,
		Budget: 20 * time.Minute,
	}, func(n int, _ time.Duration) []RuleReading {
		return []RuleReading{{
			Rule:  "promql: free > 2",
			Value: 1000 / float64(n),
			Limit: 2,
			OK:    true,
		}}
	})
	r := sc.result()
	if r.Kind != Estimate || math.Abs(r.Users-500) > 3 {
		t.Errorf("got %s of %.1f, want an estimate of 500: %s", r.Kind, r.Users, r.Why)
	}
}

func TestTimeRunsForward(t *testing.T) {
	sc := newScript(t, Config{Start: 100, Max: 1000}, always(ok("p99")))
	before := sc.until(func(Action) bool { return sc.at >= 20*time.Second })
	after := sc.s.Step(Observation{At: time.Second, Users: 100, MeanUsers: 100})
	if after.Users != before.Users || !strings.Contains(after.Why, "past") {
		t.Errorf("an observation from the past changed %+v into %+v", before, after)
	}
}

// Of 43 s the search saw 12, and a rule had no data for another two: it grows by a second's part,
// no rule starves, and no level was held for the 14 s that a bound takes by now.
func TestSkippedTimeCountsForNothing(t *testing.T) {
	sc := newScript(t, Config{
		Start:    100,
		Max:      100000,
		RampRate: 0.05,
	}, func(_ int, at time.Duration) []RuleReading {
		if at > 12*time.Second && at < 43*time.Second {
			return []RuleReading{{Rule: "p99"}}
		}
		return []RuleReading{ok("p99")}
	})
	before := sc.until(func(Action) bool { return sc.at == 12*time.Second })
	sc.at = 40 * time.Second
	sc.s.Skip(sc.at)
	after := sc.until(func(Action) bool { return sc.at == 43*time.Second })
	if after.Done || after.Users <= before.Users ||
		float64(after.Users) > 1.06*float64(before.Users) {
		t.Errorf("%+v before, %+v after; want 5 %% more users", before, after)
	}
	if users, long := sc.s.Bound(); users != 0 || long != 14*time.Second {
		t.Errorf("a bound of %.0f users, held for %v; want none, for 14s", users, long)
	}
}

func TestResultBeforeTheEnd(t *testing.T) {
	sc := newScript(t, Config{Start: 100, Max: 1000}, always(ok("p99")))
	want(t, sc.s.Result(), Invalid, 0, "interrupted")
	sc.until(func(Action) bool { return sc.at >= 8*time.Second })
	want(
		t,
		sc.s.Result(),
		Unstable,
		0,
		"interrupted",
		"no level was held without a violation for the 10s that a bound takes",
	)
	sc.until(func(Action) bool { return sc.at >= 20*time.Second })
	if r := sc.s.Result(); r.Kind != AtLeast || r.Users < 100 ||
		!strings.Contains(r.Stopped, "interrupted") {
		t.Errorf("got %+v, want at least what was held", r)
	}
	sc.until(nil)
	first, again := sc.s.Result(), sc.s.Step(Observation{At: time.Hour})
	if !again.Done || again.Phase != Done || !reflect.DeepEqual(first, sc.s.Result()) {
		t.Errorf("a step after the end changed the result, or is not done: %+v", again)
	}
}

func TestSameObservationsSameAnswer(t *testing.T) {
	sc := tuned()[2]
	a, _ := sc.run(5)
	b, _ := sc.run(5)
	if !reflect.DeepEqual(a.Result(), b.Result()) {
		t.Error("two searches over the same world differ")
	}
	if len(a.samples) < 20 {
		t.Errorf("got %d windows, want more", len(a.samples))
	}
	for i, d := range a.samples[1:] {
		p := a.samples[i]
		if d.phase == Track && p.phase == Track && d.at-p.at < sc.cfg.Window {
			t.Errorf("decisions at %v and %v: want at most one per window", p.at, d.at)
		}
	}
}

func ExampleSearch() {
	search, err := New(Config{Start: 600, Max: 3000})
	if err != nil {
		fmt.Println(err)
		return
	}
	users := 600
	for at := time.Duration(0); ; at += 3 * time.Second {
		// A server whose CPU use is in proportion to its users, and whose limit of 85 % is reached
		// by 1000.
		cpu := RuleReading{
			Rule:  "cpu(app) < 85%",
			Value: 0.85 * float64(users) / 1000,
			Limit: 0.85,
			Less:  true,
			OK:    true,
		}
		next := search.Step(Observation{
			At:        at,
			Users:     users,
			MeanUsers: float64(users),
			Readings:  []RuleReading{cpu},
		})
		if next.Done {
			break
		}
		users = next.Users
	}
	r := search.Result()
	fmt.Printf("%s: %.0f users, stopped by %s\n", r.Kind, r.Users, r.Rule)
	// Output: estimate: 1000 users, stopped by cpu(app) < 85%
}

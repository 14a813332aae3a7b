package trial

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// rates feeds a rate rule with ticks of so many bad of all operations and users, and returns the
// reading after each. A window is five ticks of 200 ms.
func rates(
	t *testing.T,
	text string,
	ticks int,
	of func(tick int) (users int, bad, ops uint64),
) []capacity.RuleReading {
	t.Helper()
	r := &run{
		Config:  Config{Window: time.Second, Rules: rules(t, text)},
		judging: rules(t, text),
		tick:    200 * time.Millisecond,
		rules:   map[string]*ruleState{},
	}
	out := make([]capacity.RuleReading, 0, ticks)
	for i := range ticks {
		users, bad, ops := of(i)
		w := measure.NewWindow("post")
		c, _ := measure.ParseClass("5xx")
		w.Classes[c] += bad
		w.Classes[measure.OK] += ops - bad
		r.n++
		r.trail.push(slice{at: r.now(), active: users, windows: []*measure.Window{w}}, time.Second)
		out = append(out, r.readings(t.Context(), r.trail.last(time.Second), true)[0])
	}
	return out
}

func TestRateLooksBackUntilItHasEnough(t *testing.T) {
	// 100 operations a tick, 500 a window: 8000 take 80 ticks.
	rd := rates(t, "rate(5xx) < 0.025% min 8000", 200, func(int) (int, uint64, uint64) {
		return 100, 0, 100
	})
	for i, r := range rd {
		want, span := capacity.Healthy, 16*time.Second
		if i < 79 {
			want = capacity.Undecided
			span = max(time.Second, time.Duration(i+1)*200*time.Millisecond)
		}
		if r.Status() != want || r.Span != span || i > 5 && r.Of != 500 {
			t.Fatalf(
				"tick %d: got status %d of %d operations over %v, %d in the window; want %d over %v",
				i,
				r.Status(),
				r.Count,
				r.Span,
				r.Of,
				want,
				span,
			)
		}
	}
	// With too short a reach it stays undecided, and names its span.
	rd = rates(t, "rate(5xx) < 0.025% over 10s min 8000", 200, func(int) (int, uint64, uint64) {
		return 100, 0, 100
	})
	if r := rd[199]; r.Status() != capacity.Undecided || r.Count != 5000 ||
		r.Span != 10*time.Second {
		t.Errorf("over 10 s: got status %d of %d operations over %v", r.Status(), r.Count, r.Span)
	}
}

func TestRateOfAnotherLoadIsNoEvidence(t *testing.T) {
	// Errors at 130 users do not count for 100.
	rd := rates(t, "rate(5xx) < 0.025% min 8000", 120, func(i int) (int, uint64, uint64) {
		if i < 60 {
			return 130, uint64(i % 2), 100
		}
		return 100, 0, 100
	})
	if s := rd[58].Status(); s != capacity.Violated {
		t.Errorf("many errors: status %d", s)
	}
	// One window later nothing of them is left.
	if r := rd[70]; r.Status() != capacity.Undecided || r.Value != 0 {
		t.Errorf("after stepping down: status %d, value %v over %v", r.Status(), r.Value, r.Span)
	}
}

// One error at each of two loads is not two errors at one.
func TestRatesOfTwoLoadsAreNotAddedUp(t *testing.T) {
	for _, then := range []int{130, 100} {
		rd := rates(t, "rate(5xx) < 0.025% min 8000", 60, func(i int) (int, uint64, uint64) {
			bad := uint64(0)
			if i == 20 || i == 50 {
				bad = 1
			}
			if i < 40 {
				return then, bad, 100
			}
			return 100, bad, 100
		})
		if got := rd[50].Status() == capacity.Violated; got != (then == 100) {
			t.Errorf("%d users, then 100: violated %v over %v", then, got, rd[50].Span)
		}
	}
}

// Two errors in different windows decide together, for one window; they do not decide again and
// again.
func TestRateAddsUpAndForgets(t *testing.T) {
	rd := rates(t, "rate(5xx) < 0.025% min 8000", 80, func(i int) (int, uint64, uint64) {
		if i == 10 || i == 30 {
			return 100, 1, 100
		}
		return 100, 0, 100
	})
	var from, to int
	for i, r := range rd {
		if r.Status() == capacity.Violated {
			if from == 0 {
				from = i
			}
			to = i
		}
	}
	if from != 30 || to != 35 {
		t.Errorf("violated from tick %d to %d, want 30 to 35: one window", from, to)
	}
	if s := rd[29].Status(); s != capacity.Undecided {
		t.Errorf("one error: status %d, want undecided", s)
	}
}

// The events on disk agree with the decisions that moved the users.
func TestEventsAndSearchAgree(t *testing.T) {
	r := &run{}
	for _, rd := range []capacity.RuleReading{
		// hopeless already
		{Value: 0.03, Limit: 0.01, Less: true, OK: true, Count: 100, MinCount: 200, Rate: true},
		{Value: 0.03, Limit: 0.02, Less: true, OK: true, Count: 100, MinCount: 200, Rate: true},
		{Value: math.NaN(), Limit: 1, Less: true, OK: true},
		{Value: 1, Limit: 1, OK: true},
		{Value: 0.5, Limit: 1, Less: true, OK: true, Warning: true},
	} {
		e, st := r.evaluation(rd, "search"), rd.Status()
		if e.Violated != (st == capacity.Violated) || e.Undecided != (st == capacity.Undecided) ||
			e.NoData != (st == capacity.Missing) ||
			(e.Level == record.Amber) != rd.Warning {
			t.Errorf("%+v: status %d, event %+v", rd, st, e)
		}
		if math.IsNaN(e.Value) {
			t.Error("an event that no file can hold")
		}
	}
}

// A test that is nothing but its measured phase has CPU and messages from its first moment on.
func TestMeasuredPhaseIsTheBeginning(t *testing.T) {
	for capacity, broken := range map[float64]int{1000: 0, 50: 1} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(capacity)
			s := spec(t, l)
			s.Rules = rules(t, "cpu(app) < 85%")
			s.Bounded = &BoundedTest{Users: 100, Measure: 10 * time.Second}
			out := carryOut(t, s)
			if len(out.Broken) != broken || strings.Contains(gates(out.Validity), "rule") {
				t.Errorf(
					"capacity %v: %d rules broken, want %d; findings %s",
					capacity,
					len(out.Broken),
					broken,
					gates(out.Validity),
				)
			}
		})
	}
}

// A rule without data in ramp and settle has its whole grace in the measured phase.
func TestGraceBeginsWithThePhase(t *testing.T) {
	for name, seen := range map[string]time.Duration{
		"in time":  10 * time.Second,
		"too late": 15 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(1000)
			l.blind = true
			time.AfterFunc(seen, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.blind = false
			})
			s := spec(t, l)
			s.Rules = rules(t, "cpu(app) < 85% grace 4s")
			s.Bounded = &BoundedTest{
				Users:   100,
				Ramp:    2 * time.Second,
				Settle:  6 * time.Second,
				Measure: 10 * time.Second,
			}
			out := carryOut(t, s)
			// The finding of the whole phase about a signal that was missing at its beginning is
			// another one.
			late := slices.ContainsFunc(out.Validity.Findings, func(f record.Finding) bool {
				return strings.Contains(
					f.Text,
					"had no data for more than 4s of the measured phase",
				)
			})
			if late != (seen > 12*time.Second) {
				t.Errorf("%s: %+v", name, out.Validity.Findings)
			}
		})
	}
}

func TestSearchLosesTheMetricsEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &scraped{lab: newLab(800), gone: time.Now().Add(8 * time.Second)}
		s := searchSpec(spec(t, l.lab), 480, 5000)
		s.Driver, s.Signals = l, l
		s.Rules = rules(t, "mean(op) < 100ms", "promql: sum(rate(errors[5s])) < 1 grace 6s")
		out := carryOut(t, s)
		if out.Capacity.Kind != record.Invalid || out.Validity.Valid ||
			!strings.Contains(
				out.Capacity.Why,
				"promql: sum(rate(errors[5s])) < 1 grace 6s had no data for more than 6s",
			) {
			t.Errorf("capacity %+v", out.Capacity)
		}
		named := false
		for _, f := range out.Validity.Findings {
			named = named ||
				f.Gate == "signals" &&
					strings.Contains(f.Text, "http://app:8067/metrics has had no data")
		}
		if !named {
			t.Errorf("the endpoint is not named: %+v", out.Validity.Findings)
		}
	})
}

// scraped is a lab whose metrics endpoint goes away.
type scraped struct {
	*lab
	gone time.Time
}

func (l *scraped) Query(context.Context, string) (float64, bool, error) {
	return 0, time.Now().Before(l.gone), nil
}

func (l *scraped) Failing() map[string]Failure {
	if time.Now().Before(l.gone) {
		return nil
	}
	return map[string]Failure{"http://app:8067/metrics": {Since: l.gone, Why: "connection refused"}}
}

// gauge is a lab with one series, which has a value at some moments after the epoch.
type gauge struct {
	*lab
	epoch time.Time
	value func(at time.Duration) (float64, bool)
}

func (g *gauge) Query(context.Context, string) (float64, bool, error) {
	v, ok := g.value(time.Since(g.epoch))
	return v, ok, nil
}

// Whose calls the series by the name of its expression.
func (g *gauge) Whose(_ context.Context, expr string, highest bool) (string, bool, error) {
	return fmt.Sprintf("%s-%v", expr, highest), true, nil
}

// gaugeSpec is of a lab whose one rule is about such a series.
func gaugeSpec(t *testing.T, rule string, value func(at time.Duration) (float64, bool)) Config {
	t.Helper()
	g := &gauge{lab: newLab(1000), epoch: time.Now(), value: value}
	s := spec(t, g.lab)
	s.Driver, s.Signals, s.Rules = g, g, rules(t, rule)
	return s
}

// among returns high in the stretches from, to, from, to, … of whole seconds, and 0 outside of
// them.
func among(at time.Duration, high float64, stretches ...float64) float64 {
	for part := range slices.Chunk(stretches, 2) {
		if s := math.Round(at.Seconds()); s >= part[0] && s <= part[1] {
			return high
		}
	}
	return 0
}

// A broken expression names whose value it was, how far it went, and when, in the report of the run
// and in its events; what was before the measured phase is not part of that.
func TestABrokenExpressionNamesWhoWhatAndWhen(t *testing.T) {
	for _, tt := range []struct {
		rule  string
		value func(at time.Duration) float64
		want  string
	}{
		// a lag that grows from 7 s to 12 s, and one in the ramp
		{"promql: x < 2", func(at time.Duration) float64 {
			if at < 2*time.Second {
				return 9
			}
			if at > 6500*time.Millisecond && at < 12500*time.Millisecond {
				return at.Seconds() - 4
			}
			return 0
		}, "x-true, worst 8 at 12.0 s, beyond its limit from 7.0 s to 12.0 s"},
		{"promql: y > 5", func(at time.Duration) float64 {
			return math.Abs(at.Seconds() - 10)
		}, "y-false, worst 0 at 10.0 s, beyond its limit from 5.0 s to 15.0 s"},
		{"promql: z < 2", func(at time.Duration) float64 { return among(at, 2, 5, 8, 18, 18) },
			"z-true, worst 2 at 5.0 s, beyond its limit from 5.0 s to 8.0 s and once more until 18.0 s"},
		{"promql: z < 3", func(at time.Duration) float64 {
			return among(at, 3, 5, 5, 9, 11, 17, 18)
		},
			"z-true, worst 3 at 5.0 s, beyond its limit from 5.0 s to 5.0 s and 2 times more until 18.0 s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			spec := gaugeSpec(t, tt.rule, func(at time.Duration) (float64, bool) {
				return math.Round(tt.value(at)), true
			})
			spec.Bounded = measuredFor(20 * time.Second)
			out := carryOut(t, spec)
			if len(out.Broken) != 1 || !strings.HasPrefix(out.Broken[0], tt.rule+": ") ||
				!strings.HasSuffix(out.Broken[0], "("+tt.want+")") {
				t.Errorf("broken %q, want %s", out.Broken, tt.want)
			}
			events := eventsOf(t, finish(t, spec, out))
			i := slices.IndexFunc(events, func(e record.Event) bool {
				return e.Kind == "slo" && e.Phase == "measured"
			})
			if events[i].Text != tt.want {
				t.Errorf("the event says %q, want %q", events[i].Text, tt.want)
			}
		})
	}
}

// An expression is judged by the values that lasted in the measured phase, here from 3 s to 23 s
// with a window of 1.5 s, anywhere in it.
func TestExpressionOverTheMeasuredPhase(t *testing.T) {
	const s = time.Second
	const no = -1.0
	// from, to, from, to
	blocked := func(high float64, parts ...time.Duration) func(time.Duration) float64 {
		return func(at time.Duration) float64 {
			for i := 0; i < len(parts); i += 2 {
				if at > parts[i]-s/2 && at < parts[i+1]+s/2 {
					return high
				}
			}
			return 1
		}
	}
	for _, tt := range []struct {
		name, rule string
		value      func(at time.Duration) float64
		want       float64 // of the phase; no when there is none
		broken     bool
	}{
		{"healthy in the last second", "promql: x < 20 for 15s", blocked(500, 4*s, 22*s), 500, true},
		{"violated in the last second", "promql: x < 20 for 15s", blocked(500, 23*s, 23*s), 1, false},
		{"and without a for", "promql: x < 20", blocked(500, 23*s, 23*s), 1, false},
		{"for just less than a window", "promql: x < 20", blocked(500, 10*s, 11*s), 1, false},
		{"for more than a window", "promql: x < 20", blocked(500, 10*s, 12*s), 500, true},
		{"for just less than it must", "promql: x < 20 for 5s", blocked(500, 10*s, 14*s), 1, false},
		{"for as long as it must", "promql: x < 20 for 5s", blocked(500, 10*s, 15*s), 500, true},
		{"twice for half of it", "promql: x < 20 for 5s", blocked(500, 8*s, 11*s, 13*s, 16*s), 1, false},
		{"before the phase", "promql: x < 20 for 5s", blocked(500, 0, 7*s), 1, false},
		{"for all of a phase that is shorter", "promql: x < 20 for 1m", blocked(500, 0, 60*s), 500, true},
		{"for most of a phase that is shorter", "promql: x < 20 for 1m", blocked(500, 5*s, 60*s), 1, false},
		{"the mildest of the worst", "promql: x < 20 for 5s", func(at time.Duration) float64 {
			return 40 + 10*at.Seconds()
		}, 40 + 10*18, true},
		{"too little", "promql: x > 20 for 5s", blocked(30, 0, 9*s, 16*s, 60*s), 1, true},
		{"too little for a moment", "promql: x > 20 for 5s", blocked(30, 0, 9*s, 14*s, 60*s), 30, false},
		{"a moment without a value", "promql: x < 20 for 5s", func(at time.Duration) float64 {
			if at > 11*s+s/2 && at < 13*s+s/2 {
				return no
			}
			return blocked(500, 10*s, 15*s)(at)
		}, 500, true},
		{"values in the last seconds alone", "promql: x < 20 for 5s grace 1m", func(at time.Duration) float64 {
			if at < 20*s {
				return no
			}
			return 500
		}, no, false},
		{"never a value", "promql: x < 20 grace 1m", func(time.Duration) float64 {
			return no
		}, no, false},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			spec := gaugeSpec(t, tt.rule, func(at time.Duration) (float64, bool) {
				v := tt.value(at)
				return v, v != no
			})
			spec.Bounded = measuredFor(20 * s)
			out := carryOut(t, spec)
			if (len(out.Broken) == 1) != tt.broken || out.Validity.Valid != (tt.want != no) {
				t.Errorf(
					"broken %q, valid %v: %s",
					out.Broken,
					out.Validity.Valid,
					gates(out.Validity),
				)
			}
			events := eventsOf(t, finish(t, spec, out))
			i := slices.IndexFunc(events, func(e record.Event) bool {
				return e.Kind == "slo" && e.Phase == "measured"
			})
			if e := events[i]; e.NoData != (tt.want == no) || e.Violated != tt.broken ||
				!e.NoData && math.Abs(e.Value-tt.want) > 1e-6 {
				t.Errorf("judged by %+v, want %v", e, tt.want)
			}
		})
	}
}

// Of a phase with a stop rule the last part counts, and earlier values of an expression do not.
func TestExpressionOverTheWindowOfAPhase(t *testing.T) {
	for end, broken := range map[time.Duration]bool{
		19 * time.Second: false,
		30 * time.Second: true,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := gaugeSpec(t, "promql: x < 20 for 5s", func(at time.Duration) (float64, bool) {
				if at < end {
					return 500, true
				}
				return 1, true
			})
			s.Bounded = windowOf(10 * time.Second)
			out, err := Run(t.Context(), s)
			if err != nil || !out.Validity.Valid || (len(out.Broken) == 1) != broken {
				t.Errorf(
					"violated until %v: %v, broken %q, findings %q",
					end,
					err,
					out.Broken,
					gates(out.Validity),
				)
			}
		})
	}
}

// Nor does it matter that an expression had no value before the part that counts, here from 23 s to
// 33 s. Of a gap that reaches into that part, only the part inside counts.
func TestExpressionWithAGapBesideTheWindow(t *testing.T) {
	const window = 10 * time.Second
	for _, tt := range []struct {
		name     string
		window   time.Duration
		from, to time.Duration // of the gap
		valid    bool
	}{
		{"before the window", window, 6 * time.Second, 12 * time.Second, true},
		{"into the window, for less than the grace", window, 19600 * time.Millisecond, 24600 * time.Millisecond, true},
		{"into the window, for longer", window, 19600 * time.Millisecond, 27 * time.Second, false},
		{"in the window", window, 26 * time.Second, 31 * time.Second, false},
		{"without a window", 0, 6 * time.Second, 12 * time.Second, false},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			s := gaugeSpec(t, "promql: x < 20 grace 2s", func(at time.Duration) (float64, bool) {
				return 1, at < tt.from || at >= tt.to
			})
			s.Bounded = windowOf(tt.window)
			out := carryOut(t, s)
			named := 0
			for _, f := range out.Validity.Findings {
				if strings.HasPrefix(
					f.Text,
					"promql: x < 20 grace 2s had no data for more than 2s of the measured phase",
				) {
					named++
				}
			}
			if out.Validity.Valid != tt.valid || (named == 1) == tt.valid || named > 1 {
				t.Errorf(
					"valid %v, named %d times, findings %q",
					out.Validity.Valid,
					named,
					gates(out.Validity),
				)
			}
		})
	}
}

// Seed 002: 7500 users asked, overloaded at 6000, 5000 used.
func TestBoundedTestAdvisesALevel(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*climber)
		want string
	}{
		{"users that never come", func(c *climber) {
			c.most = 6000
		}, "only 6000 of 7500 users were ever active; use bounded.users: 5000"},
		{"a rule that breaks on the way", func(c *climber) {
			c.latency = func(n int) time.Duration {
				if n >= 6000 {
					return 300 * time.Millisecond
				}
				return 10 * time.Millisecond
			}
		}, "mean(op) < 100ms broke at 6"},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			c := &climber{lab: newLab(100_000), most: 7500}
			tt.set(c)
			s := spec(t, c.lab)
			s.Driver = c
			s.Rules = rules(t, "mean(op) < 100ms")
			s.Bounded = &BoundedTest{
				Users:   7500,
				Ramp:    30 * time.Second,
				Settle:  time.Second,
				Measure: 5 * time.Second,
			}
			out := carryOut(t, s)
			text := ""
			for _, f := range out.Validity.Findings {
				if f.Gate == "level" {
					text = f.Level + " " + f.Text
				}
			}
			if out.Validity.Valid || !strings.HasPrefix(text, "red "+tt.want) ||
				!strings.Contains(text, "use bounded.users: 5") {
				t.Errorf("valid %v: %q, want %q", out.Validity.Valid, text, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		stopped, carried float64
		want             int
	}{{6000, 5990, 5000}, {6000, 4321, 4300}, {0, 0, 0}, {11, 11, 9}, {1, 1, 0}} {
		if got := advice(tt.stopped, tt.carried); got != tt.want {
			t.Errorf(
				"stopped at %.0f, carried %.0f: advice %d, want %d",
				tt.stopped,
				tt.carried,
				got,
				tt.want,
			)
		}
	}
}

// climber is a lab whose users come one after the other, up to a limit.
type climber struct {
	*lab
	most  int
	want  int
	since time.Time
	over  time.Duration
}

func (c *climber) SetUsers(n int, over time.Duration) error {
	c.want, c.since, c.over = n, time.Now(), over
	return c.lab.SetUsers(0, 0)
}

func (c *climber) Users() (desired, active, failed int) {
	part := min(1, time.Since(c.since).Seconds()/max(c.over.Seconds(), 0.001))
	desired = int(part * float64(c.want))
	_ = c.lab.SetUsers(min(desired, c.most), 0)
	_, active, failed = c.lab.Users()
	return desired, active, failed
}

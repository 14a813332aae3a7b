package trial

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

// drive makes the lab read amber or red in a gate that the trial reads from its own operations.
var drive = map[string]func(l *lab, red bool){
	"lag": func(l *lab, red bool) {
		l.lag = func(int) time.Duration {
			return either(red, 30*time.Millisecond, 8*time.Millisecond)
		}
	},
	"late": func(l *lab, red bool) {
		n := 0
		l.lag = func(int) time.Duration {
			if n++; n%100 < either(red, 8, 3) {
				return 15 * time.Millisecond
			}
			return 0
		}
	},
	"users": func(l *lab, red bool) { l.short = either(red, 5, 2) },
	"wait": func(l *lab, red bool) {
		l.latency = func(int) time.Duration { return 40 * time.Millisecond }
		l.wait = either(red, 4*time.Millisecond, 1200*time.Microsecond)
	},
	"inbox": func(l *lab, red bool) {
		l.inbox = either(red, 600*time.Millisecond, 100*time.Millisecond)
	},
	"rate": func(l *lab, red bool) {
		l.counts.Wanted, l.counts.Served = 1000, either(red, uint64(900), 980)
	},
	"bursts": func(l *lab, red bool) {
		l.counts.Begun = slices.Repeat([]uint32{50}, 10)
		l.counts.Begun[3] = 350
		if red {
			l.counts.Begun = slices.Repeat([]uint32{10}, 50)
			l.counts.Begun[7] = 1000
		}
	},
	"script": func(l *lab, red bool) {
		for at := time.Second; at < 12*time.Second; at += 100 * time.Millisecond {
			time.AfterFunc(at, func() { iterate(l, either(red, 100, 1000), 2) })
		}
	},
	"little": func(l *lab, red bool) { // 100 users make 25 user-seconds in a tick of 250 ms
		l.counts.Actions = 100
		l.counts.Think = 20 * time.Second
		l.counts.Busy = either(red, 1*time.Second, 3750*time.Millisecond)
	},
}

func either[T any](red bool, r, amber T) T {
	if red {
		return r
	}
	return amber
}

func TestEveryGateTurnsAmberAndRed(t *testing.T) {
	for _, g := range plan.DefaultGates() {
		for _, level := range []string{record.Amber, record.Red} {
			virtual(t, g.Name+" "+level, func(t *testing.T) {
				l := newLab(1000)
				red := level == record.Red
				if f := drive[g.Name]; f != nil {
					f(l, red)
				} else {
					v := (g.Amber + g.Red) / 2
					if red {
						v = g.Red + (g.Red-g.Amber)/10
					}
					l.healthy = map[string]Reading{g.Name: {Value: v}}
				}
				s := boundedSpec(t, l)
				out := carryOut(t, s)
				if !strings.Contains(gates(out.Validity), level+" "+g.Name) ||
					out.Validity.Valid == red {
					t.Errorf("valid %v, findings %q", out.Validity.Valid, gates(out.Validity))
				}
				line := out.Validity.Gates[slices.IndexFunc(out.Validity.Gates, func(x record.GateOutcome) bool {
					return x.Name == g.Name
				})]
				if line.Level != level || line.Value == nil || line.Worst == nil ||
					line.Seconds < 4 ||
					line.AmberSeconds+line.RedSeconds == 0 ||
					red && line.RedSeconds == 0 {
					t.Errorf("table: %+v, value %v, worst %v", line, line.Value, line.Worst)
				}
				n := 0
				r := finish(t, s, out)
				ev := eventsOf(t, r)
				for _, e := range ev {
					if _, ok := e.Readings[g.Name]; ok && e.Kind == "gates" &&
						e.Phase == "measure" {
						n++
					}
				}
				if n < 4 {
					t.Errorf("%d readings in the events of 5 s", n)
				}
			})
		}
	}
}

// A search without any reading of the generator's CPU is as void as such a measured phase.
func TestSearchWithoutAnyCPUReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(800)
		l.healthy = map[string]Reading{"core": {Why: "no such file"}}
		s, out := searched(t, l)
		if out.Validity.Valid || !strings.Contains(gates(out.Validity), "red core") {
			t.Errorf(
				"valid %v, findings %q, capacity %+v",
				out.Validity.Valid,
				gates(out.Validity),
				out.Capacity,
			)
		}
		finish(t, s, out)
	})
}

func TestWhatIsNotMeasuredIsNotGreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		l.healthy = map[string]Reading{
			"core":   {Why: "no such file"},
			"steal":  {Why: "an old kernel"},
			"shares": {Why: "one server", Inapplicable: true},
		}
		s := boundedSpec(t, l)
		out := carryOut(t, s)
		if out.Validity.Valid || gates(out.Validity) != "red core" {
			t.Errorf(
				"without any CPU reading: valid %v, %q",
				out.Validity.Valid,
				gates(out.Validity),
			)
		}
		for _, g := range out.Validity.Gates {
			why := map[string]string{
				"core":  "no such file",
				"steal": "an old kernel",
				"gc":    "nothing reads it here",
				"users": "",
				"lag":   "",
			}
			if want, ok := why[g.Name]; ok &&
				(g.Why != want || (g.Level == record.NotMeasured) != (want != "") || (g.Value == nil) != (want != "")) {
				t.Errorf("%s: %s, %q", g.Name, g.Level, g.Why)
			}
		}
		i := slices.IndexFunc(out.Validity.Gates, func(g record.GateOutcome) bool {
			return g.Name == "shares"
		})
		if i < 0 || out.Validity.Gates[i].Level != record.NotApplicable ||
			out.Validity.Gates[i].Why != "one server" {
			t.Errorf("a gate with nothing to read: %+v", out.Validity.Gates)
		}
		if n := len(out.Validity.Gates); n != len(plan.DefaultGates()) {
			t.Errorf("%d gates in the table", n)
		}
	})
}

// A disturbance of a moment is listed; one that lasts voids the run although the mean is good.
func TestSecondsBeyondALimit(t *testing.T) {
	for _, tt := range []struct {
		seconds int
		want    string
	}{{2, ""}, {4, "red steal"}} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(1000)
			began := time.Now()
			l.health = func(int) map[string]Reading {
				at := time.Since(began) - 5*time.Second // the measured phase goes on for 20 s
				if at > 100*time.Millisecond &&
					at < time.Duration(tt.seconds)*time.Second+100*time.Millisecond {
					return map[string]Reading{"steal": {Value: 4}}
				}
				return map[string]Reading{"steal": {Value: 0}}
			}
			s := spec(t, l)
			s.Bounded = &BoundedTest{
				Users:   100,
				Ramp:    2 * time.Second,
				Settle:  3 * time.Second,
				Measure: 20 * time.Second,
			}
			out := carryOut(t, s)
			if got := gates(out.Validity); got != tt.want || out.Validity.Valid != (tt.want == "") {
				t.Errorf("%d s of steal: %q, want %q", tt.seconds, got, tt.want)
			}
			for _, g := range out.Validity.Gates {
				if g.Name == "steal" && (g.RedSeconds != tt.seconds || *g.Worst != 4) {
					t.Errorf(
						"%d s of steal: %d red seconds, worst %v",
						tt.seconds,
						g.RedSeconds,
						*g.Worst,
					)
				}
				words := strings.HasPrefix(
					g.Why,
					"beyond a limit in 2 of 20 seconds; more than 3 would count",
				)
				if g.Name == "steal" && words != (g.Level == record.Green) {
					t.Errorf("%d s of steal: %s, because: %q", tt.seconds, g.Level, g.Why)
				}
			}
		})
	}
}

func TestAPlanChangesLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		l.healthy = map[string]Reading{"core": {Value: 95}}
		s := boundedSpec(t, l)
		amber, red := 96.0, 99.0
		s.Gates = plan.Gates{{Name: "core", Amber: &amber, Red: &red}}.All()
		out, err := Run(t.Context(), s)
		if err != nil || !out.Validity.Valid || gates(out.Validity) != "" {
			t.Errorf("%v, %q", err, gates(out.Validity))
		}
	})
}

// Each red gate of the generator ends a search with a bound, not with a capacity.
func TestAGateEndsTheSearch(t *testing.T) {
	for _, g := range plan.DefaultGates() {
		if drive[g.Name] != nil && g.Name != "inbox" || g.Search != plan.EndsSearch {
			continue
		}
		virtual(t, g.Name, func(t *testing.T) {
			l := newLab(800)
			if g.Name == "inbox" {
				l.lag = func(n int) time.Duration {
					if n > 600 {
						l.inbox = 600 * time.Millisecond
					}
					return 0
				}
			}
			l.health = func(n int) map[string]Reading {
				if n > 600 {
					return map[string]Reading{g.Name: {Value: g.Red + (g.Red-g.Amber)/10}}
				}
				return nil
			}
			_, out := searched(t, l)
			if c := out.Capacity; c.Kind != record.AtLeast || c.Rule != record.ByGate+g.Name ||
				c.Users < 480 ||
				c.Users > 640 {
				t.Fatalf("capacity %+v", c)
			}
			if !out.Validity.Valid || gates(out.Validity) != "amber "+g.Name {
				t.Errorf("valid %v, findings %s", out.Validity.Valid, gates(out.Validity))
			}
		})
	}
}

// A server that was overloaded carries three fifths until its load falls below half. A generator
// that turns red after that was seen ends the search as it stands, and not with the level that was
// held for long on the way up.
func TestAGateEndsNoSearchWithABoundThatALatchContradicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(10000)
		var latched time.Time
		l.latency = func(n int) time.Duration {
			switch {
			case n > 800 && latched.IsZero():
				latched = time.Now()
			case n < 400:
				latched = time.Time{}
			}
			if n > 800 || !latched.IsZero() && n > 480 {
				return 300 * time.Millisecond
			}
			return 10 * time.Millisecond
		}
		l.health = func(int) map[string]Reading {
			if !latched.IsZero() && time.Since(latched) > 6*time.Second {
				return map[string]Reading{"steal": {Value: 50}}
			}
			return nil
		}
		s := searchSpec(spec(t, l), 700, 5000)
		s.Search.Budget, s.Search.RampRate = 90*time.Second, 0.005
		out := carryOut(t, s)
		c := out.Capacity
		if c == nil || c.Kind != record.Unstable || c.Rule != record.ByGate+"steal" ||
			!strings.Contains(c.Why, "after the overload nothing held again") ||
			!strings.Contains(c.Why, "hypervisor") {
			t.Errorf("capacity %+v", c)
		}
		if got := gates(out.Validity); !strings.Contains(got, "amber search") ||
			!strings.Contains(got, "amber steal") {
			t.Errorf("findings %s", got)
		}
	})
}

// A gate that is read over the measured phase cannot end a search, so none of them may promise to.
func TestLongGatesWatchNoSearch(t *testing.T) {
	for _, g := range plan.DefaultGates() {
		if g.Search == plan.EndsSearch && g.Over == plan.WholePhase {
			t.Errorf("%s watches the search, where it is never read", g.Name)
		}
	}
}

func TestLittleSeesLostTime(t *testing.T) {
	st := stretch{in: []slice{{
		at:          10 * time.Second,
		userSeconds: 1000,
		counts: workload.Activity{
			Actions: 400,
			Think:   600 * time.Second,
			Busy:    400 * time.Second,
		},
	}}}
	if rd := readLittle(st); rd.Why != "" || rd.Value > 1e-9 {
		t.Errorf("all accounted for: %+v", rd)
	}
	st.in[0].counts.Busy = 350 * time.Second
	if rd := readLittle(st); rd.Value < 4.99 || rd.Value > 5.01 {
		t.Errorf("5 %% lost: %+v", rd)
	}
	st.in[0].counts.Open = 50 * time.Second
	if rd := readLittle(st); rd.Value > 1e-9 {
		t.Errorf("what was missing lies in pauses that have not ended: %+v", rd)
	}
}

// A second in which 50 operations took 5 ms each, and one of them waited 30 ms for its connection,
// gives no reading.
func TestWaitNeedsSomethingToCompareWith(t *testing.T) {
	reading := func(ops int, service time.Duration) Reading {
		reg := measure.NewRegistry(1)
		rec := reg.Recorder(0)
		post := rec.Name("post")
		for i := range ops {
			wait := time.Duration(0)
			if i%50 == 0 {
				wait = 30 * time.Millisecond
			}
			rec.Record(post, &measure.Op{Sent: wait, Done: wait + service})
		}
		return readWait(stretch{in: []slice{{windows: reg.Cut()}}})
	}
	if rd := reading(50, 5*time.Millisecond); rd.Why == "" {
		t.Errorf("50 operations read %+v", rd)
	}
	if rd := reading(5000, 100*time.Microsecond); rd.Why != "" || rd.Value < 59 || rd.Value > 61 {
		t.Errorf(
			"5000 operations of 0.1 ms with 100 waits of 30 ms read %+v, want 3 s of 5 s, not of 3.5",
			rd,
		)
	}
	if rd := reading(500, 5*time.Millisecond); rd.Why != "" || rd.Value < 10 || rd.Value > 11.5 {
		t.Errorf("500 operations with 10 waits read %+v, want 300 ms of 2.8 s", rd)
	}
}

func TestBurstsLeaveChanceOut(t *testing.T) {
	at := func(bins ...uint32) stretch {
		return stretch{in: []slice{{counts: workload.Activity{Begun: slices.Repeat(bins, 10)}}}}
	}
	if rd := readBursts(at(2, 3, 1, 8)); rd.Value > 1 {
		t.Errorf("chance is a burst of %v", rd.Value)
	}
	if rd := readBursts(at(0, 0, 0, 0, 0, 0, 0, 0, 0, 1000)); rd.Value < 9 {
		t.Errorf("everything in one tenth of a second is a burst of %v", rd.Value)
	}
	if rd := readBursts(at(0, 1, 0, 0)); rd.Why == "" {
		t.Error("too few actions were judged")
	}
}

// One second in which threads were late is listed and voids nothing, however late they were.
func TestOneBadSecondOfTheScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		began := time.Now()
		l.health = func(int) map[string]Reading {
			if at := time.Since(began); at > 5100*time.Millisecond && at < 6100*time.Millisecond {
				return map[string]Reading{"sched": {Value: 500}}
			}
			return map[string]Reading{"sched": {Value: 1}}
		}
		s := spec(t, l)
		s.Bounded = &BoundedTest{
			Users:   100,
			Ramp:    2 * time.Second,
			Settle:  3 * time.Second,
			Measure: 10 * time.Second,
		}
		out, err := Run(t.Context(), s)
		if err != nil || gates(out.Validity) != "" {
			t.Errorf("%v, %q", err, gates(out.Validity))
		}
	})
}

// Actions begin on time, and inside them the generator needs 21 ms from one answer to the next
// request: that is in no latency, and so it must void the run. Where actions begin late and their
// many operations follow each other at once, those do not hide it.
func TestLagInsideActionsVoids(t *testing.T) {
	for _, tt := range []struct {
		name        string
		begin, then time.Duration
	}{{"inside", 0, 21 * time.Millisecond}, {"at the beginning", 21 * time.Millisecond, 0}} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(1000)
			l.lag = func(int) time.Duration { return tt.begin }
			l.within = func(int) time.Duration { return tt.then }
			s := boundedSpec(t, l)
			out := carryOut(t, s)
			if got := gates(out.Validity); out.Validity.Valid ||
				!strings.Contains(got, "red lag") ||
				!strings.Contains(got, "red late") {
				t.Errorf(
					"%s: valid %v, findings %q; want red lag and red late",
					tt.name,
					out.Validity.Valid,
					got,
				)
			}
		})
	}
}

package trial

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/record"
)

// phasesOf returns the phases by name.
func phasesOf(out Outcome) map[string]record.Phase {
	all := map[string]record.Phase{}
	for _, p := range out.Phases {
		all[p.Name] = p
	}
	return all
}

// A lab that answers in 10 ms for so long and in 30 ms afterwards.
func slowsAfter(l *lab, d time.Duration) {
	began := time.Now()
	l.latency = func(int) time.Duration {
		if time.Since(began) < d {
			return 10 * time.Millisecond
		}
		return 30 * time.Millisecond
	}
}

// Only the last part counts: rules, gates and the manifest's phase are of it alone.
func TestWindowOfAKnownEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := spec(t, l)
		s.Rules = rules(t, "mean(op) < 20ms")
		s.Bounded = &BoundedTest{
			Users:   100,
			Ramp:    time.Second,
			Settle:  time.Second,
			Measure: 30 * time.Second,
			Window:  10 * time.Second,
		}
		slowsAfter(l, 21*time.Second)
		out := carryOut(t, s)
		p := phasesOf(out)
		if p["soak"].From != 2*time.Second || p["soak"].To != 22*time.Second ||
			p["measure"].From != 22*time.Second ||
			p["measure"].To != 32*time.Second {
			t.Errorf("phases %+v", out.Phases)
		}
		if len(out.Broken) != 1 || !strings.Contains(out.Broken[0], "30") {
			t.Errorf("the mean of the window is 30 ms; broken: %v", out.Broken)
		}
		for _, g := range out.Validity.Gates {
			if g.Seconds > 10 {
				t.Errorf("gate %s read %d seconds of a window of 10", g.Name, g.Seconds)
			}
		}
	})
}

func TestUntilEndsThePhase(t *testing.T) {
	for _, tt := range []struct {
		name       string
		window     time.Duration
		full       time.Duration // after the epoch
		from, to   time.Duration // of the measured phase
		broken     bool          // mean(op) < 20ms over the part that counts: slow from 20 s on
		valid      bool
		ended, red string
	}{
		{"at once", 0, 0, 2 * time.Second, 3 * time.Second, false, false, "full, after 1s", "red until"},
		{"on the way", 0, 12 * time.Second, 2 * time.Second, 12 * time.Second, false, true, "full, after 10s", ""},
		{"never", 0, time.Hour, 2 * time.Second, 62 * time.Second, true, true, "its time was over before the stop rule held", ""},
		{"a window", 10 * time.Second, 35 * time.Second, 25 * time.Second, 35 * time.Second, true, true, "full, after 33s", ""},
		{"a window before it slows", 10 * time.Second, 19 * time.Second, 9 * time.Second, 19 * time.Second, false, true, "full, after 17s", ""},
		{"a window and no end", 10 * time.Second, time.Hour, 52 * time.Second, 62 * time.Second, true, true, "its time was over", ""},
		{"before the window is whole", 10 * time.Second, 9 * time.Second, 2 * time.Second, 9 * time.Second, false, false, "full, after 7s", "red until"},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(1000)
			s := spec(t, l)
			s.Rules = rules(t, "mean(op) < 20ms")
			began := time.Now()
			slowsAfter(l, 20*time.Second)
			s.Bounded = &BoundedTest{
				Users:   100,
				Ramp:    time.Second,
				Settle:  time.Second,
				Measure: time.Minute,
				Window:  tt.window,
				Until: func() (string, error) {
					if time.Since(began) >= tt.full {
						return "full", nil
					}
					return "", nil
				},
			}
			out := carryOut(t, s)
			r := finish(t, s, out)
			ph, ok := r.Manifest.Phase("measure")
			if !ok || ph.From != tt.from || ph.To != tt.to ||
				!strings.HasPrefix(ph.Ended, tt.ended) {
				t.Errorf("measured %+v", ph)
			}
			if soak, ok := r.Manifest.Phase("soak"); ok != (tt.from > 2*time.Second) ||
				ok && (soak.From != 2*time.Second || soak.To != tt.from) {
				t.Errorf("soak %+v", soak)
			}
			if out.Validity.Valid != tt.valid ||
				tt.red != "" && !strings.Contains(gates(out.Validity), tt.red) {
				t.Errorf("valid %v (%s)", out.Validity.Valid, gates(out.Validity))
			}
			if broken := len(out.Broken) > 0; broken != tt.broken {
				t.Errorf("broken %v", out.Broken)
			}
			merged, err := r.Merged(ph.From, ph.To)
			if err != nil {
				t.Fatal(err)
			}
			events := eventsOf(t, r)
			for _, e := range events {
				if e.Kind == "slo" && e.Phase == "measured" && e.Count != merged["post"].Count() {
					t.Errorf(
						"the rule was judged from %d operations, the phase has %d",
						e.Count,
						merged["post"].Count(),
					)
				}
			}
			want := int((tt.to - tt.from) / time.Second)
			for _, g := range out.Validity.Gates {
				if g.Seconds > want {
					t.Errorf("gate %s read %d seconds of %d", g.Name, g.Seconds, want)
				}
			}
		})
	}
}

// The worst second of a gate is one of those that count, whichever side of its limits is the bad
// one.
func TestWorstReadingOfAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		began := time.Now()
		within := func(from, to time.Duration) bool { // the whole seconds after from, to to
			at := time.Since(began)
			return at > from+100*time.Millisecond && at < to+100*time.Millisecond
		}
		l.health = func(int) map[string]Reading {
			core, left := 30.0, 5000.0
			switch {
			case within(10*time.Second, 11*time.Second): // of the soak, to 23 s
				core, left = 99, 600
			case within(26*time.Second, 30*time.Second):
				core, left = 75, 150
			}
			return map[string]Reading{"core": {Value: core}, "fds_free": {Value: left}}
		}
		s := spec(t, l)
		s.Bounded = windowOf(10 * time.Second)
		out := carryOut(t, s)
		if got := gates(out.Validity); got != "amber core, amber fds_free" ||
			!strings.HasSuffix(
				out.Validity.Findings[0].Text,
				"beyond the limit in 4 of 10 seconds, worst 75%",
			) {
			t.Errorf("findings %+v", out.Validity.Findings)
		}
		for _, g := range out.Validity.Gates {
			want, ok := map[string]float64{"core": 75, "fds_free": 150}[g.Name]
			if !ok {
				continue
			}
			if g.Worst == nil || g.Seconds != 10 || g.AmberSeconds != 4 {
				t.Errorf("%+v: want 4 amber seconds of 10", g)
			} else if *g.Worst != want {
				t.Errorf("%s: worst %v, want %v", g.Name, *g.Worst, want)
			}
		}
		finish(t, s, out)
	})
}

// A long window begins at one of its marks: never too late, and earlier by less than the distance
// of two.
func TestLongWindow(t *testing.T) {
	const window = 1201 * time.Second // marks every 3 s
	for _, length := range []time.Duration{1300 * time.Second, 1301 * time.Second, 1302 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(1000)
			s := spec(t, l)
			began := time.Now()
			s.Bounded = &BoundedTest{
				Users:   10,
				Ramp:    time.Second,
				Settle:  time.Second,
				Measure: time.Hour,
				Window:  window,
				Until: func() (string, error) {
					if time.Since(began) >= 2*time.Second+length {
						return "full", nil
					}
					return "", nil
				},
			}
			out := carryOut(t, s)
			ph := phasesOf(out)["measure"]
			if d := ph.To - ph.From; ph.To != 2*time.Second+length || d < window ||
				d >= window+3*time.Second {
				t.Errorf("%v of %v count, want %v", d, length, window)
			}
		})
	}
}

// A stop rule that cannot be watched voids the run, which goes on to its end.
func TestUntilThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := spec(t, l)
		s.Bounded = &BoundedTest{
			Users:   100,
			Ramp:    time.Second,
			Settle:  time.Second,
			Measure: 5 * time.Second,
			Until:   func() (string, error) { return "", errors.New("no such disk") },
		}
		out := carryOut(t, s)
		if out.Validity.Valid || strings.Count(gates(out.Validity), "red until") != 1 ||
			phasesOf(out)["measure"].To != 7*time.Second {
			t.Errorf(
				"valid %v (%s), phases %+v",
				out.Validity.Valid,
				gates(out.Validity),
				out.Phases,
			)
		}
	})
}

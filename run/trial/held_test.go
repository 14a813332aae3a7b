package trial

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
)

func gateOf(v record.Validity, name string) record.GateOutcome {
	for _, g := range v.Gates {
		if g.Name == name {
			return g
		}
	}
	return record.GateOutcome{}
}

// After a search alone, every gate that the trial can read has a reading, and a gate without a
// signal is distinguished from one that was not measured.
func TestSearchAloneMeasuresTheGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(800)
		l.healthy = map[string]Reading{"pause": {Value: 1}, "core": {Value: 20}}
		s, out := searched(t, l)
		finish(t, s, out)
		if len(out.Validity.Gates) != len(plan.DefaultGates()) || gates(out.Validity) != "" {
			t.Fatalf("%d gates, findings %q", len(out.Validity.Gates), gates(out.Validity))
		}
		for _, name := range []string{"users", "wait", "little", "pause", "lag", "late"} {
			if g := gateOf(out.Validity, name); g.Level != record.Green || g.Value == nil ||
				g.Seconds == 0 {
				t.Errorf("%s: %+v", name, g)
			}
		}
		if g := gateOf(out.Validity, "rate"); g.Level != record.NotApplicable ||
			!strings.Contains(g.Why, "no arrivals") {
			t.Errorf("rate: %+v", g)
		}
		if g := gateOf(out.Validity, "gc"); g.Level != record.NotMeasured {
			t.Errorf("gc: %+v", g)
		}
	})
}

// A gate that the target may turn red is read where the target was well, is amber at most, and ends
// no search.
func TestHeldGatesEndNoSearch(t *testing.T) {
	for name, drive := range map[string]func(l *lab){
		"users": func(l *lab) { l.short = 40 },
		"wait": func(l *lab) {
			l.latency = func(int) time.Duration { return 40 * time.Millisecond }
			l.wait = 4 * time.Millisecond
		},
		"pause": func(l *lab) {
			l.healthy = map[string]Reading{
				"pause": {Value: 50},
				"core":  {Value: 20},
			}
		},
	} {
		virtual(t, name, func(t *testing.T) {
			l := newLab(800)
			drive(l)
			s, out := searched(t, l)
			finish(t, s, out)
			if c := out.Capacity; c == nil || c.Kind != record.Estimate ||
				strings.HasPrefix(c.Rule, record.ByGate) {
				t.Errorf("capacity %+v", c)
			}
			if got := gates(out.Validity); !out.Validity.Valid ||
				!strings.Contains(got, "amber "+name) ||
				strings.Contains(got, "red") {
				t.Errorf("valid %v, findings %q", out.Validity.Valid, got)
			}
			if g := gateOf(out.Validity, name); g.Level != record.Amber {
				t.Errorf("%+v", g)
			}
		})
	}
}

// A target that is overloaded makes its clients wait: those windows are left out.
func TestOverloadIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(800)
		l.latency = func(n int) time.Duration {
			if n > 800 {
				l.wait = 500 * time.Millisecond
			} else {
				l.wait = 0
			}
			return 40 * time.Millisecond
		}
		s, out := searched(t, l)
		finish(t, s, out)
		if g := gateOf(out.Validity, "wait"); g.Level != record.Green {
			t.Errorf("%+v, value %v", g, g.Value)
		}
	})
}

// A search without any held window measured none of these gates; inapplicable ones stay
// inapplicable.
func TestSearchWithoutHeldWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(800)
		l.healthy = map[string]Reading{"core": {Value: 99}}
		s, out := searched(t, l)
		finish(t, s, out)
		for name, want := range map[string]string{
			"users":  record.NotMeasured,
			"little": record.NotMeasured,
			"rate":   record.NotApplicable,
		} {
			if g := gateOf(out.Validity, name); g.Level != want || g.Why == "" {
				t.Errorf("%s: %+v, want %s", name, g, want)
			}
		}
	})
}

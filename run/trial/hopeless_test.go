package trial

import (
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
)

// A test of which all operations fail from the beginning ends in its ramp, with their failures; one
// that once worked goes on to its end.
func TestATestWithoutHopeIsGivenUp(t *testing.T) {
	for _, tt := range []struct {
		name     string
		failed   time.Duration // from the beginning on
		hopeless bool
	}{
		{"all fail", time.Hour, true},
		{"for a while", 5 * time.Second, false},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(1000)
			began := time.Now()
			l.class = func() measure.Class {
				if time.Since(began) < tt.failed {
					return measure.Status4xx
				}
				return measure.OK
			}
			s := spec(t, l)
			s.Bounded = &BoundedTest{
				Users:   100,
				Ramp:    time.Minute,
				Settle:  time.Second,
				Measure: 10 * time.Minute,
				GiveUp:  10 * time.Second,
			}
			out := carryOut(t, s)
			if (out.Hopeless != "") != tt.hopeless || tt.hopeless && out.Validity.Valid {
				t.Fatalf("given up: %q; valid %v", out.Hopeless, out.Validity.Valid)
			}
			if took := time.Since(began); tt.hopeless != (took < 20*time.Second) {
				t.Errorf("it took %v", took)
			}
			if tt.hopeless &&
				(!strings.Contains(out.Hopeless, "4xx") || out.Interrupted != "" || len(out.Phases) == 0 || out.Phases[0].Name != "ramp") {
				t.Errorf(
					"%q, interrupted %q, phases %+v",
					out.Hopeless,
					out.Interrupted,
					out.Phases,
				)
			}
		})
	}
}

package fleet

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/run/trial"
)

// Agents that take longer to start than the run's epoch allows for: the phases have their lengths
// all the same, and the measured one has all users in each second.
func TestATrialThatBeginsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := measured(t, stalled{patience: time.Second}, 2, func(*trial.Config) {
			time.Sleep(8300 * time.Millisecond)
		})
		var phases []string
		for _, ph := range out.Phases {
			phases = append(phases, fmt.Sprint(ph.Name, " ", ph.From, " ", ph.To))
		}
		if want := "[ramp 9s 11s settle 11s 14s measure 14s 34s]"; fmt.Sprint(phases) != want ||
			!out.Validity.Valid {
			t.Errorf("%v, want %s; findings %v", phases, want, out.Validity.Findings)
		}
		if w, _ := ask(t, r); w.Count() < 900 || w.Count() > 1100 {
			t.Errorf("%d operations of 50 users in 20 s", w.Count())
		}
	})
}

package compare

import (
	"testing"
	"testing/synctest"
	"time"
)

// Pilots and deployments that took longer than could be foreseen leave the shortest comparison, as
// long as it takes no more than half again the minutes.
func TestOverrun(t *testing.T) {
	const text = "name: m\ntarget: {driver: refnull}\nworkload: {behavior: poster}\n" +
		"bounded: {users: 5, ramp: 3s, settle: 5s, measure: auto}\ncompare: {arms: {base: {}, new: {}}}\n"
	p := parsed(t, text)
	synctest.Test(t, func(t *testing.T) {
		const between = 5 * time.Second
		_, least := p.Within(0, between)
		within := timed{8, time.Now()}
		time.Sleep(12*time.Minute - reporting - least)
		if _, err := within.plan(p, between, 0); err == nil {
			t.Error("a comparison that takes 12 minutes fits into 8")
		}
		q := within.overrun(p, between)
		if q == nil || q.Compare.Blocks != 6 || q.Bounded.Measure != p.Bounded.MeasureMin {
			t.Errorf("the plan is %+v, want six of the shortest blocks", q)
		}
		time.Sleep(time.Second)
		if q := within.overrun(p, between); q != nil {
			t.Errorf("after more than half again the minutes, the plan is %+v", q)
		}
	})
}

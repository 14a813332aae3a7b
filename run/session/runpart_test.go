package session

import (
	"testing"
	"time"

	"plimsoll/plan"
)

// A pilot takes a minute at the pace of people. A faster pace makes no server faster, so that its
// windows keep 3 s.
func TestLevelTimes(t *testing.T) {
	for pace, want := range map[float64][2]time.Duration{
		1:   {time.Minute, 5 * time.Second},
		0.1: {time.Minute, 3 * time.Second},
	} {
		p := &plan.Plan{Workload: plan.Workload{Pace: pace}, Bounded: &plan.Bounded{}}
		l := RunPart{Bounded: true, Start: 10, Most: 100}.Tests(p)
		if l.Bounded != nil || l.Level == nil {
			t.Fatalf("a pilot with the test %+v", l.Bounded)
		}
		if c := l.Level; c.Start != 10 || c.Max != 100 ||
			[2]time.Duration{c.Budget, c.Window} != want {
			t.Errorf("pace %v: %+v; want %v", pace, c, want)
		}
	}
}

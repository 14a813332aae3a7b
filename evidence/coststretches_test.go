package evidence

import (
	"math"
	"testing"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/record"
)

// TestCostStretches cuts the CPU time of a run of a duet: 1 ms for each of 100 operations a second,
// and from 7.3 s on 3 ms for each of 200.
func TestCostStretches(t *testing.T) {
	r := costRun(t, func(at time.Duration) float64 {
		return 0.1*min(at.Seconds(), 7.3) + 0.6*max(at.Seconds()-7.3, 0)
	}, func(s int) (int, int) {
		if s >= 7 {
			return 200, 50
		}
		return 100, 0
	})
	stretches := func() []comparison.Portion {
		got, err := new(Catalog).Costs(t.Context())(r)
		if err != nil || len(got) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
		return got[0].Portions
	}
	if got := stretches(); got != nil {
		t.Errorf("a run that took no turns has %v", got)
	}
	r.Manifest.Duet = &record.Duet{Seats: 2}
	// The samples at 3.3 and 10.3 s are the first and the last in the phase. A second of windows
	// that an end of a stretch divides counts in proportion.
	want := []comparison.Portion{{
		Sum:   100,
		Count: 100,
	}, {Sum: 100, Count: 100}, {Sum: 100, Count: 100}, {Sum: 100, Count: 130},
		{Sum: 600, Count: 200}, {Sum: 600, Count: 200}, {Sum: 600, Count: 200}}
	got := stretches()
	if len(got) != len(want) {
		t.Fatalf("%d stretches, want %d", len(got), len(want))
	}
	for k := range want {
		if math.Abs(got[k].Sum-want[k].Sum) > 1e-6 || math.Abs(got[k].Count-want[k].Count) > 1e-6 {
			t.Errorf("stretch %d has %+v, want %+v", k, got[k], want[k])
		}
	}
}

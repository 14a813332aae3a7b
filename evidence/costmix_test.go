package evidence

import (
	"math"
	"testing"
	"time"
)

// TestCostMix cuts the CPU time of a run: 1 ms for each of 100 operations a second, and from 7.3 s
// on 3 ms for each of 200.
func TestCostMix(t *testing.T) {
	r := costRun(t, func(at time.Duration) float64 {
		return 0.1*min(at.Seconds(), 7.3) + 0.6*max(at.Seconds()-7.3, 0)
	}, func(s int) (int, int) {
		if s >= 7 {
			return 200, 50
		}
		return 100, 0
	})
	got, err := new(Catalog).Costs(t.Context())(r)
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	// The samples at 3.3 and 10.3 s are the first and the last in the phase. A second of windows
	// that an end of a part divides counts in proportion.
	cpu := []float64{100, 100, 100, 100, 600, 600, 600}
	done := []float64{100, 100, 100, 130, 200, 200, 200}
	mix := got[0].Mix
	if len(mix.CPU) != len(cpu) || len(mix.Part) != 1 {
		t.Fatalf("%+v", mix)
	}
	all := 0.0
	for k := range cpu {
		all += done[k]
		if math.Abs(mix.CPU[k]-cpu[k]) > 1e-6 || math.Abs(mix.Part["post"][k]-done[k]) > 1e-6 {
			t.Errorf("part %d has %v ms and %v operations, want %v and %v",
				k, mix.CPU[k], mix.Part["post"][k], cpu[k], done[k])
		}
	}
	if math.Abs(mix.Done["post"]-all) > 1e-6 {
		t.Errorf("%v operations were done, want %v", mix.Done["post"], all)
	}
}

// TestMixParts cuts phases into parts of about a second, of which each stretch has a whole number.
func TestMixParts(t *testing.T) {
	for length, want := range map[time.Duration]int{
		2 * time.Second: 0, 7 * time.Second: 7, 10 * time.Second: 10, 19 * time.Second: 20,
		90 * time.Second: 90, 90 * time.Minute: mostParts,
	} {
		if got := mixParts(length); got != want {
			t.Errorf("%v is cut into %d parts, want %d", length, got, want)
		}
	}
}

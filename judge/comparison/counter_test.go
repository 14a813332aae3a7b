package comparison

import (
	"math"
	"testing"
	"time"
)

// TestCounter reads a counter between its samples.
func TestCounter(t *testing.T) {
	at := func(s float64) time.Time {
		return time.Unix(100, 0).Add(time.Duration(s * float64(time.Second)))
	}
	var c Counter
	if _, _, ok := c.Bounds(); ok || c.At(at(0)) != 0 {
		t.Error("a counter without a sample has something")
	}
	for i, s := range []float64{0, 1, 1, 2.5} {
		c.Add(at(s), float64(i))
	}
	for s, want := range map[float64]float64{-1: 0, 0: 0, 0.5: 0.5, 1: 1, 1.75: 2, 2.5: 3, 9: 3} {
		if got := c.At(at(s)); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %v s: %v, want %v", s, got, want)
		}
	}
	if first, last, ok := c.Bounds(); !ok || !first.Equal(at(0)) || !last.Equal(at(2.5)) {
		t.Errorf("from %v to %v, %v", first, last, ok)
	}
}

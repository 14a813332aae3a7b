package measure

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The buckets hold all values, ascending, and give the same quantiles as the histogram.
func TestBucketsAreTheHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	h := new(Histogram)
	for range h.Buckets {
		t.Fatal("an empty histogram has a bucket")
	}
	for range (*Histogram)(nil).Buckets {
		t.Fatal("no histogram has a bucket")
	}
	for range 20_000 {
		h.Record(time.Duration(rng.ExpFloat64() * float64(rng.Uint64N(uint64(time.Second)))))
	}
	var seen uint64
	last, median := time.Duration(-1), time.Duration(-1)
	for v, n := range h.Buckets {
		if v <= last || n == 0 {
			t.Fatalf("%v (%d times) after %v", v, n, last)
		}
		if last, seen = v, seen+uint64(n); seen >= h.Count()/2 && median < 0 {
			median = v
		}
	}
	if seen != h.Count() || median != h.Quantile(0.5) {
		t.Errorf("%d values, median %v; want %d, %v", seen, median, h.Count(), h.Quantile(0.5))
	}
	for range h.Buckets {
		break // it may be left
	}
}

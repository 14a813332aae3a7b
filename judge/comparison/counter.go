package comparison

import (
	"slices"
	"time"
)

// A Counter holds samples of a sum that only grows, oldest first.
type Counter struct {
	t []time.Time
	v []float64
}

// Add adds a sample, unless it is not later than the last one.
func (c *Counter) Add(t time.Time, v float64) {
	if n := len(c.t); n == 0 || t.After(c.t[n-1]) {
		c.t, c.v = append(c.t, t), append(c.v, v)
	}
}

// Bounds returns the instants of the first and the last sample; false without a sample.
func (c *Counter) Bounds() (first, last time.Time, ok bool) {
	if len(c.t) == 0 {
		return first, last, false
	}
	return c.t[0], c.t[len(c.t)-1], true
}

// At returns the sum at an instant, in proportion to the time between two samples. Before the first
// and after the last sample it is theirs, and without a sample 0.
func (c *Counter) At(t time.Time) float64 {
	if len(c.t) == 0 {
		return 0
	}
	i, found := slices.BinarySearchFunc(c.t, t, time.Time.Compare)
	switch {
	case found || i == 0:
		return c.v[i]
	case i == len(c.t):
		return c.v[i-1]
	}
	share := t.Sub(c.t[i-1]).Seconds() / c.t[i].Sub(c.t[i-1]).Seconds()
	return c.v[i-1] + share*(c.v[i]-c.v[i-1])
}

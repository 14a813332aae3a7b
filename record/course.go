package record

import (
	"math"
	"time"

	"plimsoll/load/measure"
	"plimsoll/stats"
)

// MostIntervals is into how many intervals a [Course] cuts a phase at most. From 50 seconds on
// there are 50 or more.
const MostIntervals = 100

// A Course is a phase of a run cut into equal intervals of whole seconds, in the order of time.
// Seconds at its end that do not fill an interval are left out. It is filled second by second, as
// [Run.EachSecond] hands them out.
type Course struct {
	// Step is the length of an interval, N how many there are.
	Step time.Duration
	N    int
	// Groups holds the groups that groupsOf named.
	Groups map[string]*Intervals

	first, size int // seconds
	groupsOf    func(series string) []string
	at          int // the interval that is open
	open        map[string]*openInterval
}

// openInterval holds the ops of one group in the open interval.
type openInterval struct {
	response    measure.Histogram
	ops, failed uint64
}

// Intervals is one group of operations, interval by interval.
type Intervals struct {
	// Response holds the response times as sparse histograms, in milliseconds; Sum adds them up. Of
	// Ops operations, Timed have one and Failed ended in another class than ok.
	Response []stats.SparseCounts
	Sum      []time.Duration
	Timed    []uint64
	Ops      []uint64
	Failed   []uint64
}

// NewCourse returns an empty course of a phase. groupsOf names the groups that a series belongs to;
// nil for none.
func NewCourse(ph Phase, groupsOf func(series string) []string) *Course {
	first, seconds := ph.Seconds()
	size := max((seconds+MostIntervals-1)/MostIntervals, 1)
	return &Course{
		Step:     time.Duration(size) * time.Second,
		N:        seconds / size,
		Groups:   map[string]*Intervals{},
		first:    first,
		size:     size,
		groupsOf: groupsOf,
		open:     map[string]*openInterval{},
	}
}

// Seconds returns the first second that begins in the phase, and how many do.
func (p Phase) Seconds() (first, n int) {
	ceil := func(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
	return ceil(p.From), max(0, ceil(p.To)-ceil(p.From))
}

// Add takes in a second. It keeps nothing of ws, and ignores seconds outside the phase. Seconds
// come in their order. A nil course ignores all of them.
func (c *Course) Add(second int, ws []*measure.Window) {
	if c == nil {
		return
	}
	i := (second - c.first) / c.size
	if second < c.first || i >= c.N {
		return
	}
	if i != c.at {
		c.Close()
		c.at = i
	}
	for _, w := range ws {
		for _, name := range c.groupsOf(w.Name) {
			g := c.open[name]
			if g == nil {
				g = new(openInterval)
				c.open[name] = g
			}
			g.response.Merge(w.Response)
			g.ops += w.Count()
			g.failed += w.Errors()
		}
	}
}

// Close ends the last interval. More seconds of it may not be added.
func (c *Course) Close() {
	if c == nil {
		return
	}
	for name, o := range c.open {
		if o.ops == 0 {
			continue
		}
		g := c.Groups[name]
		if g == nil {
			g = &Intervals{
				make([]stats.SparseCounts, c.N),
				make([]time.Duration, c.N),
				make([]uint64, c.N),
				make([]uint64, c.N),
				make([]uint64, c.N),
			}
			c.Groups[name] = g
		}
		g.Response[c.at] = Sparse(&o.response)
		g.Sum[c.at] = o.response.Sum()
		g.Timed[c.at] = o.response.Count()
		g.Ops[c.at], g.Failed[c.at] = o.ops, o.failed
		o.response.Reset()
		o.ops, o.failed = 0, 0
	}
}

// Sparse returns a histogram as counts in milliseconds. A time of zero counts as a nanosecond:
// quantiles are compared as ratios.
func Sparse(h *measure.Histogram) stats.SparseCounts {
	var c stats.SparseCounts
	for v, n := range h.Buckets {
		ms := max(v, time.Nanosecond).Seconds() * 1e3
		if k := len(c.Value); k > 0 && c.Value[k-1] == ms {
			c.N[k-1] += n
			continue
		}
		c.Value, c.N = append(c.Value, ms), append(c.N, n)
	}
	return c
}

// Mean returns the mean response time of one interval in milliseconds, NaN if it has none.
func (g *Intervals) Mean(i int) float64 {
	if g.Timed[i] == 0 {
		return math.NaN()
	}
	return g.Sum[i].Seconds() * 1e3 / float64(g.Timed[i])
}

// Quantile returns a quantile of the response times of one interval in milliseconds, NaN if it has
// none: the smallest that a share p does not exceed.
func (g *Intervals) Quantile(i int, p float64) float64 {
	rank, seen := uint64(max(1, math.Ceil(p*float64(g.Timed[i])))), uint64(0)
	for k, n := range g.Response[i].N {
		if seen += uint64(n); seen >= rank {
			return g.Response[i].Value[k]
		}
	}
	return math.NaN()
}

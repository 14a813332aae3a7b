package capacity

import (
	"fmt"
	"math"
	"slices"
)

// An estimate supposes one capacity about which windows scatter. These constants tell when they do
// not.
const (
	// twoModes is the distance of two groups of readings, in standard deviations within a group,
	// that noise does not part: a normal spread cut in its middle has 2.7, an even one 3.5.
	twoModes = 4.8
	// tail is the share of the windows of two modes that is left out at either end.
	tail = 0.02
	// telling is the distance of the mean users of the windows in the slow mode, in standard
	// errors, where the users decide between the modes.
	telling = 3.5
	// reach is the largest distance from the center, in log users, at which a mode's limit is
	// trusted: windows are not much further away.
	reach = 0.3
	// early is the distance above the interval at which rules held on the ramp, in log users, where
	// the server remembers the overload.
	early = 0.035
	// turned is the change of the tracker's users from the first third of its windows to the
	// last, in log users and in standard deviations within a third, where the capacity moves.
	turned, turnedSpread = 0.06, 2.5
)

// A reading is a window near the crossing: log users, and log of value over limit.
type reading struct{ x, y float64 }

// around returns the windows around the center in order of time.
func (s *Search) around(binding []int, center, width float64) []reading {
	var out []reading
	for _, w := range s.samples {
		x, q := math.Log(w.users), w.ratio(binding)
		if q > 0 && math.Abs(x-center) < width {
			out = append(out, reading{x, math.Log(q)})
		}
	}
	return out
}

// ratio is the largest ratio of the rules, and not a number without one of them.
func (w sample) ratio(rules []int) float64 {
	q := math.Inf(-1)
	for _, i := range rules {
		if i >= len(w.ratios) || math.IsNaN(w.ratios[i]) {
			return math.NaN()
		}
		q = max(q, w.ratios[i])
	}
	return q
}

// modes are two groups of readings that equal users have.
type modes struct {
	found    bool
	even     bool    // either comes in about half of the windows, whatever came before
	slow, up float64 // users at which the slow ones and the others meet the limit
}

// parted returns the two modes of the readings, if they have them: the cut that explains most of
// the variance leaves groups further apart than noise does, each of at least three windows and a
// tenth of all.
func parted(r []reading) (m modes) {
	const least = 12
	n := len(r)
	if n < least {
		return m
	}
	over := make([]bool, n)
	z := make([]float64, n)
	b := 0.0
	for range 3 { // the slope within the groups, and groups by the slope
		b = slopeWithin(r, over)
		for i, p := range r {
			z[i] = p.y - b*p.x
		}
		cut := bestCut(z)
		for i := range z {
			over[i] = z[i] >= cut
		}
	}
	var low, high, lowX, highX []float64
	same := 0 // windows like the one before
	for i := range z {
		if over[i] {
			high, highX = append(high, z[i]), append(highX, r[i].x)
		} else {
			low, lowX = append(low, z[i]), append(lowX, r[i].x)
		}
		if i > 0 && over[i] == over[i-1] {
			same++
		}
	}
	if min(len(low), len(high)) < max(3, n/10) {
		return m
	}
	m1, s1 := spread(low)
	m2, s2 := spread(high)
	share, alike := float64(len(high))/float64(n), float64(same)/float64(n-1)
	m.found = m2-m1 > twoModes*math.Sqrt((s1*s1+s2*s2)/2)
	x1, v1 := spread(lowX)
	x2, v2 := spread(highX)
	rises := x2-x1 > telling*math.Sqrt(v1*v1/float64(len(low))+v2*v2/float64(len(high)))
	m.even = math.Abs(share-0.5) < 0.15 && alike < 0.7 && b > 0 && !rises
	m.slow, m.up = math.Exp(-m2/b), math.Exp(-m1/b)
	return m
}

// slopeWithin is the least-squares slope of y over x with a mean for each group.
func slopeWithin(r []reading, over []bool) float64 {
	var n, mx, my [2]float64
	group := func(i int) int {
		if over[i] {
			return 1
		}
		return 0
	}
	for i, p := range r {
		g := group(i)
		n[g]++
		mx[g] += p.x
		my[g] += p.y
	}
	var sxx, sxy float64
	for i, p := range r {
		g := group(i)
		dx := p.x - mx[g]/n[g]
		sxx += dx * dx
		sxy += dx * (p.y - my[g]/n[g])
	}
	if sxx == 0 {
		return 0
	}
	return sxy / sxx
}

// bestCut is the least value of the upper of the two groups between which most of the variance lies
// (Otsu 1979).
func bestCut(z []float64) float64 {
	v := slices.Sorted(slices.Values(z))
	sum, total := 0.0, 0.0
	for _, a := range v {
		total += a
	}
	best := -1.0
	cut := v[0]
	n := float64(len(v))
	for i := 1; i < len(v); i++ {
		sum += v[i-1]
		k := float64(i)
		d := sum/k - (total-sum)/(n-k)
		if between := k * (n - k) * d * d; between > best {
			best, cut = between, v[i]
		}
	}
	return cut
}

func spread(v []float64) (mean, sd float64) {
	for _, a := range v {
		mean += a / float64(len(v))
	}
	for _, a := range v {
		sd += (a - mean) * (a - mean)
	}
	return mean, math.Sqrt(sd / float64(max(1, len(v)-1)))
}

// overlap returns the users between which windows both held and did not: all but a tail of the
// violated ones lie above lo, all but a tail of the healthy ones below hi.
func (s *Search) overlap() (lo, hi float64) {
	var healthy, violated []float64
	for _, w := range s.samples {
		if w.violated {
			violated = append(violated, w.users)
		} else {
			healthy = append(healthy, w.users)
		}
	}
	slices.Sort(healthy)
	slices.Sort(violated)
	lo, hi = math.Inf(1), math.Inf(-1)
	if n := len(violated); n > 0 {
		lo = violated[int(tail*float64(n))]
	}
	if n := len(healthy); n > 0 {
		hi = healthy[n-1-int(tail*float64(n))]
	}
	return lo, hi
}

// doubted widens an estimate whose windows do not agree on it. With a slope, it holds the limits
// that constant users met. It reaches to the end of a ramp that held more. Where windows fall into
// two modes, it holds all users at which they both held and did not.
func (s *Search) doubted(r Result, binding []int, center, slope float64) Result {
	if slope > 0 {
		r = s.held(r, binding, slope)
	}
	r = s.remembered(r)
	m := parted(s.around(binding, center, 0.2))
	if !m.found {
		return r
	}
	lo, hi := s.overlap()
	if m.even { // either mode may decide, and the tracker may not have met both limits
		lo = min(lo, max(m.slow, math.Exp(center-reach)))
		hi = max(hi, min(m.up, math.Exp(center+reach)))
	}
	r.Lo, r.Hi = min(r.Lo, lo), max(r.Hi, hi)
	r.Why += "; at equal users windows read in two modes, and the interval holds both"
	return r
}

// remembered widens an estimate to where the ramp ended, if every rule held on it well above the
// interval: before any overload the server carried more.
func (s *Search) remembered(r Result) Result {
	held, end := 0.0, 0.0
	for _, w := range s.samples {
		if w.phase != Ramp {
			continue
		}
		if end = max(end, w.users); !w.violated {
			held = max(held, w.users)
		}
	}
	if math.Log(held/r.Hi) > early {
		r.Hi = end
		r.Why += fmt.Sprintf("; before any overload every rule held at %.0f users, "+
			"and the interval reaches to the end of that ramp, at %.0f", held, end)
	}
	return r
}

// moved returns the means of the tracker's users in its first and last third, and whether the
// capacity moved between them.
func (s *Search) moved() (from, to float64, ok bool) {
	var x []float64
	for k := max(0, s.turn(s.center())); k < len(s.samples); k++ {
		if w := s.samples[k]; w.phase == Track {
			x = append(x, math.Log(w.users))
		}
	}
	n := len(x) / 3
	if n < 4 {
		return 0, 0, false
	}
	m1, s1 := spread(x[:n])
	m3, s3 := spread(x[len(x)-n:])
	d := math.Abs(m3 - m1)
	return math.Exp(m1), math.Exp(m3), d > turned && d > turnedSpread*math.Sqrt((s1*s1+s3*s3)/2)
}

package limiter

import (
	"math"
	"slices"

	"plimsoll/stats"
)

// weigh compares an indicator at capacity with its limit, with itself at low load, and with the
// load. ok is false without enough of it at capacity.
func weigh(ind Indicator, t Trace, o Observed, w wayUp) (e Evidence, ok bool) {
	e = Evidence{
		Limiter:  ind.Limiter,
		Role:     t.Role,
		What:     ind.What,
		Unit:     ind.Unit,
		Limit:    ind.Limit,
		rank:     ind.Rank,
		supports: ind.Supports,
	}
	dose := t.Dose
	if dose == nil {
		dose = t.Values
	}
	at, near := atCapacity(t.Values, o)
	if len(at) < fewestAt {
		return e, false
	}
	e.At = stats.Mean(at)
	e.High = e.At >= e.Limit
	doseAt := stats.Mean(sampled(dose, near))
	rises := true
	up := w.samples
	if w.hasBase {
		in := func(i int) bool {
			return i < up && o.Users[i] >= w.base*o.Capacity && o.Users[i] <= baseLoad*o.Capacity
		}
		if low := sampled(dose, in); len(low) >= fewestAt {
			base := stats.Median(sampled(t.Values, in))
			below := sampled(dose, func(i int) bool {
				return i < up && o.Users[i] > 0 && o.Users[i] <= nearAtLeast*o.Capacity
			})
			z := distance(doseAt, stats.Median(low), below)
			e.Base, e.Z = &base, &z
			rises = z > significant
		}
	}
	load, level := levels(dose, o, up, e.rank == Loss)
	if e.Levels = len(load); e.Levels >= fewestBins && loadBins[int(load[0])] <= doseFrom {
		rho := stats.Spearman(load, level)
		if math.IsNaN(rho) { // it is the same at every load
			rho = 0
		}
		e.Rho = &rho
		least := doseRho
		if e.rank == Loss {
			least = lossRho
		}
		rises = rises && rho >= least
	}
	lowest := math.NaN()
	if e.Base != nil {
		lowest = *e.Base
	} else if _, value := levels(t.Values, o, up, e.rank == Loss); len(value) > 0 {
		lowest = value[0]
	}
	if lowest >= e.Limit && e.rank != Loss {
		rises = true // saturated from the beginning on: there is no load below it to compare with
	}
	e.Qualifies = e.High && rises && !e.supports
	return e, true
}

// atCapacity returns a signal at capacity, and the samples of any signal that its dose there is
// taken from. Where there are too few, the range that counts as "at capacity" is widened: a short
// search's estimate may lie at the edge of the levels that it tried.
func atCapacity(v []float64, o Observed) (at []float64, near func(int) bool) {
	from := func(share float64) func(int) bool {
		return func(i int) bool { return o.Users[i] >= share*o.Capacity }
	}
	broken := func(share float64) func(int) bool {
		return func(i int) bool {
			return o.Users[i] >= share*o.Capacity && o.Broken != nil && o.Broken[i]
		}
	}
	for _, try := range []struct{ at, near func(int) bool }{
		{broken(nearLoad), from(nearLoad)},
		{from(nearLoad), from(nearLoad)}, // the rule broke too seldom
		{from(nearAtLeast), from(nearAtLeast)},
		// samples that broke the rule were at capacity, for any estimate
		{broken(doseFrom), broken(doseFrom)},
	} {
		if at, near = sampled(v, try.at), try.near; len(at) >= fewestAt {
			break
		}
	}
	return at, near
}

// wayUp holds the samples over which all indicators of a run are judged.
type wayUp struct {
	samples int     // from the beginning on
	base    float64 // the baseline is taken from this part of the capacity on, up to baseLoad of it
	hasBase bool
}

func (o Observed) wayUp() wayUp {
	w := wayUp{samples: o.rise()}
	w.base, w.hasBase = baseline(o, w.samples)
	return w
}

// rise returns the number of samples from the beginning on that belong to the way up: until the
// users first fell by more than a thirtieth. A queue that filled up beyond the capacity empties
// long after the users were taken back, so that later samples show at a low load the remains of a
// high one. A run without enough levels on the way up is taken whole.
func (o Observed) rise() int {
	top, up := 0.0, len(o.Users)
	for i, u := range o.Users {
		if top = max(top, u); u < top*(1-1.0/30) {
			up = i
			break
		}
	}
	seen := map[int]int{}
	for _, u := range o.Users[:up] {
		seen[slices.IndexFunc(loadBins, func(edge float64) bool { return u < edge*o.Capacity })]++
	}
	delete(seen, 0) // below the lowest level
	if len(seen) < fewestBins {
		return len(o.Users)
	}
	return up
}

// baseline returns the part of the capacity from which on, up to baseLoad of it, the baseline is
// taken: the highest that leaves enough samples.
func baseline(o Observed, up int) (from float64, ok bool) {
	for _, from := range []float64{0.5, 0.35, 1e-9} {
		n := 0
		for _, u := range o.Users[:up] {
			if u >= from*o.Capacity && u <= baseLoad*o.Capacity {
				n++
			}
		}
		if n >= 2*fewestAt {
			return from, true
		}
	}
	return 0, false
}

// distance is the robust z of a value against a base. The noise is the noise of differences of
// samples noiseLag apart, all those below the capacity: a steady rise drops out of them, so that
// the ramp's own slope does not pass for noise.
func distance(v, base float64, below []float64) float64 {
	if v == base {
		return 0
	}
	var d []float64
	for i := noiseLag; i < len(below); i++ {
		d = append(d, below[i]-below[i-noiseLag])
	}
	noise := 0.0
	if len(d) > 0 {
		noise = 1.4826 * stats.Median(deviations(d, stats.Median(d))) / math.Sqrt2
	}
	// A constant signal has no noise: a hundredth of the larger value stands for the smallest
	// visible difference.
	return (v - base) / max(noise, math.Abs(v)/100, math.Abs(base)/100)
}

// levels returns a signal at each level of load on the way up that has enough samples of it: their
// median, or their mean for a signal that comes in bursts.
func levels(v []float64, o Observed, up int, bursts bool) (load, level []float64) {
	middle := stats.Median
	if bursts {
		middle = stats.Mean
	}
	for i := 1; i < len(loadBins); i++ {
		in := func(k int) bool {
			x := o.Users[k] / o.Capacity
			return k < up && x >= loadBins[i-1] && x < loadBins[i]
		}
		if s := sampled(v, in); len(s) >= 2 {
			load, level = append(load, float64(i)), append(level, middle(s))
		}
	}
	return load, level
}

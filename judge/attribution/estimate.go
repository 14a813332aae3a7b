package attribution

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
	"plimsoll/stats"
)

const (
	level = 0.95 // of intervals
	// leastSamples is the number of samples of both arms from which a unit is tested. The filter
	// does not look at the difference (Bourgon, Gentleman and Huber, PNAS 107, 2010).
	leastSamples = 20
	// leastPrior is the number of samples of both arms in a block, on the average, from which a
	// unit says how much functions vary between blocks.
	leastPrior = 10
	// suspicious is the p-value from which on a unit does not count for the common change.
	suspicious = 0.01
	rounds     = 3 // of the common change
)

// A unit is a part of the cost that is tested as one: a function of the program itself with what it
// calls outside of it, a function of a library with all of its callers, or a group.
type unit struct {
	function int32  // its number, or -1 for a group
	group    string // empty for a function
	cells    []int  // indexes of its cells
	samples  samples
}

// An estimate is the change of a cost against all others.
type estimate struct {
	base, fresh float64   // CPU seconds per operation, the means of the blocks
	blocks      []float64 // the change beyond the common one in each block
	mean        float64   // of blocks
	samples     float64   // of both arms
	// counting is the variance of a block by the number of samples alone, the mean of the blocks:
	// that of a Poisson count of each arm. null is the same where the arms do not differ.
	counting, null float64
	// use is the mean square of the costs of both arms, which the variance between blocks grows
	// with.
	use float64
	// shared is the variance that the common factor gives to the change of several units together.
	shared float64
	// ratio is the variance of a block against what counting and the variation between blocks
	// common to all functions make of it, moderated; df are its degrees of freedom.
	ratio, df float64
}

// A model is the estimates of all units.
type model struct {
	*counting
	units     []unit
	common    []float64 // the factor of each block
	estimates []estimate
	between   float64 // the relative variance of the cost of a function between runs
	// information is that of the functions on between (Fisher), which bounds the degrees of freedom.
	information float64
	wobble      float64 // the relative variance of the common factor of a block
	runs        float64 // the relative variance of the cost of runs of an arm beyond counting
	prior       stats.Prior
	pooled      float64 // degrees of freedom of the units behind the prior
}

// fit estimates the change of every unit.
func fit(c *counting, units []unit) *model {
	m := &model{counting: c, units: units, estimates: make([]estimate, len(units))}
	skip := make([]bool, len(units))
	for i, u := range units {
		skip[i] = u.function < 0
	}
	m.runs = m.betweenRuns()
	for range rounds {
		m.common = m.commonChange(skip)
		for i, u := range units {
			m.estimates[i] = m.estimate(u.samples)
		}
		m.moderate()
		for i, u := range units {
			e := m.estimates[i]
			skip[i] = u.function < 0 || e.samples >= leastSamples && m.test(e) < suspicious
		}
	}
	return m
}

// estimate returns the change of the cost behind some samples.
func (m *model) estimate(s samples) estimate {
	e := estimate{samples: s.total(), blocks: make([]float64, m.blocks)}
	n := float64(m.blocks)
	for b, g := range m.common {
		base, fresh := m.scale[0][b]*s[0][b], m.scale[1][b]*s[1][b]
		e.base += base / n
		e.fresh += fresh / n
		e.blocks[b] = fresh - g*base
		e.mean += e.blocks[b] / n
		s0, s1 := g*m.scale[0][b], m.scale[1][b]
		e.counting += (s0*s0*s[0][b] + s1*s1*s[1][b]) / n
		e.null += s0 * s1 * (s[0][b] + s[1][b]) / n
		e.use += (g*g*base*base + fresh*fresh) / n
	}
	return e
}

// spread returns the variance of the change between blocks.
func (e estimate) spread() float64 {
	sum := 0.0
	for _, x := range e.blocks {
		sum += (x - e.mean) * (x - e.mean)
	}
	return sum / float64(len(e.blocks)-1)
}

// moderate estimates how much functions vary between blocks beyond counting, and moderates the
// variance of each unit.
//
// The variance of a change in a block is expected to be counting + between·use, as of counts whose
// expectation varies (negative binomial). The variance of the functions against it is shrunk to that
// of all functions by the prior of [stats.VariancePrior].
//
// Sources: Smyth, Statist. Appl. Genet. Mol. Biol. 3 (2004), sections 3 to 6; Lund, Nettleton,
// McCarthy and Smyth, Statist. Appl. Genet. Mol. Biol. 11(5) (2012), for variances relative to a
// trend of counts, and for the bound by counting alone.
func (m *model) moderate() {
	var telling []int
	for i, e := range m.estimates {
		if m.units[i].function >= 0 && e.samples >= float64(leastPrior*m.blocks) {
			telling = append(telling, i)
		}
	}
	spreads := make([]float64, len(m.estimates))
	for i, e := range m.estimates {
		spreads[i] = e.spread()
	}
	m.between = m.betweenBlocks(telling, spreads)
	m.wobble = m.wobbleOf(telling)
	m.information = 0
	for _, i := range telling {
		r := m.estimates[i].use / m.expected(m.estimates[i])
		m.information += float64(m.blocks-1) / 2 * r * r
	}
	df := float64(m.blocks - 1)
	ratios, dfs := make([]float64, len(telling)), make([]float64, len(telling))
	for k, i := range telling {
		ratios[k], dfs[k] = spreads[i]/m.expected(m.estimates[i]), df
	}
	m.prior = stats.VariancePrior(ratios, dfs)
	if m.prior.DF == 0 { // nothing is known of other functions
		m.prior.Variance = 1
	}
	m.pooled = df * float64(len(telling))
	for i, e := range m.estimates {
		m.estimates[i] = m.moderated(e)
	}
}

// expected returns the variance of the change of a function in a block.
func (m *model) expected(e estimate) float64 { return e.counting + m.between*e.use + e.shared }

// betweenBlocks returns the relative variance between runs that the spreads show beyond counting:
// the root of the score of normal changes with the variance counting + v·use.
func (m *model) betweenBlocks(telling []int, spreads []float64) float64 {
	score := func(v float64) float64 {
		sum := 0.0
		for _, i := range telling {
			e := m.estimates[i]
			expected := e.counting + v*e.use
			sum += (spreads[i]/expected - 1) * e.use / expected
		}
		return sum
	}
	low, high := 0.0, 1.0
	if score(low) <= 0 {
		return 0
	}
	for range 50 {
		middle := (low + high) / 2
		if score(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// betweenRuns returns the relative variance of the cost of all functions between the runs of an arm,
// without that of counts.
func (m *model) betweenRuns() float64 {
	all := newSamples(m.blocks)
	for _, u := range m.units {
		if u.function >= 0 {
			all.add(u.samples)
		}
	}
	variance := 0.0
	for a := range all {
		costs := make([]float64, m.blocks)
		count := stats.Mean(all[a])
		for b, n := range all[a] {
			costs[b] = n * m.scale[a][b]
		}
		if count == 0 {
			return 0
		}
		s := stats.Sample{Values: costs}
		relative := s.SD() / s.Mean()
		variance += (relative*relative - 1/count) / 2
	}
	return max(0, variance)
}

// wobbleOf returns the relative variance of the common factor in a block: that of a median is π/2
// times that of the mean.
func (m *model) wobbleOf(telling []int) float64 {
	variance, cost := 0.0, 0.0
	for _, i := range telling {
		e := m.estimates[i]
		variance += m.expected(e)
		cost += (e.base + e.fresh) / 2
	}
	if cost == 0 {
		return 0
	}
	return math.Pi / 2 * variance / (cost * cost)
}

// se returns the standard error of the mean change, never below that by counting alone.
func (m *model) se(e estimate) float64 {
	return m.standardError(e, e.counting)
}

func (m *model) standardError(e estimate, counting float64) float64 {
	v := max(counting, e.ratio*(m.expected(e)-e.counting+counting))
	return math.Sqrt(v / float64(m.blocks))
}

// test returns the p-value of no change against the others, two-sided.
func (m *model) test(e estimate) float64 {
	se := m.standardError(e, e.null)
	if se == 0 {
		return 1
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: e.df}.CDF(-math.Abs(e.mean)/se)
}

// cost returns the mean change with its interval. What was added varies with the cost of a run as
// all other costs do, but no cost of the base takes that out.
//
// Source of the degrees of freedom of the sum: Satterthwaite, Biometrics Bulletin 2 (1946).
func (m *model) cost(e estimate) IntervalEstimate {
	v, w := m.se(e)*m.se(e), e.mean*e.mean*m.runs/float64(m.blocks)
	df := e.df
	if w > 0 {
		df = (v + w) * (v + w) / (v*v/e.df + w*w/float64(2*(m.blocks-1)))
	}
	half := stats.TQuantile(1-(1-level)/2, df) * math.Sqrt(v+w)
	return IntervalEstimate{e.mean, e.mean - half, e.mean + half}
}

// share returns the change as a share of what the base would cost with the common change. The
// logarithm of the ratio of two costs is nearly normal, with a variance by the counts that is larger
// in the proportion in which that of the difference is. A cost that is gone is known to be below
// three samples (the rule of three; Hanley and Lippman-Hand, JAMA 249, 1983).
func (m *model) share(e estimate, s samples) IntervalEstimate {
	expected := e.fresh - e.mean
	if e.base == 0 || expected <= 0 {
		return IntervalEstimate{}
	}
	count := [2]float64{}
	for a := range s {
		for _, n := range s[a] {
			count[a] += n
		}
	}
	if count[1] == 0 {
		return IntervalEstimate{-1, -1, min(0, 3/count[0]-1)}
	}
	inflation := m.se(e) / math.Sqrt(e.counting/float64(m.blocks))
	half := stats.TQuantile(1-(1-level)/2, e.df) * inflation * math.Sqrt(1/count[0]+1/count[1])
	ratio := e.fresh / expected
	return IntervalEstimate{ratio - 1, ratio*math.Exp(-half) - 1, ratio*math.Exp(half) - 1}
}

// sum returns the estimate of several units together. Their expected variances are added, and that
// of the common factor for their whole cost, which moves all of them alike.
func (m *model) sum(units []int) estimate {
	s := newSamples(m.blocks)
	squares := 0.0
	for _, i := range units {
		s.add(m.units[i].samples)
		squares += m.estimates[i].use
	}
	e := m.estimate(s)
	e.shared = m.wobble * e.use
	e.use = squares
	return m.moderated(e)
}

// moderated returns the estimate with its variance shrunk to that of all functions.
func (m *model) moderated(e estimate) estimate {
	ratio := 1.0
	if expected := m.expected(e); expected > 0 {
		ratio = e.spread() / expected
	}
	df := float64(m.blocks - 1)
	e.ratio, e.df = m.prior.Moderate(ratio, df, m.pooled)
	if e.use > 0 && m.between > 0 { // between is an estimate too
		known := m.expected(e) / e.use
		e.df = max(df, min(e.df, 2*known*known*m.information))
	}
	return e
}

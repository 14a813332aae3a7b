package bisect

import (
	"math"
	"slices"
)

// A BlockRatio is one block of two builds.
type BlockRatio struct {
	Build   int     `json:"build"`
	Against int     `json:"against"`
	Ratio   float64 `json:"ratio"` // ln of the endpoint of Build over that of Against
	Purpose Purpose `json:"purpose"`
}

// The priors.
const (
	twoChanges = 0.1  // probability of two changes
	noiseDF    = 2    // degrees of freedom of the prior on the noise
	noiseSD    = 0.01 // its center
	effectSDs  = 10   // standard deviation of an effect, in those of the noise
)

// A Posterior is the knowledge about a range after some measurements.
type Posterior struct {
	// First is the probability of each build of being the first changed one; First[0] is 0.
	First []float64
	// More is the probability of more than one change.
	More float64
}

// posterior returns the posterior of n builds, at least 2. prior weighs builds, its first entry is
// not used; nil for equal weights.
func posterior(n int, prior []float64, data []BlockRatio) Posterior {
	if prior == nil {
		prior = slices.Repeat([]float64{1}, n)
	}
	// Between two neighboring measured builds all hypotheses predict the same.
	cuts := []int{0, n - 1}
	for _, m := range data {
		cuts = append(cuts, m.Build, m.Against)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	groups := make([]group, len(cuts)-1)
	total := 0.0
	for g := range groups {
		groups[g] = group{from: cuts[g] + 1, to: cuts[g+1]}
		for j := groups[g].from; j <= groups[g].to; j++ {
			groups[g].prior += prior[j]
		}
		groups[g].steps = stepsAt(groups[g].to, data)
		total += groups[g].prior
	}
	pairs := 0.0
	for g := range groups {
		groups[g].prior /= total
		for h := range g {
			pairs += groups[g].prior * groups[h].prior
		}
	}
	weighed := weigh(groups, pairs, momentsOf(data))
	out := Posterior{First: make([]float64, n)}
	all := 0.0
	for _, w := range weighed {
		all += w.p
	}
	for _, w := range weighed {
		g := groups[w.first]
		for j := g.from; j <= g.to && g.prior > 0; j++ {
			out.First[j] += w.p / all * prior[j] / (g.prior * total)
		}
		if w.two {
			out.More += w.p / all
		}
	}
	return out
}

// A group is a range of builds, of which each could be the first changed one with the same
// predictions.
type group struct {
	from, to int
	prior    float64
	steps    []float64 // of each measurement: 1 or -1 where a change lies between its builds
}

func stepsAt(build int, data []BlockRatio) []float64 {
	at := func(b int) float64 {
		if b >= build {
			return 1
		}
		return 0
	}
	out := make([]float64, len(data))
	for i, m := range data {
		out[i] = at(m.Build) - at(m.Against)
	}
	return out
}

// A hypothesis is a first change in a group, alone or with a second one, and its weight.
type hypothesis struct {
	first int
	two   bool
	p     float64
}

// weigh returns the hypotheses with weights that are in proportion to their probabilities. pairs is
// the prior weight of all pairs of groups.
func weigh(groups []group, pairs float64, m moments) []hypothesis {
	var out []hypothesis
	add := func(first int, two bool, prior, likelihood float64) {
		if prior > 0 {
			out = append(out, hypothesis{first, two, math.Log(prior) + likelihood})
		}
	}
	one := 1.0
	if pairs > 0 {
		one -= twoChanges
	}
	for g, x := range groups {
		add(g, false, one*x.prior, m.one(x.steps))
		for _, y := range groups[g+1:] {
			add(g, true, twoChanges*x.prior*y.prior/pairs, m.two(x.steps, y.steps))
		}
	}
	most := math.Inf(-1)
	for _, h := range out {
		most = max(most, h.p)
	}
	for i := range out {
		out[i].p = math.Exp(out[i].p - most)
	}
	return out
}

// moments are the data with their sum of squares.
type moments struct {
	y  []float64
	yy float64
}

func momentsOf(data []BlockRatio) moments {
	m := moments{}
	for _, d := range data {
		m.y = append(m.y, d.Ratio)
		m.yy += d.Ratio * d.Ratio
	}
	return m
}

// shrink is the prior's precision of an effect, in units of the noise's.
const shrink = 1.0 / (effectSDs * effectSDs)

// one returns the logarithm of the marginal likelihood of one change, up to a constant: the normal
// linear model y = δx with a normal-inverse-gamma prior (O'Hagan and Forster, Kendall's Advanced
// Theory of Statistics 2B, 11.20).
func (m moments) one(x []float64) float64 {
	xx, xy := dot(x, x), dot(x, m.y)
	precision := shrink + xx
	return m.marginal(shrink/precision, xy*xy/precision)
}

// two is the same for y = δ₁x + δ₂z.
func (m moments) two(x, z []float64) float64 {
	a, b, c := shrink+dot(x, x), dot(x, z), shrink+dot(z, z)
	p, q := dot(x, m.y), dot(z, m.y)
	det := a*c - b*b
	return m.marginal(shrink*shrink/det, (c*p*p-2*b*p*q+a*q*q)/det)
}

// marginal takes the ratio of the determinants of prior and posterior precision, and the sum of
// squares that the effects explain.
func (m moments) marginal(determinants, explained float64) float64 {
	shape := (noiseDF + float64(len(m.y))) / 2
	rest := noiseDF*noiseSD*noiseSD + max(m.yy-explained, 0)
	return math.Log(determinants)/2 - shape*math.Log(rest)
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// What [UnitCosts] assumes, and the bounds of its steps.
const (
	// unitSpread is the standard deviation, in mean costs, of the costs of kinds before any data:
	// some kinds cost next to nothing and few cost many times the mean.
	unitSpread = 1
	unitLeast  = 1e-9  // of the mean square of a kind, the least that draws its cost to the mean
	unitRounds = 4     // of noise and costs
	unitReach  = 10    // how far the level may be from the plain one, as a factor
	unitClose  = 1e-9  // of the level
	unitFlat   = 1e-14 // of its logarithm, which hardly falls where parts fit exactly
	unitSteps  = 100   // towards a level
	unitSides  = 1000  // changes of the kinds that cost nothing
)

// CostMoments are the sums of squares and products of one run that is cut into parts: of how many
// things of each kind were done in a part, and of what all of them cost together. Their sums may be
// the moments of several runs.
type CostMoments struct {
	products *mat.SymDense // of two kinds
	costs    *mat.VecDense // of a kind and the cost
	squares  float64       // of the cost
	done     []float64     // by kind
	cost     float64
	parts    int
}

// NewCostMoments returns the moments of a run. done has the number of things by part and kind, and
// sums what they cost by part; there are parts, all of them with the same kinds.
func NewCostMoments(done [][]float64, sums []float64) CostMoments {
	m := newMoments(len(done[0]))
	m.parts = len(sums)
	for i, sum := range sums {
		things := mat.NewVecDense(len(done[i]), done[i])
		m.products.SymRankOne(m.products, 1, things)
		m.costs.AddScaledVec(m.costs, sum, things)
		m.squares += sum * sum
		m.cost += sum
		for j, n := range done[i] {
			m.done[j] += n
		}
	}
	return m
}

func newMoments(kinds int) CostMoments {
	return CostMoments{products: mat.NewSymDense(kinds, nil), costs: mat.NewVecDense(kinds, nil),
		done: make([]float64, kinds)}
}

// add adds the moments of a run whose things cost 1/level of what they cost at level 1.
func (m *CostMoments) add(of CostMoments, level float64) {
	var products mat.SymDense
	products.ScaleSym(level*level, of.products)
	m.products.AddSym(m.products, &products)
	m.costs.AddScaledVec(m.costs, level, of.costs)
	m.squares += of.squares
	m.cost += of.cost
	m.parts += of.parts
	for j, n := range of.done {
		m.done[j] += n
	}
}

func together(runs []CostMoments) CostMoments {
	m := newMoments(len(runs[0].done))
	for _, r := range runs {
		m.add(r, 1)
	}
	return m
}

// UnitCosts estimates what a thing of each kind costs in proportion to the others, from the runs of
// two arms that do different mixes of them: a part costs Σ n_k·c_k, times a level in the second
// arm, and noise of one size. The level is free, so that no cost of a kind can stand for a
// difference between the arms. Costs are at least 0, and drawn to the mean cost as far as the parts
// leave them open (ridge regression): with parts that show nothing, all kinds cost the same. The
// costs returned have the mean 1 over all things of both arms. false without things or costs, or
// where a number is not finite; each arm has runs.
//
// Source: Hoerl and Kennard, Technometrics 12 (1970), 55, with the variances of Lindley and Smith,
// J. R. Stat. Soc. B 34 (1972), 1, section 5.3: noise over that of the costs.
func UnitCosts(base, fresh []CostMoments) (each []float64, ok bool) {
	x, y := together(base), together(fresh)
	both := together([]CostMoments{x, y})
	all := 0.0
	for _, n := range both.done {
		all += n
	}
	mean := both.cost / all
	if !finite([]float64{mean, both.squares, all}) || mean <= 0 || x.cost <= 0 || y.cost <= 0 {
		return nil, false
	}
	f := unitFit{x: x, y: y, mean: mean}
	f.each = mat.NewVecDense(len(both.done), nil)
	for j := range both.done {
		f.each.SetVec(j, mean)
	}
	f.level = levelOf(y, f.each) / levelOf(x, f.each)
	for range unitRounds {
		if !f.round() {
			return nil, false
		}
	}
	sum := 0.0
	for j, n := range both.done {
		sum += n * f.each.AtVec(j)
	}
	f.each.ScaleVec(all/sum, f.each)
	each = f.each.RawVector().Data
	return each, finite(each)
}

// A unitFit is the state of [UnitCosts].
type unitFit struct {
	x, y  CostMoments // of the arms
	mean  float64     // cost of a thing
	each  *mat.VecDense
	level float64
}

// levelOf returns the level at which things of some cost fit an arm best.
func levelOf(arm CostMoments, each *mat.VecDense) float64 {
	return mat.Dot(each, arm.costs) / mat.Inner(each, arm.products, each)
}

// round sets the costs, and the level that fits them, from the noise around those before. false
// where no level fits.
func (f *unitFit) round() bool {
	squares := 0.0 // around the fit
	for i, arm := range []CostMoments{f.x, f.y} {
		l := []float64{1, f.level}[i]
		squares += arm.squares - 2*l*mat.Dot(f.each, arm.costs) +
			l*l*mat.Inner(f.each, arm.products, f.each)
	}
	kinds := f.each.Len()
	noise := max(0, squares) / float64(max(1, f.x.parts+f.y.parts-kinds))
	usual := (mat.Trace(f.x.products) + mat.Trace(f.y.products)) / float64(kinds)
	weight := max(noise/square(unitSpread*f.mean), unitLeast*usual)
	// The level at which the second arm fits costs that were fitted at a level, over that level: it
	// falls through 1.
	off := func(level float64) float64 {
		f.each = f.costs(level, weight)
		return math.Log(levelOf(f.y, f.each) / level)
	}
	level, ok := falls(off, f.level/unitReach, f.level*unitReach)
	f.level, f.each = level, f.costs(level, weight)
	return ok && finite(f.each.RawVector().Data)
}

// costs fits the costs at a level.
func (f *unitFit) costs(level, weight float64) *mat.VecDense {
	m := newMoments(f.each.Len())
	m.add(f.x, 1)
	m.add(f.y, level)
	for j := range m.done {
		m.products.SetSym(j, j, m.products.At(j, j)+weight)
		m.costs.SetVec(j, m.costs.AtVec(j)+weight*f.mean)
	}
	return nonNegative(m.products, m.costs)
}

// falls returns where a function of a logarithm falls through 0, by false position with halves
// (Dowell and Jarratt, BIT 11, 1971, 168); false where it does not between two ends.
func falls(f func(float64) float64, low, high float64) (at float64, ok bool) {
	a, b := math.Log(low), math.Log(high)
	fa, fb := f(low), f(high)
	if !(fa >= 0 && fb <= 0) {
		return math.NaN(), false
	}
	side := 0
	for range unitSteps {
		if b-a < unitClose || fa == fb {
			break
		}
		c := (a*fb - b*fa) / (fb - fa)
		fc := f(math.Exp(c))
		switch {
		case math.Abs(fc) < unitFlat:
			return math.Exp(c), true
		case fc > 0:
			if a, fa = c, fc; side == 1 {
				fb /= 2
			}
			side = 1
		default:
			if b, fb = c, fc; side == -1 {
				fa /= 2
			}
			side = -1
		}
	}
	return math.Exp((a + b) / 2), true
}

// nonNegative returns the x of at least 0 that makes x'Ax - 2b'x least, A positive definite. The
// kinds of which x or its gradient has the wrong sign change sides, all of them while that helps
// and then the last of them alone, which ends. Not a number where A is not positive definite.
//
// Source: Júdice and Pires, Computers & Operations Research 21 (1994), 587.
func nonNegative(a *mat.SymDense, b *mat.VecDense) *mat.VecDense {
	k := b.Len()
	zero := make([]bool, k)
	least, tries := k+1, 3
	var x *mat.VecDense
	for range unitSides {
		x = solveSome(a, b, zero)
		var gradient mat.VecDense
		gradient.MulVec(a, x)
		gradient.SubVec(&gradient, b)
		var wrong []int
		for j := range k {
			if !zero[j] && x.AtVec(j) < 0 ||
				zero[j] && gradient.AtVec(j) < -unitClose*math.Abs(b.AtVec(j)) {
				wrong = append(wrong, j)
			}
		}
		switch {
		case len(wrong) == 0:
			return x
		case len(wrong) < least:
			least, tries = len(wrong), 3
		case tries > 0:
			tries--
		default:
			wrong = wrong[len(wrong)-1:]
		}
		for _, j := range wrong {
			zero[j] = !zero[j]
		}
	}
	x.SetVec(0, math.NaN())
	return x
}

// solveSome solves Ax = b for some, the others are zero. Where A is not positive definite, all are
// not a number.
func solveSome(a *mat.SymDense, b *mat.VecDense, zero []bool) *mat.VecDense {
	var of []int
	for j, z := range zero {
		if !z {
			of = append(of, j)
		}
	}
	x := mat.NewVecDense(len(zero), nil)
	if len(of) == 0 {
		return x
	}
	some, right := mat.NewSymDense(len(of), nil), mat.NewVecDense(len(of), nil)
	for i, j := range of {
		right.SetVec(i, b.AtVec(j))
		for l, m := range of[:i+1] {
			some.SetSym(i, l, a.At(j, m))
		}
	}
	var c mat.Cholesky
	var part mat.VecDense
	if !c.Factorize(some) || c.SolveVecTo(&part, right) != nil {
		for j := range zero {
			x.SetVec(j, math.NaN())
		}
		return x
	}
	for i, j := range of {
		x.SetVec(j, part.AtVec(i))
	}
	return x
}

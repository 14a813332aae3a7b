package attribution_test

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/judge/attribution"
	"plimsoll/stats"
)

// A second reading of what docs/method/attribution.md describes, plain and slow: own costs, a
// common factor for each block, moderated variances, and tests down the call tree. It shares only
// the quantiles of Student's t with the first.

// A second is its result.
type second struct {
	base, fresh float64 // mean cost, with what the kernel counts beyond the samples
	factors     []float64
	functions   map[string]*tested
	found       []*tested // the largest change first
	whole       float64   // p of the global null
}

// A tested function has its own cost in each block.
type tested struct {
	name        string
	base, fresh []float64 // CPU seconds per operation
	count       float64   // samples in all
	counting    []float64 // variance of the difference by counting alone
	e           []float64 // beyond the common factor
	mean, se    float64
	df, p       float64
}

const (
	secondEnough = 20   // samples of both arms, from which a function is tested
	secondCap    = 0.1  // of all samples: the most that one function weighs in the common factor
	secondLevel  = 0.05 // of each family
)

// ownOf returns the innermost own function of a stack; empty if it has none.
func ownOf(p attribution.CPUProfile, s attribution.CallStack) string {
	for _, i := range slices.Backward(s.Functions) {
		if i >= 0 && i < len(p.Functions) && p.Functions[i].Kind == attribution.Own {
			return p.Functions[i].Name
		}
	}
	return ""
}

// pathOf returns the own functions of a stack, outermost first, down to the first call of own.
func pathOf(p attribution.CPUProfile, s attribution.CallStack, own string) []string {
	var path []string
	for _, i := range s.Functions {
		if i >= 0 && i < len(p.Functions) && p.Functions[i].Kind == attribution.Own &&
			!slices.Contains(path, p.Functions[i].Name) {
			path = append(path, p.Functions[i].Name)
		}
	}
	return path[:slices.Index(path, own)+1]
}

// attributeAgain reads blocks of which every profile is sound.
func attributeAgain(blocks []attribution.BlockProfiles) *second {
	r := &second{functions: map[string]*tested{}}
	n := len(blocks)
	tree := &secondNode{}
	for b, block := range blocks {
		for arm, p := range []attribution.CPUProfile{block.Base, block.New} {
			samples := 0.0
			for _, s := range p.Stacks {
				cost := float64(s.Samples) * p.Period / p.Operations
				samples += cost
				own := ownOf(p, s)
				if own == "" {
					continue
				}
				tree.add(pathOf(p, s, own))
				f := r.functions[own]
				if f == nil {
					f = &tested{name: own, base: make([]float64, n), fresh: make([]float64, n)}
					f.counting = make([]float64, n)
					r.functions[own] = f
				}
				f.count += float64(s.Samples)
				if arm == 0 {
					f.base[b] += cost
				} else {
					f.fresh[b] += cost
				}
			}
			if p.CPU > 0 {
				samples = p.CPU / p.Operations
			}
			if arm == 0 {
				r.base += samples / float64(n)
			} else {
				r.fresh += samples / float64(n)
			}
		}
	}
	for b, block := range blocks {
		r.factors = append(r.factors, r.factorOf(b, block))
	}
	r.test(blocks)
	r.descend(tree)
	return r
}

// factorOf returns the weighted median of the ratios of block b. No function weighs more than a
// part of all, so that a single one that holds most of the cost does not become the common factor.
func (r *second) factorOf(b int, block attribution.BlockProfiles) float64 {
	type weighted struct{ ratio, weight float64 }
	var all []weighted
	total := 0.0
	perBase := block.Base.Operations / block.Base.Period
	perNew := block.New.Operations / block.New.Period
	for _, f := range r.functions {
		if w := f.base[b]*perBase + f.fresh[b]*perNew; w >= secondEnough && f.base[b] > 0 {
			all = append(all, weighted{f.fresh[b] / f.base[b], w})
			total += w
		}
	}
	if total == 0 {
		return 1
	}
	slices.SortFunc(all, func(x, y weighted) int { return cmp.Compare(x.ratio, y.ratio) })
	half, sum := 0.0, 0.0
	for i := range all {
		all[i].weight = min(all[i].weight, secondCap*total)
		half += all[i].weight / 2
	}
	for _, x := range all {
		if sum += x.weight; sum >= half {
			return x.ratio
		}
	}
	return 1
}

// test gives each function its moderated t test. Its unit is the variance that counting gives: a
// function's overdispersion is shrunk over functions and is never below one.
func (r *second) test(blocks []attribution.BlockProfiles) {
	n := float64(len(blocks))
	var all []*tested
	var spreads []float64
	for _, f := range r.functions {
		for b, block := range blocks {
			g := r.factors[b]
			// at least one sample in each arm: nothing seen is not nothing there
			base := max(f.base[b], block.Base.Period/block.Base.Operations)
			fresh := max(f.fresh[b], block.New.Period/block.New.Operations)
			f.counting[b] = fresh*block.New.Period/block.New.Operations +
				g*g*base*block.Base.Period/block.Base.Operations
			f.e = append(f.e, f.fresh[b]-g*f.base[b])
		}
		f.mean = meanOf(f.e)
		if f.count < secondEnough {
			f.p = math.NaN()
			continue
		}
		all = append(all, f)
		squares := 0.0
		for _, e := range f.e {
			squares += (e - f.mean) * (e - f.mean)
		}
		spreads = append(spreads, max(squares/(n-1)/meanOf(f.counting), 1e-6))
	}
	prior, df0 := priorOf(spreads, n-1)
	for i, f := range all {
		spread, df := spreads[i], n-1
		switch {
		case math.IsInf(df0, 1):
			spread, df = prior, 1e6
		case df0 > 0:
			spread = (df0*prior + df*spread) / (df0 + df)
			df += df0
		}
		f.df = df
		f.se = math.Sqrt(max(spread, 1) * meanOf(f.counting) / n)
		f.p = twoSided(f.mean/f.se, df)
	}
}

// half returns half of the 95 % interval of a change. A block in which everything costs more changes
// by more too, which the spread of functions that did not change knows nothing of.
func (r *second) half(f *tested) float64 {
	n := float64(len(f.base))
	all := make([]float64, len(f.base))
	for _, g := range r.functions {
		for b := range all {
			all[b] += (g.base[b] + g.fresh[b]) / 2
		}
	}
	mean, squares := meanOf(all), 0.0
	for _, x := range all {
		squares += (x/mean - 1) * (x/mean - 1)
	}
	blocks := f.mean * math.Sqrt(squares/(n-1)/n)
	return stats.TQuantile(0.975, f.df) * math.Hypot(f.se, blocks)
}

// priorOf fits the prior of variances by the moments of their logarithms (Smyth 2004, 6.2).
func priorOf(spreads []float64, df float64) (prior, df0 float64) {
	if len(spreads) < 3 {
		return 1, 0
	}
	var logs []float64
	for _, s := range spreads {
		logs = append(logs, math.Log(s)-digamma(df/2)+math.Log(df/2))
	}
	mean := meanOf(logs)
	squares := 0.0
	for _, l := range logs {
		squares += (l - mean) * (l - mean)
	}
	rest := squares/float64(len(logs)-1) - trigamma(df/2)
	if rest <= 0 {
		return math.Exp(mean), math.Inf(1)
	}
	low, high := 1e-3, 1e6 // trigamma falls from 1e6 to 1e-6
	for range 200 {
		if middle := math.Sqrt(low * high); trigamma(middle) > rest {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(mean + digamma(low) - math.Log(low)), 2 * low
}

// digamma and trigamma are sums up to 20 and asymptotic series from there.
func digamma(x float64) float64 {
	sum := 0.0
	for ; x < 20; x++ {
		sum -= 1 / x
	}
	return sum + math.Log(x) - 1/(2*x) - 1/(12*x*x) + 1/(120*x*x*x*x)
}

func trigamma(x float64) float64 {
	sum := 0.0
	for ; x < 20; x++ {
		sum += 1 / (x * x)
	}
	return sum + 1/x + 1/(2*x*x) + 1/(6*x*x*x) - 1/(30*x*x*x*x*x)
}

// twoSided inverts the quantile of Student's t.
func twoSided(t, df float64) float64 {
	t = math.Abs(t)
	low, high := 1e-15, 0.5
	for range 60 {
		middle := math.Sqrt(low * high)
		if stats.TQuantile(1-middle, df) > t {
			low = middle
		} else {
			high = middle
		}
	}
	return min(1, 2*high)
}

func meanOf(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x / float64(len(v))
	}
	return sum
}

// A secondNode is a place in the call tree of own functions.
type secondNode struct {
	name     string
	own      bool // samples ended here
	children []*secondNode
}

func (t *secondNode) add(path []string) {
	for _, name := range path {
		i := slices.IndexFunc(t.children, func(c *secondNode) bool { return c.name == name })
		if i < 0 {
			i = len(t.children)
			t.children = append(t.children, &secondNode{name: name})
		}
		t = t.children[i]
	}
	t.own = true
}

// below adds the functions at and below a node to a set.
func (t *secondNode) below(set map[string]bool) {
	if t.own {
		set[t.name] = true
	}
	for _, c := range t.children {
		c.below(set)
	}
}

// descend opens a family where its parent is found, and collects the functions found.
func (r *second) descend(tree *secondNode) {
	set := map[string]bool{}
	tree.below(set)
	r.whole = r.simes(set)
	if r.whole > secondLevel {
		return
	}
	named := map[string]bool{}
	r.family(tree, named)
	for name := range named {
		r.found = append(r.found, r.functions[name])
	}
	slices.SortFunc(r.found, func(a, b *tested) int {
		return -cmp.Compare(math.Abs(a.mean), math.Abs(b.mean))
	})
}

// family tests a node's own cost and its children by Benjamini and Hochberg.
func (r *second) family(t *secondNode, named map[string]bool) {
	type member struct {
		p     float64
		child *secondNode // nil for the node's own cost
	}
	var members []member
	if f := r.functions[t.name]; t.own && f != nil && !math.IsNaN(f.p) {
		members = append(members, member{f.p, nil})
	}
	for _, c := range t.children {
		set := map[string]bool{}
		c.below(set)
		if p := r.simes(set); !math.IsNaN(p) {
			members = append(members, member{p, c})
		}
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.p, b.p) })
	rejected := 0
	for k, m := range members {
		if m.p <= secondLevel*float64(k+1)/float64(len(members)) {
			rejected = k + 1
		}
	}
	for _, m := range members[:rejected] {
		if m.child == nil {
			named[t.name] = true
		} else {
			r.family(m.child, named)
		}
	}
}

// simes combines the tests of functions; NaN if there is none.
func (r *second) simes(set map[string]bool) float64 {
	var p []float64
	for name := range set {
		if f := r.functions[name]; !math.IsNaN(f.p) {
			p = append(p, f.p)
		}
	}
	if len(p) == 0 {
		return math.NaN()
	}
	slices.Sort(p)
	least := 1.0
	for k, x := range p {
		least = min(least, x*float64(len(p))/float64(k+1))
	}
	return least
}

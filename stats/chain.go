package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Link is one comparison of two nodes, such as two releases: the differences of node To against
// node From, one from each of n pairs, on a scale on which differences add up (logarithms of
// ratios).
type Link struct {
	From, To int // from 0, not the same
	Pairs    Sample
}

// A ChainLevel is the level of a node against the root of its chain: the nodes that links connect
// with it, of which the root is the lowest.
type ChainLevel struct {
	Root int
	// Estimate is the difference to the root, 0 for the root itself. SE is its standard error and
	// DF its degrees of freedom; both are NaN, and the interval unknown, when a comparison on the
	// way has fewer than [MinInterval] pairs. The root's is exact.
	Estimate, SE, DF float64
	Interval
}

// Chain returns the level of every node against the root of its chain, with intervals of the given
// confidence. Differences within links alone are used: an effect of a place or a day on both sides
// of a comparison cancels, and two nodes that no links connect are not compared.
//
// Levels are the least-squares fit to the means of the links, each weighted by its number of pairs;
// in a chain without loops they are sums of the means on the way. Errors come from the spread of
// the pairs within each link alone, which may differ from link to link, and the degrees of freedom
// from Satterthwaite (Biometrics Bull. 2, 1946). That links around a loop disagree does not widen
// them.
//
// It panics if a link names a node that is not there or twice the same, or has no pair.
func Chain(nodes int, links []Link, level float64) []ChainLevel {
	root := components(nodes, links)
	out := make([]ChainLevel, nodes)
	for i := range out {
		out[i] = ChainLevel{Root: root[i], Interval: Interval{Level: level}, DF: math.Inf(1)}
	}
	mean, v, df := spreads(links)
	for r := range nodes {
		if root[r] != r {
			continue
		}
		var members, own []int
		for i := r + 1; i < nodes; i++ {
			if root[i] == r {
				members = append(members, i)
			}
		}
		for c, l := range links {
			if root[l.From] == r {
				own = append(own, c)
			}
		}
		columns := make([][]float64, len(members))
		for k, node := range members {
			columns[k] = make([]float64, len(own))
			for j, c := range own {
				switch node {
				case links[c].To:
					columns[k][j] = 1
				case links[c].From:
					columns[k][j] = -1
				}
			}
		}
		a, ok := weightedFit(columns, weights(links, own))
		if !ok {
			panic("stats: a connected chain has no fit") // its matrix is positive definite
		}
		for k, node := range members {
			l := &out[node]
			l.Estimate, l.SE, l.DF = combination(a[k], own, mean, v, df)
			half := TQuantile(1-(1-level)/2, max(l.DF, 1)) * l.SE
			l.Lo, l.Hi = l.Estimate-half, l.Estimate+half
		}
	}
	return out
}

// components returns the lowest node that links connect with each node.
func components(nodes int, links []Link) []int {
	root := make([]int, nodes)
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	for i, l := range links {
		if l.From < 0 || l.To < 0 || l.From >= nodes || l.To >= nodes || l.From == l.To ||
			l.Pairs.N() == 0 {
			panic(fmt.Sprintf(
				"stats: link %d from %d to %d with %d pairs, of %d nodes",
				i,
				l.From,
				l.To,
				l.Pairs.N(),
				nodes,
			))
		}
		a, b := find(l.From), find(l.To)
		root[max(a, b)] = min(a, b)
	}
	for i := range root {
		root[i] = find(i)
	}
	return root
}

// spreads returns the mean of each link, the variance of that mean, and its degrees of freedom; NaN
// below MinInterval pairs.
func spreads(links []Link) (mean, v, df []float64) {
	for _, l := range links {
		n := float64(l.Pairs.N())
		mean = append(mean, l.Pairs.Mean())
		if l.Pairs.N() < MinInterval {
			v, df = append(v, math.NaN()), append(df, math.NaN())
			continue
		}
		v, df = append(v, square(l.Pairs.SD())/n), append(df, n-1)
	}
	return mean, v, df
}

func weights(links []Link, of []int) []float64 {
	out := make([]float64, len(of))
	for j, c := range of {
		out[j] = float64(links[c].Pairs.N())
	}
	return out
}

// tiny is the size that a coefficient may have by rounding alone.
const tiny = 1e-10

// combination returns Σ a·mean over the links of, its standard error and Satterthwaite's degrees of
// freedom.
func combination(a []float64, of []int, mean, v, df []float64) (estimate, se, dof float64) {
	sum, below := 0.0, 0.0
	for j, c := range of {
		if math.Abs(a[j]) < tiny {
			continue
		}
		estimate += a[j] * mean[c]
		part := square(a[j]) * v[c]
		sum += part
		below += square(part) / df[c]
	}
	if sum == 0 { // no link on the way varied
		dof = math.Inf(1)
		for j, c := range of {
			if math.Abs(a[j]) >= tiny {
				dof = min(dof, df[c])
			}
		}
		return estimate, 0, dof
	}
	return estimate, math.Sqrt(sum), sum * sum / below
}

// weightedFit returns the rows a of (X'WX)^-1 X'W for columns of X: the coefficients of the
// weighted least-squares fit are a·y. It reports false when the columns depend on each other.
func weightedFit(columns [][]float64, w []float64) (a [][]float64, ok bool) {
	p, n := len(columns), len(w)
	m := make([][]float64, p) // X'WX, and beside it X'W
	for i, x := range columns {
		m[i] = make([]float64, p+n)
		for k, y := range columns {
			for j := range w {
				m[i][k] += x[j] * w[j] * y[j]
			}
		}
		for j := range w {
			m[i][p+j] = x[j] * w[j]
		}
	}
	for i := range p {
		best := i
		for k := i + 1; k < p; k++ {
			if math.Abs(m[k][i]) > math.Abs(m[best][i]) {
				best = k
			}
		}
		m[i], m[best] = m[best], m[i]
		if math.Abs(m[i][i]) < tiny {
			return nil, false
		}
		for k := range p {
			if k == i {
				continue
			}
			f := m[k][i] / m[i][i]
			for j := i; j < p+n; j++ {
				m[k][j] -= f * m[i][j]
			}
		}
	}
	a = make([][]float64, p)
	for i := range a {
		a[i] = make([]float64, n)
		for j := range n {
			a[i][j] = m[i][p+j] / m[i][i]
		}
	}
	return a, true
}

// A Change is a place in an ordered chain from which on the level is another.
type Change struct {
	// At is the first node of the new level.
	At int
	// Shift is the difference of the new level to the one before, with its interval of level
	// 1-alpha for itself alone, in the model with all changes.
	Shift, SE, DF float64
	Interval
	// P is the p-value of the change in that model, adjusted for all candidate places; at most
	// alpha.
	P float64
	// InRow is the largest number of links in a row, in the order of the input and of those that
	// reach across the change, each of which shows it by itself: its mean, without the other
	// changes, has the sign of Shift and an interval of level 1-alpha that excludes 0. A change
	// that one link made has 1, and 0 is possible where only several together show it.
	InRow int
}

// Candidates returns the places of an ordered chain at which [ChangePoints] looks for a change:
// those that comparisons of at least [MinPairs] pairs together reach across, each with
// [MinInterval] or more.
func Candidates(nodes int, links []Link) []int {
	components(nodes, links) // panics
	var out []int
	for at := 1; at < nodes; at++ {
		pairs := 0
		for _, l := range links {
			if step(l, at) != 0 && l.Pairs.N() >= MinInterval {
				pairs += l.Pairs.N()
			}
		}
		if pairs >= MinPairs {
			out = append(out, at)
		}
	}
	return out
}

// step returns the direction in which a link crosses a place: 1 upward, -1 downward, 0 not at all.
func step(l Link, at int) float64 {
	switch {
	case l.From < at && l.To >= at:
		return 1
	case l.To < at && l.From >= at:
		return -1
	}
	return 0
}

// ChangePoints returns where the level of nodes in their order changes, in that order: by binary
// segmentation, as forward selection of steps. Beginning with a constant level, each round fits one
// step more at every one of [Candidates] beside those found, tests its height by t, and takes the
// one with the smallest p-value while that, times the number of all candidates (Bonferroni), is at
// most alpha, which lies in (0, 1). So the chance that a chain of equal nodes gets any change is at
// most alpha. A step that is no longer beyond alpha beside a later one, which took its place, is
// dropped for good.
//
// Levels are known by differences within links only, so a step is seen by the links that reach
// across it. In a chain in which each comparison joins two neighbors, every step has its own
// comparisons; where all are compared with one base, a step is a jump in the series of differences.
// The variance of a link is its own, or the one moderated by those of all links (see [ModeratedT]),
// with its degrees of freedom, where that is larger: a comparison that by chance hardly varied is
// not taken to be that exact, and one on a restless host stays as uncertain as it is. With fewer
// than five links each variance is its own.
//
// Sources: Scott and Knott, Biometrics 30 (1974), and Vostrikova, Soviet Math. Doklady 24 (1981),
// for binary segmentation; Smyth, Statist. Appl. Genet. Mol. Biol. 3 (2004), for the variances.
// docs/method/statistics.md has how often it errs.
func ChangePoints(nodes int, links []Link, alpha float64) []Change {
	s := steps{links: links, places: Candidates(nodes, links)}
	s.mean, s.v, s.df = spreads(links)
	total := 0.0
	for c, l := range links {
		if l.Pairs.N() >= MinInterval {
			s.known = append(s.known, c)
			total += s.df[c]
		}
	}
	if len(s.places) == 0 || !(alpha > 0 && alpha < 1) {
		return nil
	}
	moderate(links, s.v, s.df, s.known, total)
	at := s.find(alpha)
	if len(at) == 0 {
		return nil
	}
	found := s.fit(at)
	for i := range found {
		f := &found[i]
		half := TQuantile(1-alpha/2, max(f.DF, 1)) * f.SE
		f.Interval = Interval{Lo: f.Shift - half, Hi: f.Shift + half, Level: 1 - alpha}
		f.InRow = s.inRow(*f, found, alpha)
	}
	return found
}

// steps fits steps to a chain.
type steps struct {
	links       []Link
	known       []int     // links with a variance
	mean, v, df []float64 // of each link
	places      []int
}

// fit returns the steps at the places together, with the p-value of each adjusted; nil if they
// cannot be separated.
func (s *steps) fit(at []int) []Change {
	columns := make([][]float64, len(at))
	for i := range at {
		columns[i] = make([]float64, len(s.known))
		for j, c := range s.known {
			columns[i][j] = step(s.links[c], at[i])
		}
	}
	a, ok := weightedFit(columns, weights(s.links, s.known))
	if !ok {
		return nil
	}
	out := make([]Change, len(at))
	for i := range out {
		c := &out[i]
		c.At = at[i]
		c.Shift, c.SE, c.DF = combination(a[i], s.known, s.mean, s.v, s.df)
		c.P = moderated(c.Shift, c.SE, c.DF, 0).P * float64(len(s.places))
	}
	return out
}

// find selects places, one after the other, and returns them in their order.
func (s *steps) find(alpha float64) (at []int) {
	for left := slices.Clone(s.places); len(left) > 0; {
		best := Change{P: math.Inf(1)}
		for _, place := range left {
			if all := s.fit(append(slices.Clip(at), place)); all != nil {
				c := all[len(all)-1]
				if c.P < best.P || c.P == best.P && math.Abs(c.Shift) > math.Abs(best.Shift) {
					best = c
				}
			}
		}
		if !(best.P <= alpha) {
			break
		}
		at = append(at, best.At)
		left = slices.DeleteFunc(left, func(place int) bool { return place == best.At })
		for len(at) > 1 {
			worst := slices.MaxFunc(s.fit(at), func(x, y Change) int {
				return cmp.Compare(x.P, y.P)
			})
			if worst.P <= alpha {
				break
			}
			at = slices.DeleteFunc(at, func(place int) bool { return place == worst.At })
		}
	}
	slices.Sort(at)
	return at
}

// inRow returns [Change.InRow] of one of the changes found.
func (s *steps) inRow(f Change, found []Change, alpha float64) (most int) {
	row := 0
	for _, c := range s.known {
		across := step(s.links[c], f.At)
		if across == 0 {
			continue
		}
		own := s.mean[c] + across*f.Shift
		for _, x := range found {
			own -= step(s.links[c], x.At) * x.Shift
		}
		row++
		if own*across*math.Copysign(1, f.Shift) <= TQuantile(1-alpha/2, s.df[c])*math.Sqrt(s.v[c]) {
			row = 0
		}
		most = max(most, row)
	}
	return most
}

// minModerated is the smallest number of links whose variances are moderated: fewer do not
// determine their common variance well enough.
const minModerated = 5

// moderate replaces the variances of means, and their degrees of freedom, by the moderated ones
// where those variances are larger.
func moderate(links []Link, v, df []float64, known []int, total float64) {
	if len(known) < minModerated {
		return
	}
	variance, freedom := make([]float64, len(known)), make([]float64, len(known))
	for j, c := range known {
		variance[j], freedom[j] = v[c]*float64(links[c].Pairs.N()), df[c]
	}
	prior := VariancePrior(variance, freedom)
	for j, c := range known {
		if shrunk, d := prior.Moderate(variance[j], freedom[j], total); shrunk > variance[j] {
			v[c], df[c] = shrunk/float64(links[c].Pairs.N()), d
		}
	}
}

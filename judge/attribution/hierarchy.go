package attribution

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/graph/flow"
	"gonum.org/v1/gonum/graph/simple"
	"plimsoll/stats"
)

const (
	// leastCall is the share of the calls of a function from which a caller counts as one. A sample
	// in the first instructions of a function misses its caller, and shows the caller's instead.
	leastCall = 0.02
	// mostAlone is the share of the samples of a subtree from which one of its parts is as good as
	// the whole, and the whole is not tested.
	mostAlone = 0.9
	// wholeTree is the largest factor by which false findings of the whole tree may exceed those of
	// its families (Yekutieli 2008, section 3: 2·δ, and δ <= 1.44).
	wholeTree = 2 * 1.44
)

// A node is a function in the tree of functions: its parent is the deepest function through which
// all of its calls come, so that a subtree is what is called through one function alone. A function
// with several callers hangs below what these have in common.
type node struct {
	unit     int // -1 for the root
	children []*node
	all      []int // units of the subtree
	whole    estimate
	// p-values of the function itself and of the sum of the subtree; NaN if not tested.
	self, sum float64
	// false discovery rates at which each is found.
	selfQ, sumQ float64
	tests       []float64 // p-values of the subtree, in ascending order
}

// tree returns the root of the tree of functions.
func (m *model) tree() *node {
	nodes := map[int32]*node{}
	root := &node{unit: -1}
	var order []int32 // of the functions
	for i, u := range m.units {
		if u.function >= 0 {
			nodes[u.function] = &node{unit: i}
			order = append(order, u.function)
		}
	}
	dominators := flow.Dominators(simple.Node(-1), m.callGraph())
	for _, f := range order {
		parent := root
		if d := dominators.DominatorOf(int64(f)); d != nil && d.ID() >= 0 {
			parent = nodes[int32(d.ID())]
		}
		parent.children = append(parent.children, nodes[f])
	}
	m.gather(root)
	return root
}

// callGraph returns the calls between functions of the program itself, from node -1 on. The most
// frequent caller of a function always counts. What it does not reach, the root calls.
//
// Source of dominators: Lengauer and Tarjan, ACM Trans. Program. Lang. Syst. 1 (1979).
func (m *model) callGraph() *simple.DirectedGraph {
	calls := sortedKeys(m.calls.all)
	called, most := map[int32]float64{}, map[int32]float64{}
	for _, c := range calls {
		n := m.calls.all[c][0] + m.calls.all[c][1]
		called[c[1]] += n
		most[c[1]] = max(most[c[1]], n)
	}
	g := simple.NewDirectedGraph()
	g.AddNode(simple.Node(-1))
	for _, c := range calls {
		n := m.calls.all[c][0] + m.calls.all[c][1]
		if n >= leastCall*called[c[1]] || n == most[c[1]] {
			g.SetEdge(simple.Edge{F: simple.Node(c[0]), T: simple.Node(c[1])})
		}
	}
	return g
}

// gather sums up the subtrees and tests them, from the leaves on.
func (m *model) gather(n *node) {
	n.self, n.sum = math.NaN(), math.NaN()
	largest := 0.0
	if n.unit >= 0 {
		n.all = []int{n.unit}
		e := m.estimates[n.unit]
		largest = e.samples
		if e.samples >= leastSamples {
			n.self = m.test(e)
			n.tests = append(n.tests, n.self)
		}
	}
	for _, child := range n.children {
		m.gather(child)
		n.all = append(n.all, child.all...)
		n.tests = append(n.tests, child.tests...)
		largest = max(largest, child.whole.samples)
	}
	n.whole = m.sum(n.all)
	if n.unit >= 0 && n.whole.samples >= leastSamples && largest < mostAlone*n.whole.samples {
		n.sum = m.test(n.whole)
		n.tests = append(n.tests, n.sum)
	}
	slices.Sort(n.tests)
}

// simes returns the p-value of no change anywhere among tests whose p-values ascend.
//
// Source: Simes, Biometrika 73 (1986).
func simes(ascending []float64) float64 {
	p := 1.0
	for i, v := range ascending {
		p = min(p, v*float64(len(ascending))/float64(i+1))
	}
	return p
}

// test opens the family of a node that is found at rate q of the whole tree: the function itself,
// the sum of its subtree, and each child by the p-value of its subtree. The weight of a child is its
// number of tests, so that a change is found in a deep tree as in a flat one.
//
// Sources: Yekutieli, J. Am. Statist. Assoc. 103 (2008), for the tree; Benjamini and Hochberg (1995)
// for a family; Genovese, Roeder and Wasserman, Biometrika 93 (2006), for weights.
func (n *node) test(q float64) {
	p, weights := []float64{n.self, n.sum}, []float64{1, 1}
	for _, child := range n.children {
		v := math.NaN()
		if len(child.tests) > 0 {
			v = simes(child.tests)
		}
		p, weights = append(p, v), append(weights, float64(len(child.tests)))
	}
	members, sum := 0.0, 0.0
	for i, v := range p {
		if !math.IsNaN(v) {
			members++
			sum += weights[i]
		}
	}
	for i := range p {
		p[i] *= sum / (weights[i] * members)
	}
	adjusted := stats.BenjaminiHochberg(p)
	for i := range adjusted {
		adjusted[i] = min(1, wholeTree*adjusted[i])
	}
	n.selfQ, n.sumQ = max(q, adjusted[0]), max(q, adjusted[1])
	for i, child := range n.children {
		child.test(max(q, adjusted[i+2]))
	}
}

package attribution

import (
	"cmp"
	"slices"
)

// leastDrawn is the smallest share of the cost of an arm that a node of the drawing has.
const leastDrawn = 0.001

// A path is a stack, and what it costs in both arms on the mean of the blocks.
type path struct {
	stack   []int   // indexes of a profile's functions
	numbers []int32 // of these
	cost    [2]float64
}

// at returns the number of the function at a depth.
func (p *path) at(depth int) int32 {
	if i := p.stack[depth]; i >= 0 && i < len(p.numbers) {
		return p.numbers[i]
	}
	return 0
}

// hash returns a number that equal stacks of functions share (FNV-1a by whole numbers).
func (p *path) hash() uint64 {
	h := uint64(14695981039346656037)
	for depth := range p.stack {
		h = (h ^ uint64(p.at(depth))) * 1099511628211
	}
	return h
}

// equal reports whether two stacks have the same functions.
func (p *path) equal(q *path) bool {
	if len(p.stack) != len(q.stack) {
		return false
	}
	for depth := range p.stack {
		if p.at(depth) != q.at(depth) {
			return false
		}
	}
	return true
}

// A drawer makes the call tree of both arms.
type drawer struct {
	functions []Function
	marks     map[int32]int // findings by function
	paths     []path
	least     [2]float64 // cost from which a node is drawn, by arm
	slots     []int      // by function: the child of the node at hand, and one more
}

// drawing returns the call tree of both arms below a root without a name. Nodes with less than a
// thousandth of the cost of either arm are left out, so that it has at most 2,000 at each depth.
func drawing(c *counting, blocks []BlockProfiles, marks map[int32]int) *Node {
	d := drawer{functions: c.functions, marks: marks, slots: make([]int, len(c.functions))}
	root := &Node{Finding: -1}
	seen := map[uint64]int{} // the last path of a hash, and one more
	for b := range blocks {
		for a, p := range []*CPUProfile{&blocks[b].Base, &blocks[b].New} {
			for _, s := range p.Stacks {
				if s.Samples <= 0 || len(s.Functions) == 0 {
					continue
				}
				cost := float64(s.Samples) * c.scale[a][b] / float64(c.blocks)
				next := path{stack: s.Functions, numbers: c.numbers[a][b]}
				h := next.hash()
				if n := seen[h]; n == 0 || !d.paths[n-1].equal(&next) {
					d.paths = append(d.paths, next)
					seen[h] = len(d.paths)
				}
				d.paths[seen[h]-1].cost[a] += cost
				*root.cost(a) += cost
			}
		}
	}
	d.least = [2]float64{leastDrawn * root.Base, leastDrawn * root.New}
	all := make([]int32, len(d.paths))
	for i := range all {
		all[i] = int32(i)
	}
	d.grow(root, all, 0)
	return root
}

// addNotSampled adds what the root's costs lack in those of the arms, as the last child: so the root
// has the cost that the verdict shows. Samples may also stand for more than was counted.
func (n *Node) addNotSampled(base, fresh float64) {
	lack := &Node{
		Function: Function{Name: "[not sampled]", Kind: Unknown},
		Base:     max(0, base-n.Base),
		New:      max(0, fresh-n.New),
		Finding:  -1,
	}
	if lack.Base > 0 || lack.New > 0 {
		n.Base += lack.Base
		n.New += lack.New
		n.Children = append(n.Children, lack)
	}
}

func (n *Node) cost(arm int) *float64 {
	if arm == 0 {
		return &n.Base
	}
	return &n.New
}

// grow adds the children of a node at a depth to which all paths lead.
func (d *drawer) grow(n *Node, paths []int32, depth int) {
	type child struct {
		node     *Node
		function int32
		paths    []int32
		size     int
	}
	var children []*child
	for _, i := range paths {
		p := &d.paths[i]
		if len(p.stack) == depth {
			continue
		}
		f := p.at(depth)
		if d.slots[f] == 0 {
			children = append(children, &child{node: &Node{Finding: -1}, function: f})
			d.slots[f] = len(children)
		}
		c := children[d.slots[f]-1]
		c.size++
		c.node.Base += p.cost[0]
		c.node.New += p.cost[1]
	}
	var kept []*child
	for _, c := range children {
		if c.node.Base >= d.least[0] || c.node.New >= d.least[1] {
			c.paths = make([]int32, 0, c.size)
			kept = append(kept, c)
		}
	}
	for _, i := range paths {
		if len(d.paths[i].stack) == depth {
			continue
		}
		if c := children[d.slots[d.paths[i].at(depth)]-1]; cap(c.paths) > 0 {
			c.paths = append(c.paths, i)
		}
	}
	for _, c := range children {
		d.slots[c.function] = 0
	}
	slices.SortFunc(kept, func(a, b *child) int { return cmp.Compare(a.function, b.function) })
	for _, c := range kept {
		c.node.Function = d.functions[c.function]
		if mark, ok := d.marks[c.function]; ok {
			c.node.Finding = mark
		}
		d.grow(c.node, c.paths, depth+1)
		n.Children = append(n.Children, c.node)
	}
}

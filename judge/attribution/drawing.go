package attribution

import (
	"cmp"
	"slices"
)

// leastDrawn is the smallest share of the cost of an arm that a node of the drawing has.
const leastDrawn = 0.001

// A path is a stack of one profile, and what it costs on the mean of the blocks.
type path struct {
	functions []int32
	cost      float64
	arm       int
}

// A drawer makes the call tree of both arms.
type drawer struct {
	functions []Function
	marks     map[int32]int // findings by function
	least     [2]float64    // cost from which a node is drawn, by arm
	slots     []int         // by function: the child of the node at hand, and one more
}

// drawing returns the call tree of both arms below a root without a name. Nodes with less than a
// thousandth of the cost of both arms are left out, so that it has at most a thousand at each depth.
func drawing(c *counting, blocks []Block, marks map[int32]int) *Node {
	d := drawer{functions: c.functions, marks: marks, slots: make([]int, len(c.functions))}
	var paths []path
	for b := range blocks {
		for a, p := range []*Profile{&blocks[b].Base, &blocks[b].New} {
			for _, s := range p.Stacks {
				if s.Samples <= 0 || len(s.Functions) == 0 {
					continue
				}
				functions := make([]int32, len(s.Functions))
				for k, i := range s.Functions {
					functions[k] = c.number(a, b, i)
				}
				cost := float64(s.Samples) * c.scale[a][b] / float64(c.blocks)
				paths = append(paths, path{functions, cost, a})
			}
		}
	}
	root := &Node{Finding: -1}
	for _, p := range paths {
		*root.cost(p.arm) += p.cost
	}
	d.least = [2]float64{leastDrawn * root.Base, leastDrawn * root.New}
	d.grow(root, paths, 0)
	return root
}

func (n *Node) cost(arm int) *float64 {
	if arm == 0 {
		return &n.Base
	}
	return &n.New
}

// grow adds the children of a node at a depth to which all paths lead.
func (d *drawer) grow(n *Node, paths []path, depth int) {
	type child struct {
		node     *Node
		function int32
		paths    []path
		size     int
	}
	var children []*child
	for _, p := range paths {
		if len(p.functions) == depth {
			continue
		}
		f := p.functions[depth]
		if d.slots[f] == 0 {
			children = append(children, &child{node: &Node{Finding: -1}, function: f})
			d.slots[f] = len(children)
		}
		c := children[d.slots[f]-1]
		c.size++
		*c.node.cost(p.arm) += p.cost
	}
	kept := children[:0:0]
	for _, c := range children {
		if c.node.Base >= d.least[0] || c.node.New >= d.least[1] {
			c.paths = make([]path, 0, c.size)
			kept = append(kept, c)
		}
	}
	for _, p := range paths {
		if len(p.functions) == depth {
			continue
		}
		if c := children[d.slots[p.functions[depth]]-1]; cap(c.paths) > 0 {
			c.paths = append(c.paths, p)
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

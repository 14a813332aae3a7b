package profile

// A tally counts stacks. It is a tree, in which stacks share the frames of their callers: node i
// below the number of roles is the root of a role.
type tally struct {
	nodes []tallyNode
	index map[uint64]uint32 // by parent and frame
}

type tallyNode struct {
	parent, frame uint32
	count         uint32
}

func newTally(roles int) *tally {
	return &tally{nodes: make([]tallyNode, roles), index: map[uint64]uint32{}}
}

// child returns the node of a frame below a parent.
func (t *tally) child(parent, frame uint32) uint32 {
	key := uint64(parent)<<32 | uint64(frame)
	n, ok := t.index[key]
	if !ok {
		n = uint32(len(t.nodes))
		t.nodes = append(t.nodes, tallyNode{parent: parent, frame: frame})
		t.index[key] = n
	}
	return n
}

// role returns the root of a node's stack.
func (t *tally) role(n, roles uint32) uint32 {
	for n >= roles {
		n = t.nodes[n].parent
	}
	return n
}

// stack returns the frames of a node, outermost first.
func (t *tally) stack(n, roles uint32) (frames []int) {
	depth := 0
	for m := n; m >= roles; m = t.nodes[m].parent {
		depth++
	}
	frames = make([]int, depth)
	for ; n >= roles; n = t.nodes[n].parent {
		depth--
		frames[depth] = int(t.nodes[n].frame)
	}
	return frames
}

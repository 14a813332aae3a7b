package workload

import "math/bits"

// Divide says that the users of this process, who may be recipients, are those of one of several agents: number agent,
// agent+agents and so on. It is called before anything is counted. Memory is then for these alone.
func (l *Ledger) Divide(agent, agents int) {
	if l != nil && agents > 0 {
		l.agent, l.agents = agent, agents
	}
}

// place returns the place of a user of this process.
func (l *Ledger) place(user int) int32 { return int32(user / l.agents) }

// authorPlace returns the place of an author; -1 if it is a user of another process, or serves arrivals: these have no
// place here and are not recipients.
func (l *Ledger) authorPlace(user int) int32 {
	if user < 0 || user >= firstServer || user%l.agents != l.agent {
		return -1
	}
	return l.place(user)
}

// bitmap has a bit for the place of each user.
type bitmap []uint64

func (b *bitmap) set(i int32) (was bool) {
	w := int(i >> 6)
	for w >= len(*b) {
		*b = append(*b, 0)
	}
	was = (*b)[w]&(1<<(i&63)) != 0
	(*b)[w] |= 1 << (i & 63)
	return was
}

func (b bitmap) clear(i int32) {
	if w := int(i >> 6); w < len(b) {
		b[w] &^= 1 << (i & 63)
	}
}

func (b bitmap) has(i int32) bool {
	w := int(i >> 6)
	return w < len(b) && b[w]&(1<<(i&63)) != 0
}

func (b bitmap) count() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

package workload

import "math/bits"

// Divide says that the users of this process, who may be recipients, belong to one agent of a
// deal. It is called before anything is counted. Memory is then for these alone.
func (l *Ledger) Divide(agent int, d *Deal) {
	if l != nil {
		l.agent, l.deal = agent, d
	}
}

// place returns the place of a user of this process.
func (l *Ledger) place(user int) int32 {
	_, place := l.deal.Of(user)
	return int32(place)
}

// authorPlace returns the place of an author; -1 if it is a user of another process, or serves
// arrivals: these have no place here and are not recipients.
func (l *Ledger) authorPlace(user int) int32 {
	if user < 0 || user >= firstServer {
		return -1
	}
	agent, place := l.deal.Of(user)
	if agent != l.agent {
		return -1
	}
	return int32(place)
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

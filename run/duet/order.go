package duet

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// An order yields the order of turns, in pairs of rounds. It is a function of the seed and of the
// groups.
type order struct {
	rng    *rand.Rand
	groups [][]int // the seats of each group
}

// stream sets the order of turns apart from other users of the same seed.
const stream = 0x6475_6574

// newOrder returns the order of seats; the i-th seat is in group groups[i].
func newOrder(seed uint64, groups []string) *order {
	o := &order{rng: rand.New(rand.NewPCG(seed, stream))}
	of := map[string]int{}
	for seat, name := range groups {
		g, ok := of[name]
		if !ok {
			g = len(o.groups)
			of[name] = g
			o.groups = append(o.groups, nil)
		}
		o.groups[g] = append(o.groups[g], seat)
	}
	return o
}

// pair returns the seats of the next two rounds: a random permutation of the groups and of the
// seats within each, then its reverse.
func (o *order) pair() []int {
	var round []int
	for _, g := range o.rng.Perm(len(o.groups)) {
		seats := o.groups[g]
		for _, k := range o.rng.Perm(len(seats)) {
			round = append(round, seats[k])
		}
	}
	back := slices.Clone(round)
	slices.Reverse(back)
	return append(round, back...)
}

// sorted returns the seats by group and name, which does not depend on the moments at which they
// sat down.
func sorted(seats []*Seat) []*Seat {
	return slices.SortedStableFunc(slices.Values(seats), func(a, b *Seat) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.name, b.name))
	})
}

package workload

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
)

const (
	// MostRated bounds a rating that users are divided by.
	MostRated = 1 << 30
	// dealUnits is the number of units that the parts of all hosts together have, about: each part
	// is a whole number of them, and at least one. Ratings that are fewer in sum, their common
	// divisor taken off, are kept exactly.
	dealUnits = 1 << 16
)

// A Deal divides users among agents, and arrivals alike: each number from 0 on belongs to one
// agent, which is a function of the number and of the deal alone. Agent k is on host k modulo the
// number of hosts. Of the first n numbers, for every n, each host has its part, give or take less
// than one, and neighbors are spread over the hosts. A Deal does not change and is safe for
// concurrent use.
type Deal struct {
	agents, hosts int
	each          int // agents of a host
	// The parts of the hosts in a cycle of numbers, which repeats; nil when all parts are equal.
	parts []int
	host  []int32 // of each number of the cycle
	nth   []int32 // its place among the numbers of that host in the cycle
}

// Evenly returns the deal in which agent k of n has the numbers k, k+n, k+2n and so on. n is at
// least 1.
func Evenly(n int) *Deal { return &Deal{agents: n, hosts: n, each: 1} }

// NewDeal returns the deal among so many agents on as many hosts as there are ratings, each with as
// many agents as the others. The hosts' parts are in proportion to their ratings, 1 to [MostRated],
// rounded to about 1/65536 of all; a host's part is divided equally among its agents. Without
// ratings it is [Evenly].
func NewDeal(agents int, ratings []int) (*Deal, error) {
	if agents < 1 {
		return nil, fmt.Errorf("a deal among %d agents is not possible", agents)
	}
	if len(ratings) == 0 {
		return Evenly(agents), nil
	}
	for i, r := range ratings {
		if r < 1 || r > MostRated {
			return nil, fmt.Errorf("host %d has a rating of %d; want 1 to %d", i, r, MostRated)
		}
	}
	if agents%len(ratings) != 0 {
		return nil, fmt.Errorf("%d agents on %d hosts: want as many on each", agents, len(ratings))
	}
	d := &Deal{agents: agents, hosts: len(ratings), each: agents / len(ratings)}
	if parts := partsOf(ratings); slices.Max(parts) > 1 {
		d.parts = parts
		d.deal()
	}
	return d, nil
}

// partsOf returns numbers in proportion to the ratings, without a common divisor.
func partsOf(ratings []int) []int {
	parts := reduced(ratings)
	sum := 0
	for _, r := range parts {
		sum += r
	}
	if sum <= dealUnits {
		return parts
	}
	for i, r := range parts {
		parts[i] = max(1, int(math.Round(float64(r)*dealUnits/float64(sum))))
	}
	return reduced(parts)
}

// reduced returns the numbers without their common divisor.
func reduced(list []int) []int {
	common := 0
	for _, a := range list {
		for b := common; b != 0; {
			a, b = b, a%b
		}
		common = a
	}
	out := slices.Clone(list)
	for i := range out {
		out[i] /= common
	}
	return out
}

// deal fills one cycle, of n numbers. A host with the part p has its j-th number of them, from 0,
// at j·n/p at the earliest, rounded down, and before (j+1)·n/p, rounded up. Of the hosts whose time
// has come, the one whose time ends first is next. There are as many numbers as turns, so that rule
// keeps all times, and a host that keeps them is never a whole number off.
func (d *Deal) deal() {
	n := 0
	for _, p := range d.parts {
		n += p
	}
	d.host, d.nth = make([]int32, 0, n), make([]int32, 0, n)
	// The hosts whose time comes at each number: the first of them, and the one after each; -1 for
	// none.
	first, after := slices.Repeat([]int32{-1}, n), make([]int32, d.hosts)
	for h := d.hosts - 1; h >= 0; h-- {
		first[0], after[h] = int32(h), first[0]
	}
	had := make([]int, d.hosts)
	var open dealTurns
	for at := range n {
		for h := first[at]; h >= 0; h = after[h] {
			p := d.parts[h]
			heap.Push(&open, dealTurn{ends: ((had[h]+1)*n + p - 1) / p, host: h})
		}
		h := heap.Pop(&open).(dealTurn).host
		d.host, d.nth = append(d.host, h), append(d.nth, int32(had[h]))
		if had[h]++; had[h] < d.parts[h] {
			comes := max(at+1, had[h]*n/d.parts[h])
			first[comes], after[h] = h, first[comes]
		}
	}
}

// A dealTurn is a host's next number of a cycle, which must come before ends.
type dealTurn struct {
	ends int
	host int32
}

// dealTurns are the turns whose time has come, the one that ends first on top.
type dealTurns []dealTurn

func (t dealTurns) Len() int { return len(t) }
func (t dealTurns) Less(i, k int) bool {
	return t[i].ends < t[k].ends || t[i].ends == t[k].ends && t[i].host < t[k].host
}
func (t dealTurns) Swap(i, k int) { t[i], t[k] = t[k], t[i] }
func (t *dealTurns) Push(x any)   { *t = append(*t, x.(dealTurn)) }
func (t *dealTurns) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

// Of returns the agent of a number, and the number's place among the agent's numbers, both from 0.
// The number is not negative.
func (d *Deal) Of(i int) (agent, place int) {
	if d.parts == nil {
		return i % d.agents, i / d.agents
	}
	cycle, at := i/len(d.host), i%len(d.host)
	h := int(d.host[at])
	nth := cycle*d.parts[h] + int(d.nth[at]) // among the host's
	return h + nth%d.each*d.hosts, nth / d.each
}

// Hosts returns how many of the first n numbers each host has.
func (d *Deal) Hosts(n int) []int {
	out := make([]int, d.hosts)
	if d.parts == nil {
		for h := range out {
			out[h] = (n + d.hosts - 1 - h) / d.hosts
		}
		return out
	}
	for h, p := range d.parts {
		out[h] = n / len(d.host) * p
	}
	for _, h := range d.host[:n%len(d.host)] {
		out[h]++
	}
	return out
}

// Part returns an agent's part of all, more than 0 and at most 1.
func (d *Deal) Part(agent int) float64 {
	if d.parts == nil {
		return 1 / float64(d.agents)
	}
	return float64(d.parts[agent%d.hosts]) / float64(len(d.host)) / float64(d.each)
}

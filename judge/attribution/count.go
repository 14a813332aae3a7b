package attribution

import (
	"maps"
	"slices"
)

// samples are numbers of samples by arm and block.
type samples [2][]float64

func newSamples(blocks int) samples {
	return samples{make([]float64, blocks), make([]float64, blocks)}
}

func (s samples) add(other samples) {
	for a := range s {
		for b, n := range other[a] {
			s[a][b] += n
		}
	}
}

// total returns the samples of all blocks of both arms.
func (s samples) total() float64 {
	sum := 0.0
	for a := range s {
		for _, n := range s[a] {
			sum += n
		}
	}
	return sum
}

// A cell is the cost of one function of the program itself that was spent below one function that
// it calls outside of the program, or in itself.
type cell struct {
	owner, entry int32 // numbers of functions; entry is -1 for the owner itself
	samples      samples
}

// A counting is what the stacks of all profiles come to.
type counting struct {
	*program
	blocks int
	scale  [2][]float64 // CPU seconds per operation of one sample, by arm and block
	cells  []cell       // by owner, then entry
	groups map[string]samples
	// calls has the costs, by arm, in which a function of the program itself called another one,
	// with functions of other kinds between them or not: the means of the blocks. The caller is -1
	// for the outermost one. innermost has the same where the callee is the innermost one.
	calls, innermost *sums
}

// count goes through the stacks of all profiles.
func count(blocks []BlockProfiles) *counting {
	c := &counting{
		program:   newProgram(blocks),
		blocks:    len(blocks),
		scale:     [2][]float64(newSamples(len(blocks))),
		groups:    map[string]samples{},
		calls:     newSums(),
		innermost: newSums(),
	}
	cells := map[[2]int32]samples{}
	groups := ownGroups(c.functions)
	own := make([]bool, len(c.functions))
	for i, f := range c.functions {
		own[i] = f.Kind == Own
	}
	var stack []int32
	for b := range blocks {
		for a, p := range []*CPUProfile{&blocks[b].Base, &blocks[b].New} {
			c.scale[a][b] = p.Period / p.Operations
			for _, s := range p.Stacks {
				if s.Samples <= 0 {
					continue
				}
				stack = stack[:0]
				for _, i := range s.Functions {
					stack = append(stack, c.number(a, b, i))
				}
				n := float64(s.Samples)
				place, ok := c.place(stack, own, a, n*c.scale[a][b]/float64(c.blocks))
				if ok {
					into(cells, place, c.blocks)[a][b] += n
				} else {
					into(c.groups, classify(stack, c.functions, groups), c.blocks)[a][b] += n
				}
			}
		}
	}
	for _, key := range sortedKeys(cells) {
		c.cells = append(c.cells, cell{key[0], key[1], cells[key]})
	}
	return c
}

func into[K comparable](m map[K]samples, key K, blocks int) samples {
	s, ok := m[key]
	if !ok {
		s = newSamples(blocks)
		m[key] = s
	}
	return s
}

// place returns owner and entry of a stack, and adds its cost to the calls. It reports false if no
// function of the program itself is in it.
func (c *counting) place(stack []int32, own []bool, a int, cost float64) ([2]int32, bool) {
	owner, caller, entry := int32(-1), int32(-1), int32(-1)
	for _, f := range stack {
		switch {
		case own[f]:
			if f != owner {
				c.calls.of(owner, f)[a] += cost
				caller = owner
			}
			owner = f
			entry = -1
		case entry < 0:
			entry = f
		}
	}
	if owner < 0 {
		return [2]int32{}, false
	}
	c.innermost.of(caller, owner)[a] += cost
	return [2]int32{owner, entry}, true
}

// sums are costs of both arms by caller and callee. Most calls are found without the map.
type sums struct {
	all    map[[2]int32]*[2]float64
	recent [1 << 12]struct {
		call [2]int32
		sum  *[2]float64
	}
}

func newSums() *sums { return &sums{all: map[[2]int32]*[2]float64{}} }

// of returns the costs of a call.
func (s *sums) of(caller, callee int32) *[2]float64 {
	call := [2]int32{caller, callee}
	slot := &s.recent[(uint32(caller)*0x9e3779b1+uint32(callee)*0x85ebca6b)>>20]
	if slot.sum != nil && slot.call == call {
		return slot.sum
	}
	sum := s.all[call]
	if sum == nil {
		sum = new([2]float64)
		s.all[call] = sum
	}
	slot.call, slot.sum = call, sum
	return sum
}

// units returns the units of the cost: the functions of the program itself, without what they spend
// in the libraries' functions that are units themselves, these functions, and the groups.
func (c *counting) units(libraries map[int32]bool) []unit {
	place := map[int32]int{} // of a function's unit
	var all []unit
	of := func(f int32) *unit {
		if _, ok := place[f]; !ok {
			place[f] = len(all)
			all = append(all, unit{function: f, samples: newSamples(c.blocks)})
		}
		return &all[place[f]]
	}
	for _, edge := range sortedKeys(c.calls.all) {
		of(edge[1]) // even if it is never the innermost one
	}
	for i, k := range c.cells {
		u := of(k.owner)
		if libraries[k.entry] {
			u = of(k.entry)
		}
		u.cells = append(u.cells, i)
		u.samples.add(k.samples)
	}
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		all = append(all, unit{function: -1, group: name, samples: c.groups[name]})
	}
	return all
}

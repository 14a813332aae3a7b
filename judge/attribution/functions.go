package attribution

import (
	"cmp"
	"maps"
	"slices"

	"plimsoll/judge/attribution/names"
)

// A program has the functions of both arms under common numbers, from 0 on in the order of their
// names. Number 0 is that of an address without a symbol, whether there is one or not.
type program struct {
	functions []Function // as the new arm names them, where it has them
	old       []Function // as the base names those that were matched by other means than the name
	renamed   []bool
	// numbers has the common number of each function of a profile, by arm and block.
	numbers [2][][]int32
}

// An arm has the functions of the profiles of one arm in the order in which they appear.
type arm struct {
	functions []Function
	profiles  []*CPUProfile
	index     [][]int32 // of the functions of each profile
}

// newArm merges the functions of the profiles: instances of a generic function are one.
func newArm(profiles []*CPUProfile) *arm {
	a := &arm{profiles: profiles}
	seen := map[Function]int32{}
	for _, p := range profiles {
		index := make([]int32, len(p.Functions))
		for i, f := range p.Functions {
			f.Name = names.Whole(f.Name, f.File)
			n, ok := seen[f]
			if !ok {
				n = int32(len(a.functions))
				seen[f] = n
				a.functions = append(a.functions, f)
			}
			index[i] = n
		}
		a.index = append(a.index, index)
	}
	return a
}

// observe returns what names are matched by. Calls of functions that have the same name in both arms
// are there too: by them a closure shows that it has the number of another one.
func (a *arm) observe() []names.Routine {
	all := make([]names.Routine, len(a.functions))
	for i, f := range a.functions {
		fixed := f.Kind != Own && f.Kind != Library
		all[i] = names.Routine{Name: f.Name, File: f.File, Binary: f.Binary, Fixed: fixed}
	}
	calls := newSums()
	for b, p := range a.profiles {
		for _, s := range p.Stacks {
			last := int32(-1)
			for _, i := range s.Functions {
				if i < 0 || i >= len(a.index[b]) {
					last = -1
					continue
				}
				f := a.index[b][i]
				if last >= 0 {
					calls.of(last, f)[0] += float64(s.Samples)
				}
				last = f
			}
			if last >= 0 {
				all[last].Own += float64(s.Samples)
			}
		}
	}
	for _, c := range sortedKeys(calls.all) {
		caller, callee := &all[c[0]], &all[c[1]]
		caller.Callees = append(caller.Callees, names.Edge{Function: int(c[1]), Weight: calls.all[c][0]})
		callee.Callers = append(callee.Callers, names.Edge{Function: int(c[0]), Weight: calls.all[c][0]})
	}
	return all
}

func sortedKeys[V any](m map[[2]int32]V) [][2]int32 {
	return slices.SortedFunc(maps.Keys(m), func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
}

// newProgram matches the functions of both arms.
func newProgram(blocks []BlockProfiles) *program {
	profiles := [2][]*CPUProfile{}
	for i := range blocks {
		profiles[0] = append(profiles[0], &blocks[i].Base)
		profiles[1] = append(profiles[1], &blocks[i].New)
	}
	base, fresh := newArm(profiles[0]), newArm(profiles[1])
	partner := make([]int, len(fresh.functions)) // the index in the base and one more, or 0
	matched := make([]bool, len(base.functions))
	p := &program{functions: []Function{{Kind: Unknown}}, old: []Function{{}}, renamed: []bool{false}}
	for _, pair := range names.Match(base.observe(), fresh.observe()) {
		if base.functions[pair.Base].Kind != fresh.functions[pair.Fresh].Kind {
			continue
		}
		partner[pair.Fresh] = pair.Base + 1
		matched[pair.Base] = true
		if pair.Renamed {
			partner[pair.Fresh] = -partner[pair.Fresh]
		}
	}
	type entry struct{ base, fresh int } // indexes, or -1
	var all []entry
	for j, i := range partner {
		all = append(all, entry{max(i, -i) - 1, j})
	}
	for i, done := range matched {
		if !done {
			all = append(all, entry{i, -1})
		}
	}
	of := func(e entry) Function {
		if e.fresh >= 0 {
			return fresh.functions[e.fresh]
		}
		return base.functions[e.base]
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		f, g := of(a), of(b)
		return cmp.Or(cmp.Compare(f.Name, g.Name), cmp.Compare(f.Binary, g.Binary),
			cmp.Compare(f.File, g.File), cmp.Compare(f.Kind, g.Kind))
	})
	number := [2][]int32{make([]int32, len(base.functions)), make([]int32, len(fresh.functions))}
	for _, e := range all {
		n := int32(len(p.functions))
		p.functions = append(p.functions, of(e))
		p.old = append(p.old, Function{})
		p.renamed = append(p.renamed, false)
		if e.base >= 0 {
			number[0][e.base] = n
		}
		if e.fresh >= 0 {
			number[1][e.fresh] = n
			if partner[e.fresh] < 0 {
				p.old[n], p.renamed[n] = base.functions[e.base], true
			}
		}
	}
	for k, a := range []*arm{base, fresh} {
		for _, index := range a.index {
			for i, n := range index {
				index[i] = number[k][n]
			}
			p.numbers[k] = append(p.numbers[k], index)
		}
	}
	return p
}

// number returns the common number of the function at index i of a profile.
func (p *program) number(arm, block, i int) int32 {
	index := p.numbers[arm][block]
	if i < 0 || i >= len(index) {
		return 0
	}
	return index[i]
}

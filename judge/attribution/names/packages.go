package names

// Limits of what makes two packages one.
const (
	leastShared    = 0.5 // of the functions of the smaller one
	leastUnrelated = 3   // functions, if no element of their paths is the same
	rivalShare     = 0.6 // of the best candidate's score, from which a second one is a rival
	mostHolders    = 64  // packages with a function of one name that are still candidates by it
)

// A set has the names of the free functions of a package.
type set map[string]bool

// movedPackages returns the packages of the base that are in the new build under another path, by
// the names of their functions and the common remainder of their paths.
func (m *matching) movedPackages() map[string]string {
	gone, come := onlyHere(&m.base, &m.fresh), onlyHere(&m.fresh, &m.base)
	toFresh := best(gone, come)
	toBase := best(come, gone)
	moved := map[string]string{}
	for p, q := range toFresh {
		if toBase[q] == p {
			moved[p] = q
		}
	}
	return moved
}

// onlyHere returns the packages that only this build has.
func onlyHere(s, other *side) map[string]set {
	theirs := map[string]bool{}
	for _, f := range other.forms {
		theirs[f.pkg] = true
	}
	packages := map[string]set{}
	s.free(func(i int) {
		f := s.forms[i]
		if s.functions[i].Fixed || f.pkg == "" || theirs[f.pkg] {
			return
		}
		if packages[f.pkg] == nil {
			packages[f.pkg] = set{}
		}
		packages[f.pkg][f.rest] = true
	})
	return packages
}

// best returns for each package the one that is it in the other build, if there is no rival.
func best(packages, others map[string]set) map[string]string {
	holders := map[string][]string{}
	for q, names := range others {
		for name := range names {
			holders[name] = append(holders[name], q)
		}
	}
	found := map[string]string{}
	for p, names := range packages {
		shared := map[string]float64{}
		for name := range names {
			if len(holders[name]) > mostHolders {
				continue
			}
			for _, q := range holders[name] {
				shared[q]++
			}
		}
		first, second := 0.0, 0.0
		for q, n := range shared {
			score := similarity(p, q, n, min(len(names), len(others[q])))
			switch {
			case score > first:
				second = first
				first = score
				found[p] = q
			case score > second:
				second = score
			}
		}
		if first == 0 || second > rivalShare*first {
			delete(found, p)
		}
	}
	return found
}

// similarity is the number of shared functions times one more than the number of elements that end
// both paths; zero if that is too little to make two packages one.
func similarity(p, q string, shared float64, smaller int) float64 {
	remainder := common(elements(p), elements(q))
	if shared < leastShared*float64(smaller) || remainder == 0 && shared < leastUnrelated {
		return 0
	}
	return shared * float64(1+remainder)
}

// common returns the number of elements that end both paths.
func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

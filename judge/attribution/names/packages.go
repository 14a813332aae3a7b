package names

import (
	"slices"
	"strings"
)

// Limits of what makes two packages, or two types, one.
const (
	leastShared    = 0.5 // of the functions of the smaller one
	leastUnrelated = 3   // functions, if no element of their paths is the same
	rivalShare     = 0.7 // of the best candidate's score, from which a second one is a rival
	mostHolders    = 64  // functions or packages with one trait that are still candidates by it
	leastVotes     = 2   // packages that moved alike, from which others follow
)

// A container is a package or a type.
type container struct {
	functions map[string]bool // by their names in it
	samples   float64
}

// movedPackages finds the packages of the base that are in the new build under another path, by
// the names of their functions, whatever types their methods have, and the common remainder of
// their paths.
func (m *matching) movedPackages() {
	of := func(s *side, i int) (string, string) {
		_, _, after := s.forms[i].receiver()
		return s.forms[i].pkg, after
	}
	gone := onlyHere(&m.base, &m.fresh, of)
	come := onlyHere(&m.fresh, &m.base, of)
	m.base.packages = mutual(gone, come)
	followers(m.base.packages, gone, come)
}

// movedTypes finds the types of the base whose methods are those of another type in the same
// package.
func (m *matching) movedTypes() {
	of := func(s *side, i int) (string, string) {
		_, typ, after := s.forms[i].receiver()
		if typ == "" {
			return "", ""
		}
		pkg := s.pathOf(s.forms[i])
		return pkg + "." + typ, pkg + after
	}
	gone := onlyHere(&m.base, &m.fresh, of)
	come := onlyHere(&m.fresh, &m.base, of)
	m.base.types = mutual(gone, come)
}

// onlyHere returns the containers that only this build has, if they are certain to be absent from
// the other.
func onlyHere(s, other *side, of func(s *side, i int) (in, name string)) map[string]*container {
	theirs := map[string]bool{}
	for j := range other.forms {
		in, _ := of(other, j)
		theirs[in] = true
	}
	all := map[string]*container{}
	for i := range s.functions {
		in, name := of(s, i)
		if !s.written(i) || in == "" || theirs[in] {
			continue
		}
		c := all[in]
		if c == nil {
			c = &container{functions: map[string]bool{}}
			all[in] = c
		}
		c.functions[name] = true
		c.samples = max(c.samples, s.samples[i])
	}
	return all
}

// mutual returns the containers that are each other's best.
func mutual(gone, come map[string]*container) map[string]string {
	forward, backward := best(gone, come), best(come, gone)
	found := map[string]string{}
	for p, q := range forward {
		if backward[q] == p {
			found[p] = q
		}
	}
	return found
}

// best returns for each container the one that it is in the other build, if there is no rival.
func best(these, others map[string]*container) map[string]string {
	holders := map[string][]string{}
	for q, c := range others {
		for name := range c.functions {
			holders[name] = append(holders[name], q)
		}
	}
	found := map[string]string{}
	for p, c := range these {
		if c.samples < leastSamples {
			continue
		}
		shared := map[string]int{}
		for name := range c.functions {
			if len(holders[name]) > mostHolders {
				continue
			}
			for _, q := range holders[name] {
				shared[q]++
			}
		}
		first, second := 0.0, 0.0
		for q, n := range shared {
			score := resemblance(p, q, n, min(len(c.functions), len(others[q].functions)))
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

// resemblance is the number of shared functions times one more than the number of elements that
// end both paths; zero if that is too little to make two packages one.
func resemblance(p, q string, shared, smaller int) float64 {
	remainder := common(elements(p), elements(q))
	few := float64(shared) < leastShared*float64(smaller)
	if few || remainder == 0 && shared < leastUnrelated {
		return 0
	}
	return float64(shared * (1 + remainder))
}

// common returns the number of elements that end both paths.
func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// followers adds packages with too few functions to tell, if their path changes like that of
// others that moved, and in one way only.
func followers(moved map[string]string, gone, come map[string]*container) {
	votes := map[string]map[string]int{}
	sources := map[string]int{}
	for p, q := range moved {
		from, to := prefixes(p, q)
		if votes[from] == nil {
			votes[from] = map[string]int{}
		}
		votes[from][to]++
		if slices.Equal(elements(from), elements(to)) {
			votes[from][to] = leastVotes
		}
		sources[q]++
	}
	targets := map[string]string{}
	for p := range gone {
		if q := elected(p, votes, come); q != "" && moved[p] == "" {
			targets[p] = q
			sources[q]++
		}
	}
	for p, q := range targets {
		if sources[q] == 1 {
			moved[p] = q
		}
	}
}

// elected returns the path of package p in the new build by the votes for changes of its first
// elements; empty if there is none or more than one.
func elected(p string, votes map[string]map[string]int, come map[string]*container) string {
	found := ""
	from := p
	for range mostHolders {
		for to, n := range votes[from] {
			q := to + p[len(from):]
			if n < leastVotes || come[q] == nil {
				continue
			}
			if found != "" && found != q {
				return ""
			}
			found = q
		}
		slash := strings.LastIndexByte(from, '/')
		if slash < 0 {
			break
		}
		from = from[:slash]
	}
	return found
}

// prefixes returns two paths without the elements that end both.
func prefixes(p, q string) (from, to string) {
	for {
		i, j := strings.LastIndexByte(p, '/'), strings.LastIndexByte(q, '/')
		if i < 0 || j < 0 || p[i:] != q[j:] {
			return p, q
		}
		p, q = p[:i], q[:j]
	}
}

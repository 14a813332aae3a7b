package names

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A program is a call tree of functions of which the test knows what they are.
type program struct {
	functions []*written
}

// A written function keeps its identity whatever its name is.
type written struct {
	id       int
	pkg      string
	receiver string // with a pointer or without, or empty
	name     string
	parent   *written // of a closure
	number   int
	calls    map[*written]float64
	root     bool
}

func (w *written) full() string {
	if w.parent != nil {
		if w.parent.parent != nil {
			return fmt.Sprintf("%s.%d", w.parent.full(), w.number)
		}
		return fmt.Sprintf("%s.func%d", w.parent.full(), w.number)
	}
	if w.receiver != "" {
		return w.pkg + "." + w.receiver + "." + w.name
	}
	return w.pkg + "." + w.name
}

const module = "example.com/chat/chat-server/v6/"

// generate makes a program: functions call those after them, and closures are called by their
// parents.
func generate(r *rand.Rand, functions int) *program {
	p := &program{}
	verbs := strings.Fields("Get Set New Close Save Load Read Write Send Open Find List")
	for i := range functions {
		w := &written{id: i, calls: map[*written]float64{}, root: i < 3}
		w.pkg = module + fmt.Sprintf("p%d", r.IntN(8))
		switch {
		case i > functions*3/4:
			w.pkg = fmt.Sprintf("lib.org/l%d", r.IntN(5))
		case i%5 == 4:
			w.parent = p.functions[r.IntN(min(i, 12))]
			w.pkg = w.parent.pkg
		}
		w.name = fmt.Sprintf("%s%d", verbs[r.IntN(len(verbs))], i)
		if r.IntN(2) == 0 {
			w.receiver = fmt.Sprintf("(*T%d)", r.IntN(3))
		}
		p.functions = append(p.functions, w)
	}
	for i, w := range p.functions {
		for range r.IntN(5) {
			if i+1 < functions {
				w.calls[p.functions[i+1+r.IntN(functions-i-1)]] = 0
			}
		}
		if w.parent != nil {
			w.parent.calls[w] = 0
			w.calls[p.functions[functions-1-r.IntN(functions/8)]] = 0
		}
	}
	for w := range p.each() {
		for _, c := range w.sorted() {
			w.calls[c] = 20 + 500*r.Float64()
		}
	}
	p.renumber()
	return p
}

func (p *program) each() func(yield func(*written) bool) {
	return func(yield func(*written) bool) {
		for _, w := range p.functions {
			if !yield(w) {
				return
			}
		}
	}
}

func (w *written) sorted() []*written {
	var all []*written
	for c := range w.calls {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *written) int { return a.id - b.id })
	return all
}

// renumber numbers the closures of each parent by their order in the program.
func (p *program) renumber() {
	last := map[*written]int{}
	for _, w := range p.functions {
		if w.parent != nil {
			last[w.parent]++
			w.number = last[w.parent]
		}
	}
}

// clone copies a program.
func (p *program) clone() *program {
	copies := map[*written]*written{}
	q := &program{}
	for _, w := range p.functions {
		c := *w
		copies[w] = &c
		q.functions = append(q.functions, &c)
	}
	for _, c := range q.functions {
		calls := map[*written]float64{}
		for to, n := range c.calls {
			calls[copies[to]] = n
		}
		c.calls = calls
		if c.parent != nil {
			c.parent = copies[c.parent]
		}
	}
	return q
}

// sync gives closures the package of their parents.
func (p *program) sync() {
	for range 3 {
		for _, w := range p.functions {
			if w.parent != nil {
				w.pkg = w.parent.pkg
			}
		}
	}
}

// renames are the ways in which names change, by what reports call them.
var renames = map[string]func(r *rand.Rand, p *program){
	"version": func(_ *rand.Rand, p *program) { p.replace(module, strings.Replace(module, "v6", "v7", 1)) },
	"module": func(_ *rand.Rand, p *program) {
		p.replace(module, "example.com/chat/chat/server/v8/channels/")
	},
	"package": func(r *rand.Rand, p *program) {
		n := r.IntN(8)
		p.replace(fmt.Sprintf("%sp%d", module, n), fmt.Sprintf("%sinternal/other%d", module, n))
	},
	"function to a package": func(r *rand.Rand, p *program) {
		p.some(r, func(w *written) { w.pkg = fmt.Sprintf("%sp%d", module, r.IntN(8)) })
	},
	"method": func(r *rand.Rand, p *program) {
		p.some(r, func(w *written) { w.name = fmt.Sprintf("Renamed%d", w.id) })
	},
	"receiver": func(r *rand.Rand, p *program) {
		from, pkg := fmt.Sprintf("(*T%d)", r.IntN(3)), fmt.Sprintf("%sp%d", module, r.IntN(8))
		for _, w := range p.functions {
			if w.receiver == from && w.pkg == pkg {
				w.receiver = "(*Changed)"
			}
		}
	},
	"pointer": func(r *rand.Rand, p *program) {
		p.some(r, func(w *written) { w.receiver = strings.Trim(w.receiver, "(*)") })
	},
	"closure added": func(r *rand.Rand, p *program) {
		for range 6 {
			at := r.IntN(12)
			w := &written{id: 10_000 + r.IntN(1e6), calls: map[*written]float64{}}
			w.parent = p.functions[at]
			w.pkg = w.parent.pkg
			w.parent.calls[w] = 100
			w.calls[p.functions[r.IntN(len(p.functions))]] = 60
			at += r.IntN(len(p.functions) - at)
			p.functions = slices.Insert(p.functions, at, w)
		}
		p.renumber()
	},
	"functions added and removed": func(r *rand.Rand, p *program) {
		for range 6 {
			callers := []*written{p.functions[r.IntN(20)], p.functions[r.IntN(60)]}
			w := &written{id: 10_000 + r.IntN(1e6), calls: map[*written]float64{}}
			w.pkg = fmt.Sprintf("%sp%d", module, r.IntN(8))
			w.name = fmt.Sprintf("Added%d", w.id)
			callers[0].calls[w] = 80
			callers[1].calls[w] = 50
			w.calls[p.functions[len(p.functions)-1-r.IntN(60)]] = 70
			gone := p.functions[30+r.IntN(len(p.functions)-30)]
			if slices.ContainsFunc(p.functions, func(c *written) bool { return c.parent == gone }) {
				continue
			}
			p.functions = slices.DeleteFunc(p.functions, func(c *written) bool { return c == gone })
			for _, c := range p.functions {
				delete(c.calls, gone)
			}
			p.functions = append(p.functions, w)
		}
		p.renumber()
	},
}

func (p *program) replace(prefix, by string) {
	for _, w := range p.functions {
		if rest, ok := strings.CutPrefix(w.pkg, prefix); ok {
			w.pkg = by + rest
		}
	}
}

// some calls f for about one function in twelve, but no closure.
func (p *program) some(r *rand.Rand, f func(w *written)) {
	for _, w := range p.functions {
		if r.IntN(12) == 0 && w.parent == nil && strings.HasPrefix(w.pkg, module) {
			f(w)
		}
	}
}

// observe samples a program, and returns its functions in any order with their identities.
func (p *program) observe(r *rand.Rand, noise float64) ([]Routine, []int) {
	index := map[*written]int{}
	order := r.Perm(len(p.functions))
	all := make([]Routine, len(order))
	ids := make([]int, len(order))
	for k, i := range order {
		w := p.functions[i]
		index[w] = k
		all[k] = Routine{Name: w.full(), Binary: "server"}
		ids[k] = w.id
	}
	for _, w := range p.functions {
		for _, c := range w.sorted() {
			n := max(1, w.calls[c]*(1+noise*r.NormFloat64()))
			from, to := index[w], index[c]
			all[from].Callees = append(all[from].Callees, Edge{to, n})
			all[to].Callers = append(all[to].Callers, Edge{from, n})
		}
	}
	return all, ids
}

// TestRenamesGiveTheRightPairsOrNone renames subsets of programs in every way and in mixtures.
func TestRenamesGiveTheRightPairsOrNone(t *testing.T) {
	ways := []string{
		"version", "module", "package", "function to a package", "method", "receiver", "pointer",
		"closure added", "functions added and removed",
	}
	right, wrong, none := map[string]int{}, map[string]int{}, map[string]int{}
	for seed := range uint64(220) {
		r := rand.New(rand.NewPCG(seed, 38))
		old := generate(r, 160)
		fresh := old.clone()
		mixture := []string{ways[seed%uint64(len(ways))]}
		name := mixture[0]
		if seed%11 > 7 {
			name = "mixture"
			for range 3 {
				mixture = append(mixture, ways[r.IntN(len(ways))])
			}
		}
		for _, way := range mixture {
			renames[way](r, fresh)
		}
		fresh.sync()
		a, ids := old.observe(r, 0.05)
		b, freshIDs := fresh.observe(r, 0.05)
		where := map[int]int{}
		for j, id := range freshIDs {
			where[id] = j
		}
		got := map[int]int{}
		for _, p := range Match(a, b) {
			got[p.Base] = p.Fresh
		}
		for i, id := range ids {
			j, paired := got[i]
			want, exists := where[id]
			switch {
			case paired && exists && j == want:
				right[name]++
			case paired:
				wrong[name]++
				t.Errorf("seed %d, %v: %s became %s", seed, mixture, a[i].Name, b[j].Name)
			case exists:
				none[name]++
			}
		}
	}
	for name, n := range right {
		share := float64(none[name]) / float64(n+none[name])
		t.Logf("%s: %d right, %d wrong, %d of none (%.1f %%)",
			name, n, wrong[name], none[name], 100*share)
		most := 0.02
		if name == "method" || name == "mixture" {
			most = 0.08
		}
		if share > most {
			t.Errorf("%s: %.1f %% have no partner", name, 100*share)
		}
	}
}

// TestEqualBuildsKeepTheirNames observes a program twice, with so few samples that many a call is
// seen in one of them only.
func TestEqualBuildsKeepTheirNames(t *testing.T) {
	pairs := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 39))
		p := generate(r, 160)
		thin := func() []Routine {
			all, _ := p.observe(r, 0)
			counted := make([]Routine, len(all))
			for i, f := range all {
				counted[i] = Routine{Name: f.Name, Binary: f.Binary}
			}
			for i, f := range all {
				for _, e := range f.Callees {
					n := 0.0
					for sum := r.ExpFloat64(); sum < e.Weight/40; sum += r.ExpFloat64() {
						n++
					}
					if n > 0 {
						call(counted, i, e.Function, n)
					}
				}
			}
			unseen := func(f Routine) bool { return len(f.Callers)+len(f.Callees) == 0 }
			for i := range counted {
				if unseen(counted[i]) {
					counted[i].Name = "" // not in the profile
				}
			}
			return counted
		}
		a, b := thin(), thin()
		for _, pair := range Match(a, b) {
			pairs++
			if got := b[pair.Fresh].Name; got != a[pair.Base].Name {
				t.Errorf("seed %d: %s became %s", seed, a[pair.Base].Name, got)
			}
		}
	}
	if pairs < 14_000 {
		t.Errorf("%d pairs of 16,000 functions", pairs)
	}
}

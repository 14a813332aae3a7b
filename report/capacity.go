package report

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/judge/limiter"
	"plimsoll/judge/verdict"
	"plimsoll/record"
	"plimsoll/stats"
)

// capacityName is the endpoint of the unbounded test.
const capacityName = "capacity"

// capacity returns the result of the unbounded test.
func (f NamedVerdict) capacity() (verdict.Result, bool) {
	for _, r := range f.Verdict.Results {
		if r.Name == capacityName {
			return r, true
		}
	}
	return verdict.Result{}, false
}

// capacities fills the supported users, pooled and per block.
func (b *builder) capacities() {
	d := b.d
	any := false
	for _, e := range d.Engines {
		c := EngineCapacity{Engine: e.Key}
		for _, a := range d.Arms {
			cell := ArmCell{Arm: a.Name, Users: unknown, Lo: unknown, Hi: unknown}
			for _, f := range d.Verdicts {
				r, ok := f.capacity()
				if !ok || f.Engine != e.Key || !a.Base && f.Arm != a.Name {
					continue
				}
				s := r.New
				if a.Base {
					s = r.Base
				} else {
					cell.Delta = deltaOf(r)
				}
				cell.Runs, cell.Users, cell.Lo, cell.Hi, cell.AtLeast = s.N, Number(s.Mean), Number(s.Lo), Number(s.Hi), s.AtLeast
				any = any || cell.Users.Known()
				break
			}
			for _, f := range d.Databases {
				if r, ok := f.capacity(); ok && f.Engine == e.Key && f.Arm == a.Name {
					cell.ByDatabase = deltaOf(r)
				}
			}
			c.Cells = append(c.Cells, cell)
		}
		d.Capacity = append(d.Capacity, c)
	}
	if !any {
		d.Capacity = nil
		return
	}
	var numbers []int
	for _, r := range b.judged {
		if r.Manifest.Capacity != nil && !slices.Contains(numbers, r.Cell.Block) {
			numbers = append(numbers, r.Cell.Block)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		block := Block{Block: n}
		for _, e := range d.Engines {
			row := make([]RunCell, len(d.Arms))
			for i, a := range d.Arms {
				row[i] = b.runCell(n, e.Key, a.Name)
			}
			block.Users = append(block.Users, row)
		}
		d.Blocks = append(d.Blocks, block)
	}
}

func (b *builder) runCell(block int, engine, arm string) RunCell {
	for _, r := range b.of(engine, arm) {
		c := r.Manifest.Capacity
		if r.Cell.Block != block || c == nil || c.Kind == record.Invalid {
			continue
		}
		if c.Kind == record.Unstable {
			return RunCell{Run: r.Cell.Run, Users: unknown, Unstable: true}
		}
		return RunCell{Run: r.Cell.Run, Users: Number(c.Users), AtLeast: isBound(c)}
	}
	return RunCell{Users: unknown}
}

// isBound reports whether a capacity is a lower bound. Every kind that is neither marked as an estimate nor without a
// number counts as a bound.
func isBound(c *record.Capacity) bool {
	return c.Kind != record.Estimate && c.Kind != record.Unstable && c.Kind != record.Invalid
}

func deltaOf(r verdict.Result) *Delta {
	lo, hi, level := r.Decisive()
	d := &Delta{Value: Number(r.Effect), Lo: Number(lo), Hi: Number(hi), Level: Number(level)}
	switch { // more than half of the pairs are bounds: one end is all that is known
	case d.Value.Known():
		d.FromBounds = r.Censored() && r.HasInterval()
	case d.Hi.Known():
		d.Value, d.Hi, d.Bound = d.Hi, unknown, "<="
	case d.Lo.Known():
		d.Value, d.Lo, d.Bound = d.Lo, unknown, ">="
	}
	return d
}

// ratio returns the difference of two capacities as far as it is known; nil if one is missing.
func ratio(base, fresh RunCell) *Delta {
	if !base.Users.Known() || !fresh.Users.Known() || base.Users <= 0 {
		return nil
	}
	d := &Delta{Value: fresh.Users/base.Users - 1, Lo: unknown, Hi: unknown}
	switch {
	case base.AtLeast && fresh.AtLeast:
		d.Value = unknown
	case base.AtLeast:
		d.Bound = "<="
	case fresh.AtLeast:
		d.Bound = ">="
	}
	return d
}

// limiters fills in the rules that stopped the searches.
func (b *builder) limiters() {
	for _, e := range b.d.Engines {
		for _, a := range b.d.Arms {
			l := SearchEnds{Engine: e.Key, Arm: a.Name}
			rules, stopped, own, used := map[string]int{}, map[string]int{}, map[string]int{}, map[string][]float64{}
			named := map[string]int{}
			sentences := map[string]string{}
			var reached, held []float64
			for _, r := range b.of(e.Key, a.Name) {
				if n := r.Limiter; n != nil && n.Kind != limiter.LimitNone {
					named[n.Name]++
					if sentences[n.Name] == "" || n.Confidence == limiter.High {
						sentences[n.Name] = n.Sentence
					}
				}
				c := r.Manifest.Capacity
				if c == nil {
					continue
				}
				l.Searches++
				if c.Rule != "" {
					rules[c.Rule]++
				}
				// The clause before the first colon names the rule; the rest differs from run to run.
				kind, _, _ := strings.Cut(c.Stopped, ":")
				if kind != "" {
					stopped[kind]++
				}
				if isBound(c) {
					l.AtLeast++
					own[orDash(kind)]++
				}
				if c.Kind == record.Unstable {
					l.Unstable++
					if c.Reached > 0 && c.Held > 0 {
						reached, held = append(reached, c.Reached), append(held, c.Held)
					}
				}
				for _, m := range c.Margins {
					if m.Limit > 0 {
						used[m.Rule] = append(used[m.Rule], m.Value/m.Limit)
					}
				}
			}
			if l.Named = Counts(named); len(l.Named) > 0 {
				l.Evidence = sentences[l.Named[0].Name]
			}
			if l.Searches == 0 && len(l.Named) == 0 {
				continue
			}
			l.Rules, l.Stopped, l.AtLeastBy = Counts(rules), Counts(stopped), Counts(own)
			if len(held) > 0 {
				l.Reached, l.Held = stats.Median(reached), stats.Median(held)
			}
			for rule, v := range used {
				l.Margins = append(l.Margins, Margin{Rule: rule, Used: Number(stats.Median(v)), Runs: len(v)})
			}
			slices.SortFunc(l.Margins, func(x, y Margin) int {
				return cmp.Or(-cmp.Compare(x.Used, y.Used), cmp.Compare(x.Rule, y.Rule))
			})
			b.d.Limiters = append(b.d.Limiters, l)
		}
	}
}

// Counts orders a tally: the most frequent first, then by name. It is nil for a nil map alone.
func Counts[N int | uint64](m map[string]N) []Count {
	if m == nil {
		return nil
	}
	out := make([]Count, 0, len(m))
	for name, n := range m {
		out = append(out, Count{name, int(n)})
	}
	slices.SortFunc(out, func(x, y Count) int { return cmp.Or(-cmp.Compare(x.N, y.N), cmp.Compare(x.Name, y.Name)) })
	return out
}

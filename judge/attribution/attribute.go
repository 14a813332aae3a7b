package attribution

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/stats"
)

// leastBlocks is the number of blocks from which something is attributed. Three have a spread with
// two degrees of freedom.
const leastBlocks = 4

// Attribute returns the parts of the difference in CPU cost between both arms of the blocks, for a
// role such as app.
//
// The own cost of a function of the program is the time below it in functions of libraries, of the
// runtime and of the kernel, and its own: that of the stacks whose innermost function of the program
// it is. What no function of the program has belongs to groups. In each block a factor is common to
// all functions (commonChange), and a function changed if its cost changed beyond it, against a
// variance that counts and blocks make (moderate). Tests go down the tree of functions (node.test);
// where nothing has changed, nothing is found in 95 % of comparisons. See docs/method/attribution.md
// for formulas and error rates.
//
// Fewer than four blocks, and a block without operations, samples or functions of the program, are
// withheld. It reads blocks only, and may be called from several goroutines at once.
func Attribute(role string, blocks []BlockProfiles) Attribution {
	out := Attribution{Role: role, Blocks: len(blocks)}
	if out.Withheld = unusable(blocks); out.Withheld != "" {
		return out
	}
	c := count(blocks)
	if len(c.cells) == 0 {
		out.Withheld = nothingOwn(blocks)
		return out
	}
	m := fit(c, c.units(nil))
	if libraries := m.changedLibraries(); len(libraries) > 0 {
		m = fit(c, c.units(libraries))
	}
	found, tests := m.discoveries()
	marks := map[int32]int{}
	for i, d := range found {
		f := m.finding(d)
		out.Findings = append(out.Findings, f)
		marks[m.units[d.node.unit].function] = i
		if d.from != nil {
			marks[m.units[d.from.node.unit].function] = i
		}
	}
	s := newSides(blocks)
	out.Base, out.New = stats.Mean(s.whole[0]), stats.Mean(s.whole[1])
	out.Change = interval(s.differences()).over(out.Base)
	out.Parts = m.parts(found, s)
	if certain(out.Change) > 0 {
		for i := range out.Parts {
			out.Parts[i].Share = out.Parts[i].Cost.Value / (out.New - out.Base)
		}
	}
	out.CouldFind = m.couldFind(out.Base, tests)
	out.Tree = drawing(c, blocks, marks)
	out.Tree.addNotSampled(out.Base, out.New)
	return out
}

// mostSampled is how many times the CPU time by the kernel's accounting samples may stand for: a
// sampler that is off by more has another period than it says.
const mostSampled = 2

// possible reports whether a cost is one that a program can have, in CPU seconds per operation.
func possible(cost float64) bool { return cost > 1e-15 && cost < 1e9 }

// unusable returns why nothing can be attributed; empty if something can.
func unusable(blocks []BlockProfiles) string {
	if len(blocks) < leastBlocks {
		return fmt.Sprintf("%d blocks have profiles: %d are needed", len(blocks), leastBlocks)
	}
	for b := range blocks {
		for a, p := range []*CPUProfile{&blocks[b].Base, &blocks[b].New} {
			name := []string{"base", "new arm"}[a]
			sampled := 0.0
			for _, s := range p.Stacks {
				sampled += float64(max(0, s.Samples))
			}
			switch seconds := sampled * p.Period; {
			case !(p.Operations > 0) || math.IsInf(p.Operations, 0):
				return fmt.Sprintf("the %s has no operations in block %d", name, b+1)
			case !(p.Period > 0) || math.IsInf(p.Period, 0) || sampled == 0:
				return fmt.Sprintf("the %s has no samples in block %d", name, b+1)
			case p.CPU > 0 && seconds > mostSampled*p.CPU || !possible(seconds/p.Operations):
				return fmt.Sprintf("the samples of the %s in block %d stand for %.3g CPU seconds, "+
					"the kernel counts %.3g for %.3g operations",
					name, b+1, seconds, p.CPU, p.Operations)
			}
		}
	}
	return ""
}

// nothingOwn says why no sample is in a function of the program itself.
func nothingOwn(blocks []BlockProfiles) string {
	for b := range blocks {
		for _, p := range []*CPUProfile{&blocks[b].Base, &blocks[b].New} {
			if slices.ContainsFunc(p.Functions, func(f Function) bool { return f.Kind == Library }) {
				return "no sample is in a function of the program itself: all are in libraries and its runtime"
			}
		}
	}
	return "no sample is in a function of the program itself: it has no symbols"
}

// sides are the costs of both arms in each block.
type sides struct{ whole, sampled [2][]float64 }

// newSides takes the whole cost by the kernel's accounting where all profiles have it, and by the
// samples else.
func newSides(blocks []BlockProfiles) sides {
	var s sides
	known := true
	for i := range blocks {
		for a, p := range []*CPUProfile{&blocks[i].Base, &blocks[i].New} {
			n := int64(0)
			for _, k := range p.Stacks {
				n += max(0, k.Samples)
			}
			known = known && p.CPU > 0 && !math.IsInf(p.CPU, 0)
			s.sampled[a] = append(s.sampled[a], float64(n)*p.Period/p.Operations)
			s.whole[a] = append(s.whole[a], p.CPU/p.Operations)
		}
	}
	if !known {
		s.whole = s.sampled
	}
	return s
}

// differences returns the whole differences of the blocks.
func (s sides) differences() []float64 {
	d := make([]float64, len(s.whole[0]))
	for b := range d {
		d[b] = s.whole[1][b] - s.whole[0][b]
	}
	return d
}

// unseen returns what of the differences the samples do not show.
func (s sides) unseen() []float64 {
	d := s.differences()
	for b := range d {
		d[b] -= s.sampled[1][b] - s.sampled[0][b]
	}
	return d
}

// interval returns the mean of the blocks with its t interval.
func interval(values []float64) IntervalEstimate {
	t := stats.TInterval(stats.Sample{Values: values}, level)
	return IntervalEstimate{stats.Mean(values), t.Lo, t.Hi}
}

// over returns the interval as a share of a cost; all zero for no cost.
func (i IntervalEstimate) over(cost float64) IntervalEstimate {
	if cost <= 0 {
		return IntervalEstimate{}
	}
	return IntervalEstimate{i.Value / cost, i.Low / cost, i.High / cost}
}

// parts returns the summands of the whole difference. Functions and groups have what changed beyond
// the common factor, and the spread has the factor's change of the whole cost that was sampled.
func (m *model) parts(found []discovery, s sides) []CostPart {
	var parts []CostPart
	add := func(kind PartKind, name string, finding int, cost IntervalEstimate) {
		parts = append(parts, CostPart{Kind: kind, Name: name, Finding: finding, Cost: cost})
	}
	explained := make([]bool, len(m.units))
	for i, d := range found {
		for _, u := range d.units {
			explained[u] = true
		}
		name := m.functions[m.units[d.node.unit].function].Name
		add(PartFunction, name, i, m.cost(d.estimate))
	}
	var others, rest []int
	for i, u := range m.units {
		switch {
		case explained[i]:
		case u.function >= 0:
			rest = append(rest, i)
		case m.certainGroup(u, m.estimates[i]):
			add(PartGroup, u.group, -1, m.cost(m.estimates[i]))
		default:
			others = append(others, i)
		}
	}
	if len(others) > 0 {
		add(PartGroup, groupLibraries, -1, m.cost(m.sum(others)))
	}
	spread := make([]float64, m.blocks)
	for b, g := range m.common {
		spread[b] = (g - 1) * s.sampled[0][b]
	}
	add(PartSpread, "all functions by the same share", -1, interval(spread))
	if slices.ContainsFunc(s.unseen(), func(x float64) bool { return x != 0 }) {
		add(PartUnknown, "not sampled", -1, interval(s.unseen()))
	}
	changes := make([]float64, m.blocks)
	for _, i := range rest {
		for b, x := range m.estimates[i].blocks {
			changes[b] += x
		}
	}
	add(PartRest, "other functions", -1, interval(changes))
	slices.SortStableFunc(parts, func(a, b CostPart) int {
		return cmp.Compare(math.Abs(b.Cost.Value), math.Abs(a.Cost.Value))
	})
	return parts
}

// certainGroup reports whether a group stands by itself: those with names of their own do, and the
// outermost functions of libraries that changed with certainty.
func (m *model) certainGroup(u unit, e estimate) bool {
	if groupNamed(u.group) {
		return true
	}
	return certain(m.cost(e)) > 0
}

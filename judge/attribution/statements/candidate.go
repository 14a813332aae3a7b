package statements

import (
	"maps"
	"math"
	"slices"

	"plimsoll/judge/attribution"
	"plimsoll/stats"
	"plimsoll/watch/query"
)

// A candidate is one statement of both arms, with its figures in each block.
type candidate struct {
	text, from  string
	operation   string
	base, fresh []query.Statement     // by block; one that an arm did not issue is zero
	ops         [2][]float64          // operations by block, of base and new
	unlisted    bool                  // an arm may have issued it among its others
	measured    map[Measure][]float64 // logarithms of ratios, of the blocks that have them
	found       map[Measure]float64   // p-values of the tested ones
	p           float64               // of all; NaN: not tested
}

type candidates []*candidate

// A testedMeasure is a measure, and how it follows from figures.
type testedMeasure struct {
	name Measure
	of   func(f query.Figures, operations float64) float64
}

// The first two decide; the others only describe what they found.
var tested = []testedMeasure{
	{Time, func(f query.Figures, operations float64) float64 { return f.Seconds / operations }},
	{Calls, func(f query.Figures, operations float64) float64 { return f.Calls / operations }},
	{PerCall, func(f query.Figures, _ float64) float64 { return f.Seconds / f.Calls }},
	{Rows, func(f query.Figures, _ float64) float64 { return f.Rows / f.Calls }},
	{Reads, func(f query.Figures, _ float64) float64 { return (f.Hit + f.Read) / f.Calls }},
}

// paired returns the statements of all blocks by their texts. A statement that one arm alone has,
// and one of the other arm alone that does the same to the same relations, are one.
func paired(blocks []PairedCensus) (all candidates) {
	by := map[string]*candidate{}
	for i, b := range blocks {
		for arm, side := range []Issued{b.Base, b.New} {
			for _, s := range side.Statements {
				c := by[s.Text]
				if c == nil {
					c = newCandidate(s.Text, blocks)
					by[s.Text] = c
				}
				[][]query.Statement{c.base, c.fresh}[arm][i] = s
				if s.Operation != "" {
					c.operation = s.Operation
				}
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(by)) {
		all = append(all, by[text])
	}
	all = all.joined()
	for _, c := range all {
		c.unlisted = c.mayBeAmong(blocks)
	}
	return all
}

func newCandidate(text string, blocks []PairedCensus) *candidate {
	c := &candidate{
		text:     text,
		base:     make([]query.Statement, len(blocks)),
		fresh:    make([]query.Statement, len(blocks)),
		measured: map[Measure][]float64{},
		found:    map[Measure]float64{},
		p:        math.NaN(),
	}
	for _, b := range blocks {
		c.ops[0] = append(c.ops[0], b.Base.Operations)
		c.ops[1] = append(c.ops[1], b.New.Operations)
	}
	return c
}

// calls returns the calls of all blocks.
func calls(of []query.Statement) (n float64) {
	for _, s := range of {
		n += s.Calls
	}
	return n
}

// joined makes one of two statements of which each arm has one, and that differ in their lists of
// columns alone. Where an arm has several of these it is not known which became which.
func (all candidates) joined() (out candidates) {
	alone := [2]map[string][]*candidate{{}, {}}
	for _, c := range all {
		switch skeleton := query.Skeleton(c.text); {
		case calls(c.fresh) == 0:
			alone[0][skeleton] = append(alone[0][skeleton], c)
		case calls(c.base) == 0:
			alone[1][skeleton] = append(alone[1][skeleton], c)
		}
	}
	gone := map[*candidate]bool{}
	for skeleton, fresh := range alone[1] {
		if base := alone[0][skeleton]; len(base) == 1 && len(fresh) == 1 {
			fresh[0].from, fresh[0].base = base[0].text, base[0].base
			gone[base[0]] = true
		}
	}
	for _, c := range all {
		if !gone[c] {
			out = append(out, c)
		}
	}
	return out
}

// mayBeAmong reports whether an arm that does not list the statement may have issued it: as one of
// the others of a run, with less time than each that is listed.
func (c *candidate) mayBeAmong(blocks []PairedCensus) bool {
	for i, b := range blocks {
		for arm, side := range []Issued{b.Base, b.New} {
			has, other := c.base[i], c.fresh[i]
			if arm == 1 {
				has, other = other, has
			}
			last := side.Statements[len(side.Statements)-1]
			if has.Calls == 0 && side.Omitted > 0 && other.Seconds <= last.Seconds {
				return true
			}
		}
	}
	return false
}

// settle computes the logarithms of the ratios of all measures, takes the common change off those
// of the time per call, and returns it.
func (all candidates) settle() attribution.IntervalEstimate {
	var shared []float64
	for i := range all[0].base {
		var times []float64
		for _, c := range all {
			if b, f := c.base[i], c.fresh[i]; c.comparable(i) && b.Seconds > 0 && f.Seconds > 0 {
				times = append(times, math.Log(f.Seconds/f.Calls)-math.Log(b.Seconds/b.Calls))
			}
		}
		g := 0.0
		if len(times) > 0 {
			g = stats.Median(times)
		}
		shared = append(shared, g)
		for _, c := range all {
			if !c.comparable(i) {
				continue
			}
			for _, m := range tested {
				x, y := m.of(c.base[i].Figures, c.ops[0][i]), m.of(c.fresh[i].Figures, c.ops[1][i])
				if !(x > 0) || !(y > 0) {
					continue
				}
				v := math.Log(y) - math.Log(x)
				if m.name == PerCall || m.name == Time {
					v -= g
				}
				c.measured[m.name] = append(c.measured[m.name], v)
			}
		}
	}
	return ratio(shared)
}

// comparable reports whether both runs of a block have calls enough for a ratio.
func (c *candidate) comparable(block int) bool {
	return c.base[block].Calls >= leastCalls && c.fresh[block].Calls >= leastCalls
}

// test sets the p-values. Of times and calls, what the mix explains of the change of the calls is
// taken off.
func (all candidates) test(of mix) {
	for _, m := range tested {
		var samples []stats.Sample
		var among []*candidate
		for _, c := range all {
			v := c.measured[m.name]
			if len(v) < leastBlocks || !slices.ContainsFunc(v, func(x float64) bool { return x != 0 }) {
				continue
			}
			if m.name.decides() {
				explained := of.explained(calls(c.base), stats.Mean(c.measured[Calls]))
				v = slices.Clone(v)
				for i := range v {
					v[i] -= explained
				}
			}
			samples = append(samples, stats.Sample{Values: v})
			among = append(among, c)
		}
		floors := slices.Repeat([]float64{math.Log(floor)}, len(samples))
		results, _ := stats.ModeratedT(samples, floors)
		for i, r := range results {
			among[i].found[m.name] = r.P
		}
	}
	for _, c := range all {
		if one := c.alone(); one != "" {
			c.p = math.Exp2(1 - max(calls(c.base), calls(c.fresh)))
			continue
		}
		for m, p := range c.found {
			if p = min(1, p*c.times(m)); m.decides() && !(c.p <= p) {
				c.p = p
			}
		}
	}
}

// decides reports whether a change of the measure is a finding. Rows and reads, which are exact in
// each block, repeat with the layout of an arm's database, and so does a plan.
func (m Measure) decides() bool { return m == Time || m == Calls }

// times returns what the p-value of a measure is multiplied by, for the number of measures, with
// three quarters of the weight on the time of a statement that does its work in another way.
func (c *candidate) times(m Measure) float64 {
	switch {
	case !m.decides():
		return float64(len(c.found))
	case !c.differs():
		return 2
	case m == Time:
		return 4.0 / 3
	}
	return 4
}

// weighted returns the p-values over their weights, which are 1 on the average. Where statements do
// their work in another way, these and the others have half of the weight each.
func (all candidates) weighted() []float64 {
	p := make([]float64, len(all))
	other := make([]bool, len(all))
	n := map[bool]float64{}
	for i, c := range all {
		p[i], other[i] = c.p, c.differs()
		if !math.IsNaN(c.p) {
			n[other[i]]++
		}
	}
	if n[true] == 0 || n[false] == 0 {
		return p
	}
	for i := range p {
		p[i] = min(1, p[i]*2*n[other[i]]/(n[true]+n[false]))
	}
	return p
}

// differs reports whether the plan differs, or the reads per call by more than deployments do.
func (c *candidate) differs() bool {
	reads := stats.Sample{Values: c.measured[Reads]}
	return reads.N() > 0 && math.Abs(reads.Mean()) > math.Ln2 || c.plan() != nil
}

// alone returns whether one arm alone has the statement, in all blocks and often enough.
func (c *candidate) alone() Kind {
	none := func(of []query.Statement) bool { return calls(of) == 0 }
	each := func(of []query.Statement) bool {
		return calls(of) >= leastCalls &&
			!slices.ContainsFunc(of, func(s query.Statement) bool { return s.Calls == 0 })
	}
	switch {
	case c.unlisted:
		return ""
	case none(c.base) && each(c.fresh):
		return Added
	case none(c.fresh) && each(c.base):
		return Removed
	}
	return ""
}

// finding describes the statement.
func (c *candidate) finding(q float64) ChangedStatement {
	f := ChangedStatement{
		Kind: Changed, Text: c.text, From: c.from, Operation: c.operation, Q: q,
		Figures: []StatementMeasure{}, Plan: c.plan(),
	}
	if kind := c.alone(); kind != "" {
		f.Kind = kind
	} else if !(q <= 1-level) {
		f.Kind = Planned
		if math.IsNaN(q) { // it was not tested, and JSON has no such number
			f.Q = 1
		}
	}
	base, fresh := c.seconds(c.base, 0), c.seconds(c.fresh, 1)
	f.Cost = difference(base, fresh)
	for _, m := range tested {
		measure := StatementMeasure{
			Measure: m.name, Change: ratio(c.measured[m.name]),
			Base: m.overall(c.base, c.ops[0]), New: m.overall(c.fresh, c.ops[1]),
		}
		if m.name == Time {
			measure.Base, measure.New = stats.Mean(base), stats.Mean(fresh)
			measure.Change = ratio(logs(base, fresh))
		}
		p, ok := c.found[m.name]
		measure.Found = ok && f.Kind == Changed && p*c.times(m.name) <= 1-level
		f.Figures = append(f.Figures, measure)
	}
	return f
}

// overall returns the measure over all blocks; 0 without a call.
func (m testedMeasure) overall(of []query.Statement, operations []float64) float64 {
	var f query.Figures
	ops := 0.0
	for i, s := range of {
		f.Add(s.Figures)
		ops += operations[i]
	}
	if f.Calls == 0 {
		return 0
	}
	return m.of(f, ops)
}

// seconds returns the time per operation by block.
func (c *candidate) seconds(of []query.Statement, arm int) (out []float64) {
	for i, s := range of {
		out = append(out, s.Seconds/c.ops[arm][i])
	}
	return out
}

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/plan"
)

// gridPoints is how many points a curve has at most, and fewRuns up to how many runs are drawn one by one.
const (
	gridPoints = 240
	fewRuns    = 3
)

// seedNames are the ten graphs that reports of this kind have always had, in their order.
var seedNames = []string{"avg-api-times", "p99-api-times", "avg-store-times", "p99-store-times", "cpu-utilization",
	"goroutines-in-use", "heap-in-use", "number-of-connected-devices", "rps", "stack-in-use"}

// graphs fills the curves: by test, then by engine, in the order of the specs; then the rules over time.
func (b *builder) graphs() {
	for _, test := range []string{Bounded, Unbounded} {
		if !b.has(test) {
			continue
		}
		for _, e := range b.d.Engines {
			absent := slices.Clone(seedNames)
			for _, spec := range b.in.Graphs {
				g := GraphData{Engine: e.Key, Test: test, GraphSpec: spec, File: fileName(e.Key, test, spec.Name)}
				if test == Bounded {
					g.MeasuredFrom = b.measuredFrom(e.Key)
				}
				b.lines(&g, func(r RunData) Line { return r.Series[test][spec.Name] })
				if len(g.Arms) > 0 {
					b.d.Graphs = append(b.d.Graphs, g)
					absent = slices.DeleteFunc(absent, func(s string) bool { return s == spec.Name })
				} else if !slices.Contains(absent, spec.Name) {
					absent = append(absent, spec.Name)
				}
			}
			if len(absent) > 0 {
				b.d.Absent = append(b.d.Absent, Absent{Engine: e.Key, Test: test, Names: absent})
			}
		}
	}
	b.ruleGraphs()
}

// has reports whether a judged run carried out the test.
func (b *builder) has(test string) bool {
	phase := map[string]string{Bounded: "measure", Unbounded: "search"}[test]
	for _, r := range b.judged {
		if _, ok := r.Manifest.Phase(phase); ok || len(r.Series[test]) > 0 {
			return true
		}
	}
	return false
}

func (b *builder) measuredFrom(engine string) float64 {
	for _, r := range b.judged {
		if ph, ok := r.Manifest.Phase("measure"); ok && r.Cell.Engine == engine {
			return ph.From.Seconds()
		}
	}
	return 0
}

// ruleGraphs draws each rule of the search over time, against its limit.
func (b *builder) ruleGraphs() {
	for _, t := range b.d.Rules {
		var done []string
		for _, row := range t.Rows {
			if row.Search == nil || slices.Contains(done, row.Rule) {
				continue
			}
			done = append(done, row.Rule)
			unit, scale := "", 1.0
			switch row.Unit {
			case plan.Seconds:
				unit, scale = "ms", 1000
			case plan.Fraction:
				unit, scale = "%", 100
			}
			name := "slo-" + slug(row.Rule)
			g := GraphData{Engine: t.Engine, Test: Unbounded, Rule: row.Rule, Limit: tidy(float64(row.Limit) * scale),
				GraphSpec: GraphSpec{Name: name, Title: row.Rule, Unit: unit, Scale: scale}, File: fileName(t.Engine, Unbounded, name)}
			b.lines(&g, func(r RunData) Line { return ruleLine(r, row.Rule, scale) })
			if len(g.Arms) > 0 {
				b.d.Graphs = append(b.d.Graphs, g)
			}
		}
	}
}

func ruleLine(r RunData, rule string, scale float64) Line {
	var l Line
	ph, ok := r.Manifest.Phase("search")
	if !ok {
		return l
	}
	for _, ev := range r.Events {
		if ev.Kind == "slo" && ev.Rule == rule && ev.Phase != measuredPhase && !ev.NoData && inSearch(r.Manifest, ev) && ev.At >= ph.From {
			l.T = append(l.T, (ev.At - ph.From).Seconds())
			l.V = append(l.V, ev.Value*scale)
		}
	}
	return l
}

// lines fills a graph with the arms that have data, each on one grid.
func (b *builder) lines(g *GraphData, of func(RunData) Line) {
	type arm struct {
		index int
		lines []Line
	}
	var arms []arm
	end, step := 0.0, 0.0
	for i, a := range b.d.Arms {
		var lines []Line
		for _, r := range b.of(g.Engine, a.Name) {
			l := of(r).usable()
			if n := len(l.T); n >= 2 {
				lines = append(lines, l)
				end, step = max(end, l.T[n-1]), max(step, (l.T[n-1]-l.T[0])/float64(n-1))
			}
		}
		if len(lines) > 0 {
			arms = append(arms, arm{i, lines})
		}
	}
	step = max(step, end/gridPoints)
	if step <= 0 {
		return
	}
	for _, a := range arms {
		l := overlay(a.lines, step)
		l.Arm, l.Index = b.d.Arms[a.index].Label, a.index
		g.Arms = append(g.Arms, l)
	}
}

// usable returns the points that can be drawn: finite, not before the start.
func (l Line) usable() Line {
	var out Line
	for i := range min(len(l.T), len(l.V)) {
		if t, v := l.T[i], l.V[i]; known(t) && known(v) && t >= 0 {
			out.T, out.V = append(out.T, t), append(out.V, v)
		}
	}
	return out
}

// overlay puts the runs of one arm on a grid of width step. A point of the grid is kept where at least half of the
// runs have data, so that a single long run does not bend the end of the curve.
func overlay(lines []Line, step float64) ArmLine {
	out := ArmLine{N: len(lines), Step: tidy(step)}
	grids := make([][]float64, len(lines))
	size := 0
	for i, l := range lines {
		grids[i] = resample(l, step)
		size = max(size, len(grids[i]))
	}
	for k := range size {
		lo, hi, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
		for _, g := range grids {
			if k < len(g) && !math.IsNaN(g[k]) {
				lo, hi, sum, n = min(lo, g[k]), max(hi, g[k]), sum+g[k], n+1
			}
		}
		if 2*n < len(lines) || n == 0 {
			continue
		}
		out.T = append(out.T, tidy(float64(k)*step))
		out.Mean = append(out.Mean, tidy(sum/float64(n)))
		if len(lines) > 1 {
			out.Lo, out.Hi = append(out.Lo, tidy(lo)), append(out.Hi, tidy(hi))
		}
	}
	if len(lines) > 1 && len(lines) <= fewRuns {
		for _, g := range grids {
			var l Line
			for k, v := range g {
				if !math.IsNaN(v) {
					l.T, l.V = append(l.T, tidy(float64(k)*step)), append(l.V, tidy(v))
				}
			}
			out.Each = append(out.Each, l)
		}
	}
	return out
}

// bridged is how many empty points of the grid a straight line may cross.
const bridged = 3

// resample averages a line over the points of the grid 0, step, 2 step…; NaN is no data.
func resample(l Line, step float64) []float64 {
	last := int(math.Round(l.T[len(l.T)-1] / step))
	sums, counts := make([]float64, last+1), make([]int, last+1)
	for i, t := range l.T {
		if k := int(math.Round(t / step)); k >= 0 && k <= last {
			sums[k] += l.V[i]
			counts[k]++
		}
	}
	prev := -1
	for k := range sums {
		if counts[k] == 0 {
			sums[k] = math.NaN()
			continue
		}
		sums[k] /= float64(counts[k])
		if gap := k - prev; prev >= 0 && gap > 1 && gap <= bridged+1 {
			for j := prev + 1; j < k; j++ {
				sums[j] = sums[prev] + (sums[k]-sums[prev])*float64(j-prev)/float64(gap)
			}
		}
		prev = k
	}
	return sums
}

// tidy rounds to five significant digits: more are noise, and make files long.
func tidy(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(v))))
	if math.IsInf(scale, 0) || scale == 0 {
		return v
	}
	return math.Round(v*scale) / scale
}

// fileName names a graph's file. The number is that of the comparison in the document; there is one.
func fileName(engine, test, name string) string {
	if engine == "" {
		engine = "target"
	}
	return fmt.Sprintf("%s_%s_0_%s.png", slug(engine), slug(test), slug(name))
}

// slug keeps letters, digits and dashes of a name, in lower case, for a file name or an anchor.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 60 {
			break
		}
	}
	if t := strings.TrimSuffix(b.String(), "-"); t != "" {
		return t
	}
	return "x"
}

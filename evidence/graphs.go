package evidence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/dialect"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/watch/series"
)

// GraphSpecs describes the graphs of a report on a plan's target, with the threshold of each rule
// of the plan about the same quantity as a graph.
func (c *Catalog) GraphSpecs(p *plan.Plan) []report.GraphSpec {
	rules := rulesOf(p)
	var out []report.GraphSpec
	for _, g := range c.Dialects.Graphs(p.Target.Driver) {
		spec := specOf(g)
		for _, r := range rules {
			if r.Stat == "promql" && r.Less && sameQuery(r.Arg, g) {
				spec.Threshold = &report.Threshold{Rule: r.Source, Value: r.Threshold * g.Scale}
			}
		}
		out = append(out, spec)
	}
	return out
}

// rulesOf returns the rules of a plan's tests as they are written, with $window.
func rulesOf(p *plan.Plan) (rules []plan.SLO) {
	if p.Bounded != nil {
		rules = p.Bounded.SLO
	}
	if p.Unbounded != nil {
		rules = slices.Concat(rules, p.Unbounded.SLO)
	}
	return rules
}

// specOf describes a graph for a report.
func specOf(g dialect.GraphQuery) report.GraphSpec {
	return report.GraphSpec{Name: g.Name, Title: g.Title, Unit: g.Unit, Scale: g.Scale}
}

// histogram evaluates [dialect.MeanOf] or [dialect.P99Of] of a metric. The sums are read without
// the engine, in one pass over thousands of series.
func (x *stretch) histogram(ctx context.Context, metric, stat string) (series.RangeSeries, error) {
	var out series.RangeSeries
	if stat == dialect.P99 {
		lines, err := x.db.SumRate(ctx, metric+"_bucket", "le", x.window, x.from, x.to, x.coarse)
		if err != nil {
			return out, err
		}
		return series.QuantileOf(0.99, lines), nil
	}
	var parts [2]series.RangeSeries
	for i, suffix := range []string{"_sum", "_count"} {
		lines, err := x.db.SumRate(ctx, metric+suffix, "", x.window, x.from, x.to, x.coarse)
		if err != nil || len(lines) == 0 {
			return out, err
		}
		parts[i] = lines[0]
	}
	k := 0
	for i, t := range parts[0].T {
		for k < len(parts[1].T) && parts[1].T[k].Before(t) {
			k++
		}
		if k < len(parts[1].T) && parts[1].T[k].Equal(t) {
			out.T, out.V = append(out.T, t), append(out.V, parts[0].V[i]/parts[1].V[k])
		}
	}
	return out, nil
}

// sameQuery reports whether a rule's expression is a query of the graph, except for spaces and its
// window.
func sameQuery(rule string, g dialect.GraphQuery) bool {
	plain := strings.NewReplacer(" ", "", "[$window]", "[$w]")
	return slices.ContainsFunc(g.Sources, func(x dialect.GraphSource) bool {
		return plain.Replace(rule) == plain.Replace(x.Query)
	})
}

// A stretch queries one test of a run, from its beginning to its end.
type stretch struct {
	db       *series.DB
	from, to time.Time
	// coarse is the step of rates, whose window leaves nothing out between two steps; fine is the
	// step of values at an instant.
	coarse, fine, window time.Duration
}

// leastRateWindow is the shortest time over which rates look back: probes take a sample a second.
const leastRateWindow = 3 * time.Second

// newStretch begins with the first second of span. Rates look back over window, or over one step
// where that is longer, but over no more than a quarter of span: a longer window would carry the
// time before a short test far into its graphs.
func newStretch(
	db *series.DB,
	epoch time.Time,
	span [2]time.Duration,
	window time.Duration,
) *stretch {
	length := span[1] - span[0]
	x := &stretch{
		db:     db,
		from:   epoch.Add(span[0]),
		to:     epoch.Add(span[1]),
		coarse: stepOf(length, report.GridPoints),
		fine:   stepOf(length, series.MaxPoints/2),
	}
	window = min(window, max(length/4, leastRateWindow))
	x.window = max(window, x.coarse).Truncate(time.Second)
	return x
}

// stepOf is the shortest step, in whole seconds, with which a length has no more than this many
// points.
func stepOf(length, points time.Duration) time.Duration {
	return max((length/points + time.Second - 1).Truncate(time.Second), time.Second)
}

// lines evaluates a query at every step; of a gauge at every second, as long as that are not too
// many.
func (x *stretch) lines(
	ctx context.Context,
	query string,
	gauge bool,
) ([]series.RangeSeries, error) {
	step := x.coarse
	if gauge {
		step = x.fine
	}
	return x.db.Range(ctx, strings.ReplaceAll(query, "$w", x.window.String()), x.from, x.to, step)
}

// graph evaluates a graph: the first of its sources that has data.
func (x *stretch) graph(ctx context.Context, g dialect.GraphQuery) (report.Line, bool, error) {
	for _, source := range g.Sources {
		var found series.RangeSeries
		if source.Histogram != "" {
			var err error
			if found, err = x.histogram(ctx, source.Histogram, g.Stat); err != nil {
				return report.Line{}, false, err
			}
		} else {
			lines, err := x.lines(ctx, source.Query, g.Gauge)
			if err != nil {
				return report.Line{}, false, err
			}
			if len(lines) != 1 {
				continue
			}
			found = lines[0]
		}
		if line := x.line(found, g.Scale); len(line.T) > 1 {
			return line, true, nil
		}
	}
	return report.Line{}, false, nil
}

// whyNot returns the reason why a graph has no data: no probe was set up, the target did not
// answer, or the answer did not have it.
func (x *stretch) whyNot(ctx context.Context, g dialect.GraphQuery) (string, error) {
	if strings.HasPrefix(g.Needs, "plimsoll_") {
		return "no probe of this program had an answer, so there is no " + g.Needs, nil
	}
	up, err := x.db.Query(
		ctx,
		fmt.Sprintf(
			`max(max_over_time(plimsoll_probe_up{probe=~"scrape.*|prometheus app-.*"}[%s]))`,
			max(x.to.Sub(x.from).Truncate(time.Second), time.Second),
		),
		x.to,
	)
	switch {
	case err != nil:
		return "", err
	case len(up) == 0:
		return "no metrics page of the target was read (target.metrics_url, or probes, in the plan), so there is no " + g.Needs, nil
	case up[0].Value == 0:
		return "the target's metrics page never answered, so there is no " + g.Needs, nil
	}
	return "the target's metrics page has no " + g.Needs, nil
}

// line is the curve of a series on the clock of the test, without values that are not numbers.
func (x *stretch) line(l series.RangeSeries, scale float64) report.Line {
	out := report.Line{T: make([]float64, 0, len(l.T)), V: make([]float64, 0, len(l.T))}
	for i, t := range l.T {
		if v := l.V[i]; report.Number(v).Known() {
			out.T = append(out.T, t.Sub(x.from).Seconds())
			out.V = append(out.V, v*scale)
		}
	}
	return out
}

// testSpans returns the stretch of each test of a run: the bounded one from its ramp on, the
// unbounded one from the beginning of the search. Each has a separate clock.
func testSpans(m record.Manifest) map[string][2]time.Duration {
	out := map[string][2]time.Duration{}
	if ph, ok := m.Phase("measure"); ok {
		out[report.Bounded] = [2]time.Duration{0, ph.To}
	}
	if ph, ok := m.Phase("search"); ok {
		out[report.Unbounded] = [2]time.Duration{ph.From, ph.To}
	}
	return out
}

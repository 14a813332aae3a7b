package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/watch/series"
)

// A Drawing holds the lines of a run's graphs by test and name, and why the others have none.
type Drawing struct {
	Lines map[string]map[string]report.Line
	Why   map[string]map[string]string
}

// begin makes room for the graphs of a test.
func (d Drawing) begin(test string) {
	d.Lines[test], d.Why[test] = map[string]report.Line{}, map[string]string{}
}

// Drawing returns the graphs of the run: the graphs that were kept when it was sealed
// ([Catalog.KeepGraphs]), or else new ones drawn from its series.
func (r *Run) Drawing(ctx context.Context, db *series.DB, pace float64) (Drawing, error) {
	kept, err := r.Graphs()
	if err != nil {
		return Drawing{}, err
	}
	if kept == nil || kept.Definition != r.catalog.Definition(r.Manifest, pace) {
		return r.catalog.Draw(ctx, db, r.Manifest, pace)
	}
	out := Drawing{map[string]map[string]report.Line{}, map[string]map[string]string{}}
	for test, graphs := range kept.Tests {
		out.begin(test)
		for name, l := range graphs {
			if l.Why != "" {
				out.Why[test][name] = l.Why
			} else {
				out.Lines[test][name] = report.Line{T: l.T, V: l.V}
			}
		}
	}
	return out, nil
}

// KeepGraphs draws the graphs of a run whose series are closed and writes them beside these, before
// the run is sealed: reports need not draw them again.
func (c *Catalog) KeepGraphs(
	ctx context.Context,
	dir string,
	m record.Manifest,
	pace float64,
) (err error) {
	db, err := openSeries(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	drawn, err := c.Draw(ctx, db, m, pace)
	if err != nil {
		return err
	}
	out := record.Graphs{
		Format:     record.GraphsVersion,
		Definition: c.Definition(m, pace),
		Tests:      map[string]map[string]record.GraphLine{},
	}
	for test, lines := range drawn.Lines {
		out.Tests[test] = map[string]record.GraphLine{}
		for name, l := range lines {
			out.Tests[test][name] = record.GraphLine{T: l.T, V: l.V}
		}
		for name, why := range drawn.Why[test] {
			out.Tests[test][name] = record.GraphLine{Why: why}
		}
	}
	return record.WriteJSON(filepath.Join(dir, record.GraphsFile), out)
}

// graphsCode changes when the same queries to the same series give other lines.
const graphsCode = 1

// Definition is a digest of all that the graphs of a run follow from beside its series. Kept graphs
// of another definition are drawn again.
func (c *Catalog) Definition(m record.Manifest, pace float64) string {
	h := sha256.New()
	var graphs []hashed
	for _, g := range c.graphsOf(m) {
		x := hashed{spec: specOf(g), needs: g.Needs, gauge: g.Gauge, stat: g.Stat}
		for i, source := range g.Sources {
			if i == 0 {
				x.query = source.Query
			} else {
				x.or += source.Query
			}
			if source.Histogram != "" {
				x.histograms = append(x.histograms, source.Histogram)
			}
		}
		graphs = append(graphs, x)
	}
	h.Write(fmt.Appendf(nil, "%d %+v", graphsCode, graphs))
	for _, test := range tests {
		if span, ok := testSpans(m)[test]; ok {
			x := newStretch(nil, time.Time{}, span, graphWindow(pace))
			h.Write(fmt.Appendf(nil, " %s %v %v %v %v", test, span, x.coarse, x.fine, x.window))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// A hashed is a [dialect.GraphQuery] as the digest has it: another name of a field here would be
// another definition of every stored graph.
type hashed struct {
	spec       report.GraphSpec
	query, or  string
	needs      string
	gauge      bool
	histograms []string
	stat       string
}

func driverOf(m record.Manifest) string {
	d, _ := TargetOf(m)
	return d.Driver
}

// graphWindow is the window of the rates of graphs.
func graphWindow(pace float64) time.Duration {
	return min(max(time.Duration(float64(time.Minute)*pace), 4*time.Second), time.Minute)
}

// Draw evaluates the graphs of one run.
func (c *Catalog) Draw(
	ctx context.Context,
	db *series.DB,
	m record.Manifest,
	pace float64,
) (Drawing, error) {
	out := Drawing{map[string]map[string]report.Line{}, map[string]map[string]string{}}
	for test, span := range testSpans(m) {
		out.begin(test)
		x := newStretch(db, m.Epoch, span, graphWindow(pace))
		for _, g := range c.graphsOf(m) {
			line, ok, err := x.graph(ctx, g)
			if err != nil {
				return out, fmt.Errorf("graph %s: %w", g.Name, err)
			}
			if ok {
				out.Lines[test][g.Name] = line
				continue
			}
			if out.Why[test][g.Name], err = x.whyNot(ctx, g); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

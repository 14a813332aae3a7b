package main

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
	"plimsoll/series"
)

// A reading is what one run shows of the graphs in its tests, and why it does not show the others, by test and name.
type reading struct {
	lines map[string]map[string]report.Line
	why   map[string]map[string]string
}

// readGraphs gives the graphs of one run: those that were kept when it ended, else what its series say now.
func readGraphs(ctx context.Context, db *series.DB, r *record.Run, pace float64) (reading, error) {
	kept, err := r.Graphs()
	if err != nil {
		return reading{}, err
	}
	if kept == nil || kept.Definition != definitionOf(r.Manifest, pace) {
		return drawGraphs(ctx, db, r.Manifest, pace)
	}
	out := reading{map[string]map[string]report.Line{}, map[string]map[string]string{}}
	for test, graphs := range kept.Tests {
		out.lines[test], out.why[test] = map[string]report.Line{}, map[string]string{}
		for name, l := range graphs {
			if l.Why != "" {
				out.why[test][name] = l.Why
			} else {
				out.lines[test][name] = report.Line{T: l.T, V: l.V}
			}
		}
	}
	return out, nil
}

// keepGraphs draws the graphs of a run whose series are closed and writes them beside them, before its seal.
func keepGraphs(ctx context.Context, dir string, m record.Manifest, pace float64) (err error) {
	db, err := openSeries(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	drawn, err := drawGraphs(ctx, db, m, pace)
	if err != nil {
		return err
	}
	out := record.Graphs{Format: record.GraphsVersion, Definition: definitionOf(m, pace), Tests: map[string]map[string]record.GraphLine{}}
	for test, lines := range drawn.lines {
		out.Tests[test] = map[string]record.GraphLine{}
		for name, l := range lines {
			out.Tests[test][name] = record.GraphLine{T: l.T, V: l.V}
		}
		for name, why := range drawn.why[test] {
			out.Tests[test][name] = record.GraphLine{Why: why}
		}
	}
	return record.WriteJSON(filepath.Join(dir, record.GraphsFile), out)
}

// graphsCode changes when the same questions to the same series give other lines.
const graphsCode = 1

// definitionOf stands for all that the graphs of a run follow from, beside its series.
func definitionOf(m record.Manifest, pace float64) string {
	h := sha256.New()
	h.Write(fmt.Appendf(nil, "%d %+v", graphsCode, graphsOf(driverOf(m))))
	for _, test := range []string{report.Bounded, report.Unbounded} {
		if span, ok := testSpans(m)[test]; ok {
			x := newStretch(nil, time.Time{}, span, graphWindow(pace))
			h.Write(fmt.Appendf(nil, " %s %v %v %v %v", test, span, x.coarse, x.fine, x.window))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func driverOf(m record.Manifest) string {
	d, _ := targetOf(m)
	return d.Driver
}

// graphWindow is how far the rates of graphs look back.
func graphWindow(pace float64) time.Duration {
	return min(max(time.Duration(float64(time.Minute)*pace), 4*time.Second), time.Minute)
}

// drawGraphs evaluates the graphs of one run.
func drawGraphs(ctx context.Context, db *series.DB, m record.Manifest, pace float64) (reading, error) {
	out := reading{map[string]map[string]report.Line{}, map[string]map[string]string{}}
	for test, span := range testSpans(m) {
		out.lines[test], out.why[test] = map[string]report.Line{}, map[string]string{}
		x := newStretch(db, m.Epoch, span, graphWindow(pace))
		for _, g := range graphsOf(driverOf(m)) {
			line, ok, err := x.graph(ctx, g)
			if err != nil {
				return out, fmt.Errorf("graph %s: %w", g.spec.Name, err)
			}
			if ok {
				out.lines[test][g.spec.Name] = line
				continue
			}
			if out.why[test][g.spec.Name], err = x.whyNot(ctx, g); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

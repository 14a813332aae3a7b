package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/comparison"
	"plimsoll/plan"
	"plimsoll/probe"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/store"
	"plimsoll/target"
	"plimsoll/verdict"
)

// document judges a comparison and gathers everything that its report is made of.
func (a *app) document(ctx context.Context, st *store.Store, c *record.Comparison, p *plan.Plan) (report.Document, []verdict.Verdict, error) {
	var none report.Document
	arms, databases, err := comparison.Judge(c, p, st.Run, furtherOf(ctx))
	if err != nil {
		return none, nil, fmt.Errorf("judging %s: %w", c.ID, err)
	}
	in := report.Input{Comparison: c, Plan: p, Graphs: graphSpecs(), EngineNames: map[string]string{}}
	var verdicts []verdict.Verdict
	for _, j := range arms {
		verdicts = append(verdicts, j.Verdict)
		in.Arms = append(in.Arms, report.Judged{Engine: j.Engine, Arm: j.Arm, Verdict: j.Verdict, Skipped: j.Skipped, Further: &j.Further, Shifts: j.Shifts})
	}
	for _, j := range databases {
		in.Databases = append(in.Databases, report.Judged{Engine: j.Engine, Arm: j.Arm, Verdict: j.Verdict, Skipped: j.Skipped, Further: &j.Further, Shifts: j.Shifts})
	}
	var last *record.Run
	for _, cell := range c.Runs {
		r, err := st.Run(cell.Run)
		if err != nil {
			return none, nil, err
		}
		data, err := runData(ctx, r, cell, p)
		if err != nil {
			return none, nil, err
		}
		in.Runs = append(in.Runs, data)
		last = r
		if d, ok := targetOf(r.Manifest); ok && d.Database != nil && cell.Engine != "" {
			in.EngineNames[cell.Engine] = d.Database.Name + " " + d.Database.Version
		}
	}
	if last != nil {
		in.Setup = setupOf(last.Manifest)
	}
	if c.Outcome, err = json.Marshal(verdicts); err != nil {
		return none, nil, err
	}
	if in.Chapters, err = chapters(ctx, st, c, p); err != nil {
		return none, nil, fmt.Errorf("chapters of %s: %w", c.ID, err)
	}
	return report.From(in), verdicts, nil
}

// runData reads one run for the report.
func runData(ctx context.Context, r *record.Run, cell record.ComparisonRun, p *plan.Plan) (report.RunData, error) {
	d, err := usersData(r)
	if err != nil {
		return d, err
	}
	d.Cell, d.Validity = cell, r.Validity
	if ph, ok := r.Manifest.Phase("measure"); ok {
		if d.Ops, err = r.Merged(ph.From, ph.To); err != nil {
			return d, err
		}
		if d.Server, err = r.MergedTelemetry(ph.From, ph.To); err != nil {
			return d, err
		}
	}
	if d.Events, err = r.Events(); err != nil {
		return d, err
	}
	if r.Manifest.State == record.Sealed && !cell.Pilot && !cell.Dropped {
		if d.Limiter, err = limiterOf(ctx, r, d.Events); err != nil {
			return d, fmt.Errorf("run %s: limiter: %w", cell.Run, err)
		}
	}
	if r.Manifest.State == record.Sealed && cell.Valid && !cell.Pilot && !cell.Dropped {
		if d.Drift, err = driftOf(ctx, r); err != nil {
			return d, fmt.Errorf("run %s: stability: %w", cell.Run, err)
		}
	}
	if r.Manifest.State == record.Sealed && !cell.Pilot {
		d.Series, err = readSeries(ctx, r, p.Workload.Pace)
	}
	return d, err
}

func targetOf(m record.Manifest) (target.Description, bool) {
	var d target.Description
	err := json.Unmarshal(m.Target, &d)
	return d, err == nil && len(m.Target) > 0
}

// setupOf are the rows of the Setup table that the runs can tell, in the order of the release reports.
func setupOf(m record.Manifest) []record.Row {
	var rows []record.Row
	row := func(name, format string, args ...any) {
		rows = append(rows, record.Row{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	row("Load-test version", "plimsoll %s", m.Tool)
	if d, ok := targetOf(m); ok {
		if d.Dataset != "" {
			row("Dataset", "%s", d.Dataset)
		}
		cmd := slices.Clone(d.Command)
		if len(cmd) > 0 {
			cmd[0] = filepath.Base(cmd[0])
		}
		row("App instances", "%d × %s (%s)", max(d.Instances, 1), d.Driver, strings.Join(cmd, " "))
		if d.Driver == "external" {
			row("Reset between runs", "none: the target is not ours")
		}
	}
	row("Agent instances", "1 (this process, %d cores)", max(len(m.Generator), 1))
	row("Proxy instance", "none")
	var h probe.Host
	if json.Unmarshal(m.Host, &h) == nil && h.CPUs > 0 {
		row("Host", "%d × %s, %.1f GiB, %s, kernel %s", h.CPUs, h.CPUModel, float64(h.MemoryBytes)/(1<<30), h.OS, strings.Fields(h.Kernel)[0])
		if h.Virtualization != "" {
			row("Virtualization", "%s", h.Virtualization)
		}
	}
	return rows
}

// writeReport writes all forms of a document into a directory. Each file appears whole.
func writeReport(dir string, doc report.Document) error {
	if err := os.MkdirAll(filepath.Join(dir, "graphs"), 0o755); err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{
		"report.md":   func(w io.Writer) error { return report.Markdown(w, doc) },
		"report.html": func(w io.Writer) error { return report.HTML(w, doc) },
		"report.json": func(w io.Writer) error { return report.JSON(w, doc) },
	}
	for _, g := range report.Graphs(doc) {
		files[filepath.Join("graphs", g.File)] = g.PNG
	}
	for name, write := range files {
		if err := writeFile(filepath.Join(dir, name), write); err != nil {
			return fmt.Errorf("report %s: %w", name, err)
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return err
	}
	tmp := path + ".part"
	if err := os.WriteFile(tmp, buf.Bytes(), 0o644); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}

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
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/probe"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/series"
	"plimsoll/store"
	"plimsoll/target"
	"plimsoll/verdict"
)

// document judges a comparison and gathers everything that its report is made of, and the pages that go with it.
func (a *app) document(ctx context.Context, st *store.Store, c *record.Comparison, p *plan.Plan) (report.Document, []verdict.Verdict, []namedFile, error) {
	var none report.Document
	in := report.Input{Comparison: c, Plan: p, Graphs: graphSpecs(p), EngineNames: map[string]string{}}
	runs := make([]*record.Run, len(c.Runs))
	in.Runs = make([]report.RunData, len(c.Runs))
	load := comparison.Loader(c, st.Run)
	err := inParallel(len(c.Runs), func(i int) (err error) {
		if runs[i], err = load(c.Runs[i].Run); err != nil {
			return err
		}
		in.Runs[i], err = runData(ctx, runs[i], c.Runs[i], p)
		return err
	})
	if err != nil {
		return none, nil, nil, err
	}
	arms, databases, err := comparison.Judge(c, p, func(id string) (*record.Run, error) {
		for i, cell := range c.Runs {
			if cell.Run == id {
				return runs[i], nil // which keeps what it has read
			}
		}
		return load(id)
	}, furtherOf(ctx))
	if err != nil {
		return none, nil, nil, fmt.Errorf("judging %s: %w", c.ID, err)
	}
	var verdicts []verdict.Verdict
	for _, j := range arms {
		verdicts = append(verdicts, j.Verdict)
		in.Arms = append(in.Arms, judgedOf(j))
	}
	for _, j := range databases {
		in.Databases = append(in.Databases, judgedOf(j))
	}
	for i, r := range runs {
		if d, ok := targetOf(r.Manifest); ok && d.Database != nil && c.Runs[i].Engine != "" {
			in.EngineNames[c.Runs[i].Engine] = serverOf(d)
		}
	}
	manifests := make([]record.Manifest, len(runs))
	for i, r := range runs {
		manifests[i] = r.Manifest
	}
	in.Setup = setupOf(manifests...)
	if c.Outcome, err = json.Marshal(verdicts); err != nil {
		return none, nil, nil, err
	}
	if in.Chapters, err = chapters(ctx, st, c, p); err != nil {
		return none, nil, nil, fmt.Errorf("chapters of %s: %w", c.ID, err)
	}
	doc := report.From(in)
	return doc, verdicts, pagesOf(ctx, doc, in.Runs, runs, p.Workload.Pace), nil
}

func judgedOf(j comparison.Judgement) report.Judged {
	out := report.Judged{Engine: j.Engine, Arm: j.Arm, Verdict: j.Verdict, Skipped: j.Skipped, Shifts: j.Shifts}
	if j.OtherLoad == "" {
		out.Further = &j.Further
	}
	return out
}

// runData reads one run for the report.
func runData(ctx context.Context, r *record.Run, cell record.ComparisonRun, p *plan.Plan) (report.RunData, error) {
	d := report.RunData{Cell: cell, Manifest: r.Manifest, Validity: r.Validity}
	var err error
	if d.Users, err = r.Users(); err != nil {
		return d, err
	}
	var storms []record.Storm
	if d.Users != nil {
		storms = d.Users.Storms
	}
	course := newCourse(r.Manifest)
	if ph, ok := r.Manifest.Phase("measure"); ok {
		d.Ops, d.Outside, err = r.Sums(ph.From, ph.To, storms, course.Add)
		if course.Close(); err == nil {
			d.Omitted, _, err = r.Omitted()
		}
		if err == nil {
			d.Server, err = r.MergedTelemetry(ph.From, ph.To)
		}
	} else {
		d.Outside, err = r.Outside(storms)
	}
	if err != nil {
		return d, err
	}
	if d.Events, err = r.Events(); err != nil {
		return d, err
	}
	if r.Manifest.State == record.Sealed && !cell.Pilot && !cell.Dropped {
		if d.Limiter, err = limiterOf(ctx, r, d.Events); err != nil {
			return d, fmt.Errorf("run %s: limiter: %w", cell.Run, err)
		}
	}
	if r.Manifest.State != record.Sealed || !cell.Counts() {
		return d, nil // no graph and no page is of it
	}
	db, err := openSeries(r.Dir)
	if err != nil {
		return d, err
	}
	if course != nil {
		if d.Drift, err = driftIn(ctx, db, r, course); err != nil {
			return d, errors.Join(fmt.Errorf("run %s: stability: %w", cell.Run, err), db.Close())
		}
	}
	if d.Waits, err = hostWaits(ctx, db, r); err != nil {
		return d, errors.Join(fmt.Errorf("run %s: waits of the host: %w", cell.Run, err), db.Close())
	}
	read, err := readGraphs(ctx, db, r, p.Workload.Pace)
	d.Series, d.NoData, d.Pages = read.lines, read.why, pageRefs(d)
	return d, errors.Join(err, db.Close())
}

func targetOf(m record.Manifest) (target.Description, bool) {
	var d target.Description
	err := json.Unmarshal(m.Target, &d)
	return d, err == nil && len(m.Target) > 0
}

// serverOf names the database server of a target with its version; empty without one.
func serverOf(d target.Description) string {
	if d.Database == nil {
		return ""
	}
	return strings.TrimSpace(d.Database.Name + " " + d.Database.Version)
}

// openSeries opens the series of a run that is sealed, or about to be; the caller closes them.
func openSeries(dir string) (*series.DB, error) {
	return series.Open(filepath.Join(dir, record.SeriesDir))
}

// setupOf are the rows of the Setup table that the runs can tell, in the order of the release reports: what is the same in all of them, and
// otherwise what the last one says. What arms differ in has rows of its own.
func setupOf(runs ...record.Manifest) []record.Row {
	var rows []record.Row
	row := func(name, format string, args ...any) {
		rows = append(rows, record.Row{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	if len(runs) == 0 {
		return nil
	}
	m := runs[len(runs)-1]
	row("Load-test version", "plimsoll %s", m.Tool)
	d, told := targetOf(m)
	if told {
		if d.Dataset != "" {
			row("Dataset", "%s", d.Dataset)
		}
		text := fmt.Sprintf("%d × %s", max(d.Instances, 1), d.Driver)
		same := func(r record.Manifest) bool { x, _ := targetOf(r); return slices.Equal(x.Command, d.Command) }
		if cmd := slices.Clone(d.Command); len(cmd) > 0 && !slices.ContainsFunc(runs, func(r record.Manifest) bool { return !same(r) }) {
			cmd[0] = filepath.Base(cmd[0])
			text += " (" + strings.Join(cmd, " ") + ")"
		}
		row("App instances", "%s", text)
		if d.Driver == "external" {
			row("Reset between runs", "none: the target is not ours")
		}
	}
	agents := "1 (this process"
	if m.Processes > 1 {
		agents = fmt.Sprintf("%d (processes of one host", m.Processes)
	}
	if len(m.Generator) > 0 {
		agents += ", on cores " + report.Cores(m.Generator)
	}
	row("Agent instances", "%s)", agents)
	if d.Driver != "external" {
		row("Proxy instance", "none")
	}
	var h probe.Host
	if json.Unmarshal(m.Host, &h) == nil && h.CPUs > 0 {
		row("Host", "%d × %s, %.1f GiB, %s, kernel %s", h.CPUs, h.CPUModel, float64(h.MemoryBytes)/(1<<30), h.OS, strings.Fields(h.Kernel)[0])
		if h.Virtualization != "" {
			row("Virtualization", "%s", h.Virtualization)
		}
	}
	return rows
}

// writeReport writes all forms of a document into a directory, and what goes with it. Each file appears whole.
func writeReport(dir string, doc report.Document, more []namedFile) error {
	var files []namedFile
	for _, f := range documentForms(doc) {
		if f.file != "" {
			files = append(files, namedFile{f.file, f.write})
		}
	}
	for _, g := range report.Graphs(doc) {
		name := filepath.Join("graphs", g.File)
		files = append(files, namedFile{name, g.PNG}, namedFile{strings.TrimSuffix(name, ".png") + ".svg", g.SVG})
	}
	files = append(files, more...)
	for _, f := range files {
		if err := makeDir(filepath.Dir(filepath.Join(dir, f.name))); err != nil {
			return err
		}
	}
	return inParallel(len(files), func(i int) error {
		if err := writeFile(filepath.Join(dir, files[i].name), files[i].write); err != nil {
			return fmt.Errorf("report %s: %w", files[i].name, err)
		}
		return nil
	})
}

// makeDir makes a directory for reports with its missing parents: for this user alone where the one that is there is.
func makeDir(dir string) error {
	there := dir
	for !isDir(there) && filepath.Dir(there) != there {
		there = filepath.Dir(there)
	}
	mode := os.FileMode(0o755)
	if private(there) {
		mode = 0o700
	}
	return os.MkdirAll(dir, mode)
}

// private reports whether nobody but its owner may use a directory, as those of a store.
func private(dir string) bool {
	fi, err := os.Stat(dir)
	return err == nil && fi.Mode().Perm()&0o077 == 0
}

// writeFile writes a file whole: without a control character unless it is an image, and for this user alone in a directory that is.
func writeFile(path string, write func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return err
	}
	data, mode := buf.Bytes(), os.FileMode(0o644)
	switch filepath.Ext(path) {
	case ".png":
	case ".json":
		data = plain.JSON(data)
	default:
		if text := buf.String(); plain.Lines(text) != text {
			data = []byte(plain.Lines(text))
		}
	}
	if private(filepath.Dir(path)) {
		mode = 0o600
	}
	tmp := path + ".part"
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/series"
)

// tests are those that a run may carry, in their order.
var tests = []string{report.Bounded, report.Unbounded}

// pageRefs names the pages of a run.
func pageRefs(d report.RunData) (out []report.PageRef) {
	spans := testSpans(d.Manifest)
	for _, test := range tests {
		if _, ok := spans[test]; ok {
			out = append(out, report.NewPageRef(d, test, report.SystemPage), report.NewPageRef(d, test, report.CoordinatorPage))
		}
	}
	return out
}

// page draws one page of a run from its series.
func page(ctx context.Context, db *series.DB, d report.RunData, ref report.PageRef, pace float64) (report.Page, error) {
	p := report.Page{PageRef: ref, Data: d}
	boards, err := dashboards()
	if err != nil {
		return p, err
	}
	x := newStretch(db, d.Manifest.Epoch, testSpans(d.Manifest)[ref.Test], max(time.Duration(float64(time.Minute)*pace), 4*time.Second))
	if ref.Kind == report.CoordinatorPage {
		if p.Panels, err = x.rulePanels(ctx); err != nil {
			return p, err
		}
	} else {
		p.Panels = serverPanels(d, ref.Test)
	}
	for _, f := range boards[ref.Kind] {
		panel, err := x.draw(ctx, f)
		if err != nil {
			return p, err
		}
		if c := d.Manifest.Capacity; f.title == "Users" && c != nil && c.Users > 0 && ref.Test == report.Unbounded {
			panel.Limit, panel.LimitName = c.Users, "the capacity"
		}
		p.Panels = append(p.Panels, panel)
	}
	return p, nil
}

// serverPanels are the ten graphs of the release reports, of this run alone.
func serverPanels(d report.RunData, test string) (out []report.Panel) {
	for _, g := range graphsOf(driverOf(d.Manifest)) {
		p := report.Panel{Group: "Server", Title: g.spec.Title, Unit: g.spec.Unit, Why: d.NoData[test][g.spec.Name]}
		if l, ok := d.Series[test][g.spec.Name]; ok {
			p.Lines, p.Why = []report.PanelLine{{Name: cmp.Or(d.Manifest.Arm, "server"), Line: l}}, ""
		}
		out = append(out, p)
	}
	return out
}

// writePages writes the pages of one run into a directory and returns their paths.
func writePages(ctx context.Context, dir string, r *record.Run) (files []string, err error) {
	if r.Manifest.State == record.Running {
		return nil, fmt.Errorf("run %s is under way or was killed; its series can be asked with plimsoll serve -prometheus", r.Manifest.ID)
	}
	p, err := plan.Parse([]byte(r.Manifest.Plan))
	if err != nil {
		p = &plan.Plan{Workload: plan.Workload{Pace: 1}} // of another version
	}
	d := report.RunData{Manifest: r.Manifest, Validity: r.Validity}
	if d.Events, err = r.Events(); err != nil {
		return nil, err
	}
	if d.Limiter, err = limiterOf(ctx, r, d.Events); err != nil {
		return nil, fmt.Errorf("limiter: %w", err)
	}
	refs := pageRefs(d)
	if len(refs) == 0 {
		return nil, fmt.Errorf("run %s ended before a test was complete, so it has no pages", r.Manifest.ID)
	}
	db, err := openSeries(r.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	read, err := readGraphs(ctx, db, r, p.Workload.Pace)
	if err != nil {
		return nil, err
	}
	d.Series, d.NoData = read.lines, read.why
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	files = make([]string, len(refs))
	return files, inParallel(len(refs), func(i int) error {
		pg, err := page(ctx, db, d, refs[i], p.Workload.Pace)
		if err != nil {
			return err
		}
		files[i] = filepath.Join(dir, refs[i].File)
		return writeFile(files[i], pg.HTML)
	})
}

// showPages writes a run's pages and says where they are.
func (a *app) showPages(ctx context.Context, dir string, r *record.Run) error {
	files, err := writePages(ctx, dir, r)
	if err != nil {
		return err
	}
	for _, f := range files {
		plain.Fprintf(a.stdout, "%v\n", f)
	}
	return nil
}

// inParallel calls f with 0 to n-1, on as many goroutines as there are cores, and returns the error of the lowest.
// After an error no further call begins.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = f(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// A namedFile is one to write, by its path below the report.
type namedFile struct {
	name  string
	write func(io.Writer) error
}

// pagesOf are the pages that a document names, drawn when they are written.
func pagesOf(ctx context.Context, doc report.Document, data []report.RunData, runs []*record.Run, pace float64) (out []namedFile) {
	for _, ref := range doc.Pages {
		i := slices.IndexFunc(data, func(d report.RunData) bool { return slices.Contains(d.Pages, ref) })
		out = append(out, namedFile{filepath.Join(report.PagesDir, ref.File), func(w io.Writer) (err error) {
			db, err := openSeries(runs[i].Dir)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			p, err := page(ctx, db, data[i], ref, pace)
			if err != nil {
				return err
			}
			return p.HTML(w)
		}})
	}
	return out
}

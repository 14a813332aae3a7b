package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/watch/series"
)

// tests are the tests that a run may carry, in their order.
var tests = []string{report.Bounded, report.Unbounded}

// pageRefs names the pages of a run.
func pageRefs(d report.RunData) (out []report.PageRef) {
	spans := testSpans(d.Manifest)
	for _, test := range tests {
		if _, ok := spans[test]; ok {
			out = append(
				out,
				report.NewPageRef(d, test, report.SystemPage),
				report.NewPageRef(d, test, report.CoordinatorPage),
			)
		}
	}
	return out
}

// page draws one page of a run from its series.
func (c *Catalog) page(
	ctx context.Context,
	db *series.DB,
	d report.RunData,
	ref report.PageRef,
	pace float64,
) (report.Page, error) {
	p := report.Page{PageRef: ref, Data: d}
	var boards map[string]Board
	var err error
	if c.Boards != nil {
		if boards, err = c.Boards(); err != nil {
			return p, err
		}
	}
	x := newStretch(
		db,
		d.Manifest.Epoch,
		testSpans(d.Manifest)[ref.Test],
		max(time.Duration(float64(time.Minute)*pace), 4*time.Second),
	)
	if ref.Kind == report.CoordinatorPage {
		if p.Panels, err = x.rulePanels(ctx); err != nil {
			return p, err
		}
	} else {
		p.Panels = c.serverPanels(d, ref.Test)
	}
	for _, f := range boards[ref.Kind] {
		panel, err := x.draw(ctx, f)
		if err != nil {
			return p, err
		}
		if found := d.Manifest.Capacity; f.title == "Users" && found != nil && found.Users > 0 &&
			ref.Test == report.Unbounded {
			panel.Limit, panel.LimitName = found.Users, "the capacity"
		}
		p.Panels = append(p.Panels, panel)
	}
	return p, nil
}

// serverPanels are the graphs of the release reports, of this run alone.
func (c *Catalog) serverPanels(d report.RunData, test string) (out []report.Panel) {
	for _, g := range c.Dialects.Graphs(driverOf(d.Manifest)) {
		p := report.Panel{
			Group: "Server",
			Title: g.Title,
			Unit:  g.Unit,
			Why:   d.NoData[test][g.Name],
		}
		if l, ok := d.Series[test][g.Name]; ok {
			p.Lines = []report.PanelLine{{Name: cmp.Or(d.Manifest.Arm, "server"), Line: l}}
			p.Why = ""
		}
		out = append(out, p)
	}
	return out
}

// Pages returns the pages of the run as files, drawn when they are written, by their names.
func (r *Run) Pages(ctx context.Context) ([]File, error) {
	if r.Manifest.State == record.Running {
		return nil, fmt.Errorf(
			"run %s is under way or was killed; its series can be asked with plimsoll serve -prometheus",
			r.Manifest.ID,
		)
	}
	d := report.RunData{Manifest: r.Manifest, Validity: r.Validity}
	var err error
	if d.Events, err = r.Events(); err != nil {
		return nil, err
	}
	if d.Limiter, err = r.Limiter(ctx, d.Events); err != nil {
		return nil, fmt.Errorf("limiter: %w", err)
	}
	refs := pageRefs(d)
	if len(refs) == 0 {
		return nil, fmt.Errorf(
			"run %s ended before a test was complete, so it has no pages",
			r.Manifest.ID,
		)
	}
	pace := r.Asked().Workload.Pace
	db, err := r.Series()
	if err != nil {
		return nil, err
	}
	drawn, err := r.Drawing(ctx, db, pace)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	d.Series, d.NoData = drawn.Lines, drawn.Why
	var out []File
	for _, ref := range refs {
		out = append(out, r.pageFile(ctx, d, ref, ref.File, pace))
	}
	return out, nil
}

// A File is one to write, by its path below the directory of a report.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// pageFile is a page of the run, which opens the run's series when it is written.
func (r *Run) pageFile(
	ctx context.Context,
	d report.RunData,
	ref report.PageRef,
	name string,
	pace float64,
) File {
	return File{name, func(w io.Writer) (err error) {
		db, err := r.Series()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		p, err := r.catalog.page(ctx, db, d, ref, pace)
		if err != nil {
			return err
		}
		return p.HTML(w)
	}}
}

// pagesOf are the pages that a document names, drawn when they are written.
func pagesOf(
	ctx context.Context,
	doc report.Document,
	data []report.RunData,
	runs []*Run,
	pace float64,
) (out []File) {
	for _, ref := range doc.Pages {
		i := slices.IndexFunc(data, func(d report.RunData) bool {
			return slices.Contains(d.Pages, ref)
		})
		out = append(
			out,
			runs[i].pageFile(ctx, data[i], ref, filepath.Join(report.PagesDir, ref.File), pace),
		)
	}
	return out
}

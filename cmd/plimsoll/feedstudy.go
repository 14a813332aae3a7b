package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	dialect "plimsoll/dialect/newsfeed"
	"plimsoll/dialect/newsfeed/study"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/store"
	"plimsoll/target"
)

// chapters are what a report says beside its own tables: of the news feed, the published study.
func chapters(ctx context.Context, st *store.Store, c *record.Comparison, p *plan.Plan) ([]report.ChapterData, error) {
	if p.Workload.Behavior != dialect.Name || p.Bounded == nil || p.Workload.Arrival != nil {
		return nil, nil
	}
	var set study.Setting
	var runs []study.Run
	judged := c.Judged()
	for _, arm := range c.Arms {
		for _, engine := range c.Engines {
			a := study.Arm{Name: strings.Trim(arm+" "+engine, " "), Label: armText(p, arm, engine, len(c.Engines) > 1)}
			for _, cell := range c.Runs {
				if cell.Arm != arm || cell.Engine != engine || !judged(cell) {
					continue
				}
				r, err := st.Run(cell.Run)
				if err != nil {
					return nil, err
				}
				x, ok, err := study.Read(r)
				if err != nil {
					return nil, err
				}
				if !ok {
					continue
				}
				if x.Shares, err = storeShares(ctx, r); err != nil {
					return nil, fmt.Errorf("run %s: %w", cell.Run, err)
				}
				x.Arm, x.Block = a.Name, cell.Block
				runs = append(runs, x)
				if d, ok := targetOf(r.Manifest); ok && a.Server == "" {
					a.Variant = study.Variant{Engine: d.Engine, Network: networkOf(d)}
					a.Server = serverOf(d)
					set.Stores = storesText(d)
				}
			}
			set.Arms = append(set.Arms, a)
		}
	}
	if len(runs) == 0 {
		return nil, nil
	}
	return []report.ChapterData{chapterOf(study.Compare(set, runs))}, nil
}

// armText names an arm, with its engine where the plan has several.
func armText(p *plan.Plan, arm, engine string, several bool) string {
	label := arm
	if a, ok := p.Compare.Arm(arm); ok && a.Version != "" {
		label = a.Version
	}
	if several {
		label += " on " + engine
	}
	return label
}

// networkOf is how the service's process is joined to the others: none is no container.
func networkOf(d target.Description) string {
	if n := d.Deployment["network"]; n != "" {
		return n
	}
	return "none"
}

// storesText names what plays the part of each store beside the database.
func storesText(d target.Description) string {
	var parts []string
	for _, role := range slices.Sorted(maps.Keys(d.Companions)) {
		c := d.Companions[role]
		parts = append(parts, role+": "+strings.TrimSpace(c.Name+" "+c.Version))
	}
	return strings.Join(parts, "; ")
}

// storeShares is which part of the service's time for requests its calls to each store took in the measured phase. The bus is behind
// the requests and has none.
func storeShares(ctx context.Context, r *record.Run) (map[string]float64, error) {
	ph, ok := r.Manifest.Phase("measure")
	if !ok {
		return nil, nil
	}
	db, err := openSeries(r.Dir)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	span := (ph.To - ph.From).Round(time.Second).String()
	at := r.Manifest.Epoch.Add(ph.To)
	whole, err := db.Query(ctx, `sum(increase(newsfeed_request_seconds_sum[`+span+`]))`, at)
	if err != nil || len(whole) != 1 || !(whole[0].Value > 0) {
		return nil, err
	}
	parts, err := db.Query(ctx, `sum by (store) (increase(newsfeed_store_seconds_sum{store!="bus"}[`+span+`]))`, at)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, x := range parts {
		if v := x.Value / whole[0].Value; v > 0 && !math.IsInf(v, 0) {
			out[x.Labels["store"]] = v
		}
	}
	return out, nil
}

// chapterOf is a chapter in the words of reports.
func chapterOf(c study.Chapter) report.ChapterData {
	out := report.ChapterData{Title: c.Title, Leads: c.Leads, Notes: c.Notes}
	for _, t := range c.Tables {
		out.Tables = append(out.Tables, report.ChapterTable{Title: t.Title, Head: t.Head, Rows: t.Rows, Notes: t.Notes})
	}
	for _, g := range c.Charts {
		x := report.ChapterGraph{Name: g.Name, Title: g.Title, Unit: g.Unit}
		for _, l := range g.Lines {
			s := report.ChapterSource{Label: l.Label, Index: l.Index}
			for _, curve := range l.Runs {
				s.Runs = append(s.Runs, report.Line{T: curve.T, V: curve.V})
			}
			x.Sources = append(x.Sources, s)
		}
		out.Graphs = append(out.Graphs, x)
	}
	return out
}

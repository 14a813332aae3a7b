package evidence

import (
	"context"
	"fmt"
	"strings"

	"plimsoll/dialect"
	"plimsoll/judge/comparison"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
)

// chapters returns the chapters that the dialect of a comparison's users adds to its report.
func (c *Catalog) chapters(
	ctx context.Context,
	stored *record.Comparison,
	p *plan.Plan,
	load comparison.Load,
) ([]dialect.Supplement, error) {
	d := c.Dialects.OfPlan(p)
	if d == nil || d.Pages == nil {
		return nil, nil
	}
	in := dialect.Compared{Plan: p}
	judged := stored.Judged()
	for _, arm := range stored.Arms {
		for _, engine := range stored.Engines {
			a := dialect.ComparedArm{
				Name:  strings.Trim(arm+" "+engine, " "),
				Label: armText(p, arm, engine, len(stored.Engines) > 1),
			}
			for _, cell := range stored.Runs {
				if cell.Arm != arm || cell.Engine != engine || !judged(cell) {
					continue
				}
				r, err := load(cell.Run)
				if err != nil {
					return nil, err
				}
				x, ok, err := judgedRun(c.Of(r))
				if err != nil {
					return nil, fmt.Errorf("run %s: %w", cell.Run, err)
				}
				if x.Block = cell.Block; ok {
					a.Runs = append(a.Runs, x)
				}
			}
			in.Arms = append(in.Arms, a)
		}
	}
	return d.Pages(ctx, in)
}

// judgedRun is a run as chapters read it; ok is false for one that was not measured.
func judgedRun(r *Run) (x dialect.JudgedRun, ok bool, err error) {
	ph, measured := r.Manifest.Phase("measure")
	if !measured {
		return x, false, nil
	}
	x = dialect.JudgedRun{ID: r.Manifest.ID, Users: ph.Users, From: ph.From, To: ph.To}
	x.EachSecond = func(fn func(second int, ws []*measure.Window) bool) error {
		_, err := r.EachSecond(fn)
		return err
	}
	told, err := r.Telemetry()
	if err != nil {
		return x, false, err
	}
	if told != nil && told.Note == "" { // else it is of the first part only
		x.EachServerSecond = r.EachTelemetrySecond
	}
	x.Query = func(ctx context.Context, queries ...string) ([][]dialect.QueryValue, error) {
		db, err := r.Series()
		if err != nil {
			return nil, err
		}
		defer db.Close()
		var out [][]dialect.QueryValue
		for _, q := range queries {
			found, err := db.Query(ctx, q, r.Manifest.Epoch.Add(ph.To))
			if err != nil {
				return nil, err
			}
			var answer []dialect.QueryValue
			for _, s := range found {
				answer = append(answer, dialect.QueryValue{Labels: s.Labels, Value: s.Value})
			}
			out = append(out, answer)
		}
		return out, nil
	}
	if d, ok := TargetOf(r.Manifest); ok {
		x.Deployed = &dialect.Deployed{
			Engine:     d.Engine,
			Server:     ServerOf(d),
			Network:    d.Deployment["network"],
			Companions: map[string]string{},
		}
		for role, c := range d.Companions {
			x.Deployed.Companions[role] = c.Full()
		}
	}
	return x, true, nil
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

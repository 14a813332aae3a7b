package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"plimsoll/evidence/origin"
	"plimsoll/internal/parallel"
	"plimsoll/judge/comparison"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// Document judges a stored comparison by its plan and gathers everything that its report is made
// of, with the pages that belong to it. It sets the Outcome of the comparison. load opens a run of
// the store.
func (c *Catalog) Document(ctx context.Context, stored *record.Comparison, p *plan.Plan,
	load comparison.Load) (report.Document, []verdict.Verdict, []File, error) {
	var none report.Document
	in := report.Input{
		Comparison:  stored,
		Plan:        p,
		Graphs:      c.GraphSpecs(p),
		Further:     ReplicaSpecs(p),
		EngineNames: map[string]string{},
	}
	runs := make([]*Run, len(stored.Runs))
	in.Runs = make([]report.RunData, len(stored.Runs))
	unaltered := comparison.Loader(stored, load)
	err := parallel.Each(len(stored.Runs), func(i int) error {
		r, err := unaltered(stored.Runs[i].Run)
		if err != nil {
			return err
		}
		runs[i] = c.Of(r)
		in.Runs[i], err = runs[i].Data(ctx, stored.Runs[i], p.Workload.Pace)
		return err
	})
	if err != nil {
		return none, nil, nil, err
	}
	opened := func(id string) (*record.Run, error) {
		for i, cell := range stored.Runs {
			if cell.Run == id {
				return runs[i].Run, nil // which caches the run
			}
		}
		return unaltered(id)
	}
	arms, databases, err := comparison.Judge(stored, p, opened, c.Secondary(ctx))
	if err != nil {
		return none, nil, nil, fmt.Errorf("judging %s: %w", stored.ID, err)
	}
	var verdicts []verdict.Verdict
	origins := origin.Origins{Comparison: stored, Run: opened, Operations: c.measuredOps}
	for _, j := range arms {
		verdicts = append(verdicts, j.Verdict)
		judged := judgedOf(j)
		if judged.Costs, err = origins.Costs(j.Engine, j.Arm, j.Verdict); err == nil {
			judged.Statements, err = origins.Statements(j.Engine, j.Arm)
		}
		if err != nil {
			return none, nil, nil, fmt.Errorf("judging %s: %w", stored.ID, err)
		}
		in.Arms = append(in.Arms, judged)
	}
	for _, j := range databases {
		in.Databases = append(in.Databases, judgedOf(j))
	}
	manifests := make([]record.Manifest, len(runs))
	for i, r := range runs {
		manifests[i] = r.Manifest
		if d, ok := TargetOf(r.Manifest); ok && d.Database != nil && stored.Runs[i].Engine != "" {
			in.EngineNames[stored.Runs[i].Engine] = ServerOf(d)
		}
	}
	in.Setup = Setup(manifests...)
	if in.Chapters, err = c.chapters(ctx, stored, p, load); err != nil {
		return none, nil, nil, fmt.Errorf("chapters of %s: %w", stored.ID, err)
	}
	if len(stored.Suspects) > 0 {
		if err := json.Unmarshal(stored.Suspects, &in.Suspects); err != nil {
			return none, nil, nil, fmt.Errorf("suspects of %s: %w", stored.ID, err)
		}
	}
	doc := report.From(in)
	if stored.Outcome, err = outcomeOf(doc); err != nil {
		return none, nil, nil, err
	}
	return doc, verdicts, pagesOf(ctx, doc, in.Runs, runs, p.Workload.Pace), nil
}

// A Conclusion is the outcome of a comparison, as comparison.json has it.
type Conclusion struct {
	Indicative bool                `json:"indicative,omitempty"`
	Verdicts   []Concluded         `json:"verdicts"`
	Limiters   []report.SearchEnds `json:"limiters,omitempty"`
}

// Concluded is the verdict on an arm on a database.
type Concluded struct {
	Engine  string          `json:"engine"`
	Arm     string          `json:"arm"`
	Verdict verdict.Verdict `json:"verdict"`
	// Why says where its differences in cost come from, as the report's first screen does.
	Why []string `json:"why,omitempty"`
}

// outcomeOf returns the outcome of a document as comparison.json keeps it, and its digest with it.
func outcomeOf(doc report.Document) (json.RawMessage, error) {
	out := Conclusion{Indicative: doc.Indicative, Limiters: doc.Limiters}
	for _, v := range doc.Verdicts {
		out.Verdicts = append(out.Verdicts, Concluded{v.Engine, v.Arm, v.Verdict, doc.WhyLines(v)})
	}
	return json.Marshal(out)
}

func judgedOf(j comparison.Judgement) report.Judged {
	out := report.Judged{Engine: j.Engine, Arm: j.Arm, Verdict: j.Verdict, Skipped: j.Skipped,
		Shifts: j.Shifts}
	if j.OtherLoad == "" {
		out.Secondary = &j.Secondary
	}
	return out
}

// Data reads the run, a cell of a comparison, for the report. pace is the pace of the comparison's
// plan.
func (r *Run) Data(ctx context.Context, cell record.ComparisonRun,
	pace float64) (d report.RunData, err error) {
	d, storms, err := r.usersAndStorms()
	d.Cell, d.Validity = cell, r.Validity
	if err != nil {
		return d, err
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
		if d.Limiter, err = r.Limiter(ctx, d.Events); err != nil {
			return d, fmt.Errorf("run %s: limiter: %w", cell.Run, err)
		}
	}
	if r.Manifest.State != record.Sealed || !cell.Counts() {
		return d, nil // no graph and no page is of it
	}
	db, err := r.Series()
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if course != nil {
		if d.Drift, err = r.drift(ctx, db, course); err != nil {
			return d, fmt.Errorf("run %s: stability: %w", cell.Run, err)
		}
	}
	if d.Waits, err = r.hostWaits(ctx, db); err != nil {
		return d, fmt.Errorf("run %s: waits of the host: %w", cell.Run, err)
	}
	drawn, err := r.Drawing(ctx, db, pace)
	d.Series, d.NoData, d.Pages = drawn.Lines, drawn.Why, pageRefs(d)
	return d, err
}

package evidence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/judge/comparison"
	"plimsoll/judge/imported"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/record"
)

// Judged judges a stored comparison by its plan and gathers the contents of the report of a judgment. With
// databasesToo, databases are compared within each arm as well. load opens a run of the store.
func (c *Catalog) Judged(ctx context.Context, stored *record.Comparison, p *plan.Plan, load func(id string) (*record.Run, error), databasesToo bool) (report.JudgeInput, error) {
	arms, databases, err := comparison.Judge(stored, p, comparison.Loader(stored, load), c.Costs(ctx))
	if err != nil {
		return report.JudgeInput{}, fmt.Errorf("judging %s: %w", stored.ID, err)
	}
	in := report.JudgeInput{Names: [2]string{stored.Arms[0], strings.Join(stored.Arms[1:], ", ")}}
	for _, j := range arms {
		if len(stored.Arms) > 2 {
			j.Verdict.Database = strings.TrimSpace(j.Engine + " " + j.Arm)
			in.Of = append(in.Of, report.JudgedOf{Engine: j.Engine, Arm: j.Arm})
		}
		in.Verdicts = append(in.Verdicts, j.Verdict)
		skipped(&in, j, arms)
		if len(stored.Arms) > 2 {
			continue // a table has one new arm
		}
		for _, r := range slices.Concat(j.Verdict.Results, j.Verdict.Aside) {
			for _, pair := range r.Pairs {
				in.Rows = append(in.Rows, imported.PairRow{Metric: r.Name, Database: j.Engine, Unit: r.Unit, Pair: pair})
			}
		}
	}
	for _, j := range databases {
		if databasesToo {
			j.Verdict.Database = fmt.Sprintf("%s against %s, %s", j.Engine, stored.Engines[0], j.Arm)
			in.Databases = append(in.Databases, j.Verdict)
			skipUnderOtherLoad(&in, j)
		}
	}
	return in, nil
}

// skipped adds the endpoints by which j was not judged; with its name where others of all were judged by them.
func skipped(in *report.JudgeInput, j comparison.Judgement, all []comparison.Judgement) {
	for name, why := range j.Skipped {
		if slices.ContainsFunc(all, func(o comparison.Judgement) bool { _, too := o.Skipped[name]; return !too }) {
			name += " of " + cmp.Or(j.Verdict.Database, j.Arm)
		}
		in.Skip(name, why)
	}
}

// skipUnderOtherLoad says why databases were compared by their capacity alone, where they were.
func skipUnderOtherLoad(in *report.JudgeInput, j comparison.Judgement) {
	if j.OtherLoad == "" {
		return
	}
	in.Skip("all but the capacity, "+j.Verdict.Database, j.OtherLoad)
}

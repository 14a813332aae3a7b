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
	"plimsoll/record"
	"plimsoll/report"
)

// Judged judges a stored comparison by its plan and makes the report of the judgment. With
// databasesToo, databases are compared within each arm as well. load opens a run of the store.
func (c *Catalog) Judged(ctx context.Context, stored *record.Comparison, p *plan.Plan,
	load comparison.Load, databasesToo bool) (report.Document, error) {
	arms, databases, err := comparison.Judge(
		stored,
		p,
		comparison.Loader(stored, load),
		c.Costs(ctx),
	)
	if err != nil {
		return report.Document{}, fmt.Errorf("judging %s: %w", stored.ID, err)
	}
	in := report.JudgeInput{Names: [2]string{stored.Arms[0], strings.Join(stored.Arms[1:], ", ")}}
	if why := stored.NotComplete(); why != "" {
		in.NotComplete = fmt.Sprintf(
			"the comparison is not complete (it %s): only the blocks that there are were judged",
			why,
		)
	}
	for i := range arms {
		j := &arms[i]
		if len(stored.Arms) > 2 {
			j.Verdict.Database = strings.TrimSpace(j.Engine + " " + j.Arm)
			continue // a table has one new arm
		}
		for _, r := range slices.Concat(j.Verdict.Results, j.Verdict.Aside) {
			for _, pair := range r.Pairs {
				in.Rows = append(in.Rows,
					imported.PairRow{Metric: r.Name, Database: j.Engine, Unit: r.Unit, Pair: pair})
			}
		}
	}
	for i := range databases {
		j := &databases[i]
		j.Verdict.Database = fmt.Sprintf("%s against %s, %s", j.Engine, stored.Engines[0], j.Arm)
	}
	return conclude(in, arms, databases, databasesToo), nil
}

// conclude makes the report of verdicts and of the figures that were not judged; a skipped figure
// by which other arms were judged is named with its database or arm.
func conclude(in report.JudgeInput, arms, databases []comparison.Judgement,
	databasesToo bool) report.Document {
	for _, j := range arms {
		in.Arms = append(in.Arms, judgedOf(j))
		for name, why := range j.Skipped {
			if slices.ContainsFunc(arms,
				func(o comparison.Judgement) bool { _, too := o.Skipped[name]; return !too }) {
				name += " of " + cmp.Or(j.Verdict.Database, j.Arm)
			}
			in.Skip(name, why)
		}
	}
	for _, j := range databases {
		if !databasesToo {
			break
		}
		in.Databases = append(in.Databases, judgedOf(j))
		if j.OtherLoad != "" {
			in.Skip("all but the capacity, "+j.Verdict.Database, j.OtherLoad)
		}
	}
	return report.FromRows(in)
}

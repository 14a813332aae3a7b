package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"plimsoll/judge/comparison"
	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// Pairs are given pairs of numbers together with the terms on which they are judged.
type Pairs struct {
	terms Terms
	input report.JudgeInput // without verdicts
	file  string            // named by errors of a table of several columns
	one   *verdict.Result
}

// ReadPairs reads a CSV of pairs, of one endpoint or several ([imported.ReadTable]). name is the
// name of its file. A [plan.UsageError] is an error of the numbers or of the terms.
func (t Terms) ReadPairs(name string, data []byte) (*Pairs, error) {
	rows, err := imported.ReadTable(bytes.NewReader(data))
	if err != nil {
		return nil, csvError(name, err)
	}
	t.Several = slices.ContainsFunc(rows, func(r imported.PairRow) bool { return r.Metric != "" })
	if t.Several {
		why := "is of a CSV without the column metric, and " + name + " has it"
		if err := t.refuse([]string{"better", "name"}, why); err != nil {
			return nil, err
		}
	}
	names, err := t.names([2]string{"base", "new"})
	if err != nil {
		return nil, err
	}
	p := &Pairs{terms: t, input: report.JudgeInput{Names: names, Rows: rows}, file: name}
	if !slices.ContainsFunc(rows, hasMore) {
		if err := p.judgeOne(); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		if rows[i].Metric == "" {
			rows[i].Metric = t.Name
		}
		if rows[i].Unit == "" {
			rows[i].Unit = t.Unit
		}
	}
	return p, nil
}

// hasMore reports whether a row has more than a pair of numbers.
func hasMore(r imported.PairRow) bool {
	return r.Metric+r.Database+r.Unit+r.Withheld+r.First != "" || r.BaseOps+r.NewOps > 0
}

// judgeOne judges the pairs of one endpoint, without columns beside them.
func (p *Pairs) judgeOne() error {
	e, err := p.terms.endpoint("", "")
	if err != nil {
		return err
	}
	var pairs []verdict.Pair
	for _, r := range p.input.Rows {
		pairs = append(pairs, r.Pair)
	}
	names := p.input.Names
	r := verdict.Judge(e, pairs, verdict.Options{BaseName: names[0], NewName: names[1]})
	p.one, p.file = &r, ""
	return nil
}

func csvError(name string, err error) error {
	if bad := (*imported.CSVError)(nil); errors.As(err, &bad) {
		return plan.Usagef("%s: %w", name, err)
	}
	return fmt.Errorf("reading %s: %w", name, err)
}

// PairRuns pairs runs of another tool, or stored ones, which were read from sources. Its errors are
// usage errors.
func (t Terms) PairRuns(runs []record.Imported, sources []report.Source) (*Pairs, error) {
	why := "applies to a CSV of pairs only: files of a tool name their metrics"
	if err := t.refuse([]string{"better", "name", "unit"}, why); err != nil {
		return nil, err
	}
	t.Several = true
	for _, g := range runs {
		if g.ErrorMargin > 0 && (t.errors == 0 || g.ErrorMargin < t.errors) {
			t.errors = g.ErrorMargin
		}
	}
	paired, err := comparison.PairImported(runs, t.endpoint)
	if err != nil {
		return nil, plan.UsageError{Err: err}
	}
	in := report.JudgeInput{
		Rows:     paired.Rows,
		Asides:   paired.Asides,
		Skipped:  paired.Skipped,
		Warnings: paired.Warnings,
		Sources:  sources,
	}
	if in.Names, err = t.names(paired.Names); err != nil {
		return nil, err
	}
	if len(in.Rows) == 0 {
		for _, name := range slices.Sorted(maps.Keys(in.Skipped)) {
			return nil, plan.Usagef("there is nothing to judge: %s: %s", name, in.Skipped[name])
		}
		return nil, plan.Usagef(
			"there is nothing to judge: no file has a figure that a verdict can rest on " +
				"(capacity, throughput, errors, p95, p99)",
		)
	}
	return &Pairs{terms: t, input: in}, nil
}

// One returns the result of the pairs of one endpoint without columns beside them; nil for all
// others.
func (p *Pairs) One() *verdict.Result { return p.one }

// OneText writes the result of [Pairs.One] for a terminal, with the blocks that would decide it if
// it is inconclusive.
func (p *Pairs) OneText(w io.Writer) error {
	err := verdict.Text(w, *p.one)
	if err == nil && p.one.Kind == verdict.Inconclusive {
		err = report.BlocksText(w, *p.one)
	}
	return err
}

// Judged judges the pairs and makes the report of the judgment. With databasesToo, databases are
// compared within each arm as well.
func (p *Pairs) Judged(databasesToo bool) (report.Document, error) {
	in := p.input
	arms, databases, err := comparison.JudgeRows(in.Rows, in.Names, p.terms.endpoint)
	if err == nil {
		err = p.terms.checkMargins(in)
	}
	if err != nil {
		if usage := (plan.UsageError{}); p.file != "" && errors.As(err, &usage) {
			err = plan.Usagef("%s: %w", p.file, err)
		}
		return report.Document{}, err
	}
	in.Skipped = maps.Clone(in.Skipped)
	in.Rows = slices.DeleteFunc(slices.Clone(in.Rows),
		func(r imported.PairRow) bool { return !r.HasPair() })
	return conclude(in, arms, databases, databasesToo), nil
}

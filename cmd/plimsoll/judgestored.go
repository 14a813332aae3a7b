package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"plimsoll/comparison"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/store"
	"plimsoll/verdict"
)

// judgeStored judges a stored comparison again, and leaves its report alone.
func (a *app) judgeStored(n *numbers, id string) error {
	st, err := openStored(*n.root, id)
	if err != nil {
		return err
	}
	c, err := st.Comparison(id)
	if errors.Is(err, store.ErrNotFound) {
		return usagef("%s: there is no such file, and no such comparison in %s", id, *n.root)
	}
	if err != nil {
		return usageError{err}
	}
	if err := n.refuse("a stored comparison is judged"); err != nil {
		return err
	}
	p, err := plan.Parse([]byte(c.Plan))
	if err != nil {
		return fmt.Errorf("the stored plan of %s: %w", c.ID, err)
	}
	arms, databases, err := comparison.Judge(c, p, st.Run)
	if err != nil {
		return fmt.Errorf("judging %s: %w", c.ID, err)
	}
	in := report.JudgeInput{Names: [2]string{c.Arms[0], strings.Join(c.Arms[1:], ", ")}, Skipped: map[string]string{}}
	if why := notComplete(c); why != "" {
		in.NotComplete = fmt.Sprintf("the comparison is not complete (it %s): only the blocks that there are were judged", why)
	}
	for _, j := range arms {
		if len(c.Arms) > 2 {
			j.Verdict.Database = strings.TrimSpace(j.Engine + " " + j.Arm)
			in.Of = append(in.Of, report.JudgedOf{Engine: j.Engine, Arm: j.Arm})
		}
		in.Verdicts = append(in.Verdicts, j.Verdict)
		for name, why := range j.Skipped {
			if slices.ContainsFunc(arms, func(o comparison.Judgement) bool { _, too := o.Skipped[name]; return !too }) {
				name += " of " + cmp.Or(j.Verdict.Database, j.Arm) // others were judged by it
			}
			in.Skipped[name] = why
		}
		if len(c.Arms) > 2 {
			continue // a table has one new arm
		}
		for _, r := range j.Verdict.Results {
			for _, pair := range r.Pairs {
				in.Rows = append(in.Rows, verdict.Row{Metric: r.Name, Database: j.Engine, Unit: r.Unit, Pair: pair})
			}
		}
	}
	for _, j := range databases {
		if *n.databases {
			j.Verdict.Database = fmt.Sprintf("%s against %s, %s", j.Engine, c.Engines[0], j.Arm)
			in.Databases = append(in.Databases, j.Verdict)
		}
	}
	return a.writeJudged(n, in)
}

// openStore opens a store that is there; it does not make one.
func openStore(root string) (*store.Store, error) {
	if _, err := os.Stat(root); err != nil {
		return nil, err
	}
	return store.Open(root)
}

// openStored opens the store that is to have what a verb was given by its id, when there is no file of that name.
func openStored(root, name string) (*store.Store, error) {
	st, err := openStore(root)
	if err != nil {
		return nil, usagef("%s: there is no such file, and no store in %s to have such a comparison", name, root)
	}
	return st, nil
}

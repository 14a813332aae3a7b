package read

import (
	"context"
	"os"
	"strconv"
	"strings"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/evidence"
	"plimsoll/plan"
	"plimsoll/record"
)

// storedArms returns the entries of -base and -new if each of them stands for a stored run: there
// is no file of its name.
func storedArms(base, fresh string) (b, n []string, ok bool) {
	all := [2][]string{}
	for i, list := range []string{base, fresh} {
		for entry := range strings.SplitSeq(list, ",") {
			name := strings.TrimSpace(entry)
			_, bare, _ := numbered(name)
			if name == "" || isFile(name) || isFile(bare) {
				return nil, nil, false
			}
			all[i] = append(all[i], name)
		}
	}
	return all[0], all[1], true
}

// numbered splits an entry such as 3=NAME.
func numbered(entry string) (pair int, name string, ok bool) {
	if number, rest, found := strings.Cut(entry, "="); found {
		if v, err := strconv.Atoi(number); err == nil {
			return v, rest, true
		}
	}
	return 0, entry, false
}

// gather makes the report of a comparison of stored runs that were not made as one, or of some runs
// of one. Nothing is added to the store.
func gather(ctx context.Context, a *app.App, n *numbers, base, fresh []string) error {
	if err := n.refuse("stored runs are reported", "databases"); err != nil {
		return err
	}
	f := newFiles(a, n)
	var arms [2][]*record.Run
	for i, names := range [][]string{base, fresh} {
		for _, name := range names {
			if pair, bare, ok := numbered(name); ok {
				return plan.Usagef(
					"%d=%s: the blocks of stored runs are their order in time; leave out the numbers, or judge the numbers of the runs alone (judge -base -new)",
					pair,
					bare,
				)
			}
			info, err := os.Stat(name)
			r, err := f.run(name, err == nil && info.IsDir())
			if err != nil {
				return err
			}
			arms[i] = append(arms[i], r)
		}
	}
	g, err := evidence.Gather(arms[0], arms[1])
	if err != nil {
		return plan.UsageError{Err: err}
	}
	if err := n.output.withTexts(g.Plan); err != nil {
		return err
	}
	doc, verdicts, pages, err := a.Catalog().Document(ctx, g.Comparison, g.Plan, g.Load)
	if err != nil {
		return err
	}
	if *n.output.out == "" {
		a.Tellf(
			"plimsoll: nothing is written: -out DIR writes all forms of the report, with graphs and pages\n",
		)
	}
	if err := writeDocument(a, n, doc, pages); err != nil {
		return err
	}
	return exit.With(exit.Compared(doc, verdicts))
}

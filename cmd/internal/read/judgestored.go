package read

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"plimsoll/cmd/internal/app"
	"plimsoll/evidence"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
)

// judgeStored judges a stored comparison again, and leaves its report alone.
func judgeStored(a *app.App, n *numbers, name string) error {
	st, id, err := openStored(*n.root, name, "comparisons")
	if err != nil {
		return err
	}
	c, err := st.Comparison(id)
	if errors.Is(err, store.ErrNotFound) {
		return notThere(name, "no such comparison in "+*n.root)
	}
	if err != nil {
		return plan.UsageError{Err: err}
	}
	if err := n.refuse("a stored comparison is judged"); err != nil {
		return err
	}
	p, err := PlanOf(a, c)
	if err != nil {
		return err
	}
	d, err := a.Catalog().Judged(context.Background(), c, p, st.Run, *n.databases)
	if err != nil {
		return err
	}
	return writeJudged(a, n, d)
}

// PlanOf is the plan of a stored comparison. It warns of one whose file carries no digests.
func PlanOf(a *app.App, c *record.Comparison) (*plan.Plan, error) {
	p, err := evidence.PlanOf(c)
	if err == nil && c.Undigested {
		a.Tellf("plimsoll: comparison %s is of an earlier version and carries no digests: its plan is held against its runs, but a change of its list of runs or looks would not be seen\n",
			c.ID)
	}
	return p, err
}

// openStore opens a store that is there; it does not make one.
func openStore(root string) (*store.Store, error) {
	if _, err := os.Stat(root); err != nil {
		return nil, err
	}
	return store.Open(root)
}

// openStored opens the store that should hold the argument of a verb, when there is no file of that
// name, and returns the id of it there: the directory of a comparison in that store stands for its
// id, and "last" for the id of the comparison, or other kind, that began last.
func openStored(root, name string, kinds ...string) (st *store.Store, id string, err error) {
	id = name
	if isComparison(name) {
		if id, err = comparisonIn(root, name); err != nil {
			return nil, "", err
		}
	}
	if st, err = openStore(root); err != nil {
		return nil, "", notThere(name, "no store in "+root+" to have such a comparison")
	}
	if id == "last" {
		if id, err = st.Last(kinds...); err != nil {
			return nil, "", plan.UsageError{Err: err}
		}
	}
	return st, id, nil
}

// isComparison reports whether dir is the directory of a comparison in some store. Other tools have
// a comparison.json, too.
func isComparison(dir string) bool {
	abs, err := filepath.Abs(dir) // which has a name, also for "."
	return err == nil && filepath.Base(filepath.Dir(abs)) == "comparisons" &&
		isFile(filepath.Join(abs, "comparison.json"))
}

// comparisonIn returns the id of the comparison whose directory dir is, which has to be in the
// store of root.
func comparisonIn(root, dir string) (id string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	home := filepath.Dir(filepath.Dir(abs))
	own, err := os.Stat(home)
	if err != nil {
		return "", plan.UsageError{Err: err}
	}
	if given, err := os.Stat(root); err != nil || !os.SameFile(own, given) {
		return "", plan.Usagef("%s is in another store than %s: add -store %s", dir, root, home)
	}
	return filepath.Base(abs), nil
}

// notThere is the error of a name that is neither a file nor stored; nothing names the other kinds
// that were not found.
func notThere(name, nothing string) error {
	if fi, err := os.Stat(name); err == nil && fi.IsDir() {
		return plan.Usagef(
			"%s is a directory, and there is %s: give files, or what is stored by its id",
			name,
			nothing,
		)
	}
	return plan.Usagef("%s: there is no such file, and %s", name, nothing)
}

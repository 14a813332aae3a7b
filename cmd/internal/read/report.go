// Package read holds the verbs that read what is recorded: report, judge, ls and show. It carries
// out nothing.
package read

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
)

// Report renders a stored comparison again, or imported numbers.
func Report(ctx context.Context, a *app.App) error {
	if len(a.Given) > 0 && a.Given[0] == "trend" {
		a.Given = a.Given[1:]
		return trend(ctx, a)
	}
	n := numbersFlags(a)
	n.output.textsFlag(a.Flags)
	rest, err := a.Parse(0, comparison.MostGiven)
	if err != nil {
		return err
	}
	if err := n.output.check(compared, *n.asJSON, false); err != nil {
		return err
	}
	if base, fresh, ok := storedArms(*n.base, *n.fresh); ok && len(rest) == 0 {
		return gather(ctx, a, n, base, fresh)
	}
	if *n.base != "" || *n.fresh != "" || len(rest) > 0 && isFile(rest[0]) {
		if *n.output.texts != "" {
			return plan.Usagef(
				"-texts are of the report of a stored comparison or of stored runs; that of given numbers has no comments",
			)
		}
		n.markdown = *n.output.print == ""
		return judgeNumbers(a, n, rest)
	}
	if len(rest) != 1 {
		return plan.Usagef(
			"%d arguments, want the id of a comparison or sizing, the word last, or numbers as judge takes them; see plimsoll report -h",
			len(rest),
		)
	}
	return reportStored(ctx, a, n, rest[0])
}

// reportStored renders a stored comparison or sizing.
func reportStored(ctx context.Context, a *app.App, n *numbers, name string) error {
	st, id, err := openStored(*n.root, name, "comparisons", "sizings")
	if err != nil {
		return err
	}
	c, err := st.Comparison(id)
	if errors.Is(err, store.ErrNotFound) {
		return reportSizing(ctx, a, n, st, id, name)
	}
	if err != nil {
		return plan.UsageError{Err: err}
	}
	if err := n.refuse("a stored comparison is reported", "databases"); err != nil {
		return err
	}
	if *n.output.out != "" || *n.output.print != "" {
		return render(ctx, a, st, c, n)
	}
	return reportAgain(ctx, a, n, st, c)
}

// reportSizing renders a stored sizing.
func reportSizing(
	ctx context.Context,
	a *app.App,
	n *numbers,
	st *store.Store,
	id, name string,
) error {
	z, err := st.Sizing(id)
	if errors.Is(err, store.ErrNotFound) {
		return notThere(name, "no such comparison or sizing in "+*n.root)
	}
	if err != nil {
		return plan.UsageError{Err: err}
	}
	if n.output.given() {
		return plan.Usagef(
			"-out, -print and -texts are of comparisons; the forms of a sizing are in %s",
			st.SizingDir(z.ID),
		)
	}
	if err := n.refuse("a stored sizing is graded", "databases"); err != nil {
		return err
	}
	return ConcludeSizing(ctx, a, st, z, *n.asJSON)
}

// reportAgain writes the report beside a comparison anew and prints its screen. A store that takes
// nothing is read all the same.
func reportAgain(
	ctx context.Context,
	a *app.App,
	n *numbers,
	st *store.Store,
	c *record.Comparison,
) error {
	unlock, err := st.LockComparison(c.ID)
	if errors.Is(err, store.ErrBusy) {
		return plan.Usagef(
			"comparison %s is under way, and its report is written at its end; -print markdown or -out DIR shows the results so far",
			c.ID,
		)
	}
	if unwritable(err) && *n.output.texts == "" {
		return onlyShow(ctx, a, st, c, n, err)
	}
	if err != nil {
		return err
	}
	defer unlock()
	if c, err = st.Comparison(c.ID); err != nil { // it may have ended since
		return err
	}
	if *n.output.texts != "" { // the report beside the comparison, with them
		return render(ctx, a, st, c, n)
	}
	status, _, err := Conclude(ctx, a, st, c, *n.asJSON)
	if unwritable(err) {
		return onlyShow(ctx, a, st, c, n, err)
	}
	if err != nil {
		return err
	}
	return exit.With(status)
}

// unwritable reports whether an error is of a file system that takes nothing: full, read-only or
// not ours.
func unwritable(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, fs.ErrPermission} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// notWritten is the message for a report that cannot be kept.
const notWritten = "plimsoll: %v; the report is shown and was not written: files of an earlier one are as they were\n"

// onlyShow shows the report of a comparison whose directory cannot be written. The status is that
// of the verdict; a message reports that the report is not kept.
func onlyShow(
	ctx context.Context,
	a *app.App,
	st *store.Store,
	c *record.Comparison,
	n *numbers,
	why error,
) error {
	a.Tellf(notWritten, why)
	*n.output.print = formOr(*n.asJSON, "screen")
	return render(ctx, a, st, c, n)
}

func isFile(name string) bool {
	fi, err := os.Stat(name)
	return name == "-" || err == nil && !fi.IsDir()
}

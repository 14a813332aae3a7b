package read

import (
	"context"
	"path/filepath"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
)

// ConcludeSizing writes all forms of the report, prints one, and returns its status.
func ConcludeSizing(
	ctx context.Context,
	a *app.App,
	st *store.Store,
	z *record.Sizing,
	asJSON bool,
) error {
	d, err := a.Catalog().Sizing(ctx, z, st.Run)
	if err != nil {
		return err
	}
	dir := st.SizingDir(z.ID)
	written := writeReport(dir, d, nil)
	if written != nil && !unwritable(written) {
		return written
	}
	if asJSON {
		err = report.JSON(a.Stdout, d)
	} else {
		err = report.Screen(a.Stdout, d, 0)
	}
	if err != nil {
		return err
	}
	if written != nil {
		a.Tellf(notWritten, written)
	} else {
		a.Tellf("report: %s (and .html, .csv, .json)\n", filepath.Join(dir, "report.md"))
	}
	if z.State != record.Sealed {
		a.Tellf("plimsoll: the steps were interrupted: %s\n", z.Why)
	}
	for _, w := range d.Sizing.LostWarnings() {
		a.Tellf("plimsoll: %s\n", w)
	}
	return exit.With(exit.Sized(z.State, d.Sizing))
}

package read

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/plain"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
)

// ConcludeSizing writes all forms of the report, prints one, and returns its status.
func ConcludeSizing(ctx context.Context, a *app.App, st *store.Store, z *record.Sizing, asJSON bool) error {
	d, err := a.Catalog().Sizing(ctx, z, st.Run)
	if err != nil {
		return err
	}
	dir := st.SizingDir(z.ID)
	forms := map[string]func(io.Writer) error{
		"report.md": func(w io.Writer) error { return report.Markdown(w, d) }, "report.html": func(w io.Writer) error { return report.HTML(w, d) },
		"report.csv": func(w io.Writer) error { return report.SizingCSV(w, d) }, "report.json": func(w io.Writer) error { return report.JSON(w, d) },
	}
	written := app.MakeDir(dir)
	for name, write := range forms {
		if written == nil {
			if written = app.WriteFile(filepath.Join(dir, name), write); written != nil {
				written = fmt.Errorf("report %s: %w", name, written)
			}
		}
	}
	if written != nil && !unwritable(written) {
		return written
	}
	show := func(w io.Writer) error { return report.SizingScreen(w, d, 0) }
	if asJSON {
		show = forms["report.json"]
	}
	if err := show(a.Stdout); err != nil {
		return err
	}
	if written != nil {
		plain.Fprintf(a.Stderr, notWritten, written)
	} else {
		plain.Fprintf(a.Stderr, "report: %s (and .html, .csv, .json)\n", filepath.Join(dir, "report.md"))
	}
	if z.State != record.Sealed {
		plain.Fprintf(a.Stderr, "plimsoll: the steps were interrupted: %s\n", z.Why)
	}
	for _, w := range d.LostWarnings() {
		plain.Fprintf(a.Stderr, "plimsoll: %s\n", w)
	}
	return exit.With(exit.Sized(z.State, d))
}

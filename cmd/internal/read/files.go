package read

import (
	"fmt"
	"path/filepath"

	"plimsoll/cmd/internal/app"
	"plimsoll/evidence"
	"plimsoll/internal/parallel"
	"plimsoll/report"
)

// writeReport writes all forms of a document into a directory, with the files that belong to it.
// Each file appears whole.
func writeReport(dir string, doc report.Document, more []evidence.File) error {
	files := more
	for _, f := range doc.Forms() {
		if f.File != "" {
			files = append(files, evidence.File{Name: f.File, Write: f.Write})
		}
	}
	for _, f := range files {
		if err := app.MakeDir(filepath.Dir(filepath.Join(dir, f.Name))); err != nil {
			return err
		}
	}
	return parallel.Each(len(files), func(i int) error {
		if err := app.WriteFile(filepath.Join(dir, files[i].Name), files[i].Write); err != nil {
			return fmt.Errorf("report %s: %w", files[i].Name, err)
		}
		return nil
	})
}

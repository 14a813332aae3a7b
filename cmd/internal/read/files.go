package read

import (
	"fmt"
	"path/filepath"
	"strings"

	"plimsoll/cmd/internal/app"
	"plimsoll/evidence"
	"plimsoll/internal/parallel"
	"plimsoll/report"
)

// writeReport writes all forms of a document into a directory, with the files that belong to it. Each file
// appears whole.
func writeReport(dir string, doc report.Document, more []evidence.File) error {
	var files []evidence.File
	for _, f := range documentForms(doc) {
		if f.file != "" {
			files = append(files, evidence.File{Name: f.file, Write: f.write})
		}
	}
	for _, g := range report.Graphs(doc) {
		name := filepath.Join("graphs", g.File)
		files = append(files, evidence.File{Name: name, Write: g.PNG}, evidence.File{Name: strings.TrimSuffix(name, ".png") + ".svg", Write: g.SVG})
	}
	if picture := doc.Answer(); !picture.Empty() {
		name := filepath.Join("graphs", report.AnswerFile)
		files = append(files, evidence.File{Name: name + ".png", Write: picture.PNG}, evidence.File{Name: name + ".svg", Write: picture.SVG})
	}
	files = append(files, more...)
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

package verbs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"plimsoll/evidence"
	"plimsoll/internal/files"
	"plimsoll/internal/parallel"
	"plimsoll/internal/plain"
	"plimsoll/report"
)

// writeReport writes all forms of a document into a directory, with the files that belong to it. Each file
// appears whole.
func writeReport(dir string, doc report.Document, more []evidence.File) error {
	files := more
	for _, f := range doc.Forms() {
		if f.File != "" {
			files = append(files, evidence.File{Name: f.File, Write: f.Write})
		}
	}
	for _, f := range files {
		if err := makeDir(filepath.Dir(filepath.Join(dir, f.Name))); err != nil {
			return err
		}
	}
	return parallel.Each(len(files), func(i int) error {
		if err := writeFile(filepath.Join(dir, files[i].Name), files[i].Write); err != nil {
			return fmt.Errorf("report %s: %w", files[i].Name, err)
		}
		return nil
	})
}

// makeDir makes a directory for reports with its missing parents: for this user alone where the one that is there is.
func makeDir(dir string) error {
	there := dir
	for !files.IsDir(there) && filepath.Dir(there) != there {
		there = filepath.Dir(there)
	}
	mode := os.FileMode(0o755)
	if private(there) {
		mode = 0o700
	}
	return os.MkdirAll(dir, mode)
}

// private reports whether only its owner may use a directory, as those of a store.
func private(dir string) bool {
	fi, err := os.Stat(dir)
	return err == nil && fi.Mode().Perm()&0o077 == 0
}

// writeFile writes a file whole: without a control character unless it is an image, and for this user alone in a
// directory that is.
func writeFile(path string, write func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return err
	}
	data, mode := buf.Bytes(), os.FileMode(0o644)
	switch filepath.Ext(path) {
	case ".png":
	case ".json":
		data = plain.JSON(data)
	default:
		if text := buf.String(); plain.Lines(text) != text {
			data = []byte(plain.Lines(text))
		}
	}
	if private(filepath.Dir(path)) {
		mode = 0o600
	}
	return files.ReplaceMode(path, data, mode)
}

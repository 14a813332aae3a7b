package app

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
)

// MakeDir makes a directory for reports with its missing parents: for this user alone where the one
// that is there is.
func MakeDir(dir string) error {
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

// WriteFile writes a file whole: without a control character unless it is an image, and for this
// user alone in a directory that is.
func WriteFile(path string, write func(io.Writer) error) error {
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
		data = []byte(plain.Lines(buf.String()))
	}
	if private(filepath.Dir(path)) {
		mode = 0o600
	}
	return files.ReplaceMode(path, data, mode)
}

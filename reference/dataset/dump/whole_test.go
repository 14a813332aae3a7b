package dump_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/reference/dataset/dump"
)

// TestADumpThatWasCopiedInPart: a file that is missing or short is found before a server starts on
// the dump.
func TestADumpThatWasCopiedInPart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	data, _, err := dump.Create(dir)
	noError(t, err)
	rows := []byte("rows")
	noError(
		t,
		errors.Join(os.Mkdir(data, 0o755), os.WriteFile(filepath.Join(data, "table"), rows, 0o644)),
	)
	d, err := dump.Seal(t.Context(), dir, dump.Manifest{Engine: "mysql"})
	noError(t, err)
	noError(t, failure.Of(dump.For(dir, "mysql")))
	for want, breaks := range map[string]func(path string) error{
		"data/table has 3 bytes, the manifest has 4": func(path string) error {
			return os.Truncate(path, 3)
		},
		"data/table is missing": os.Remove,
	} {
		path := filepath.Join(d.Data(), "table")
		noError(t, errors.Join(os.WriteFile(path, rows, 0o644), breaks(path)))
		failure.Says(t, failure.Of(dump.For(dir, "mysql")), dir+" is not whole: "+want)
	}
}

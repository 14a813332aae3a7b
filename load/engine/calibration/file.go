package calibration

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"plimsoll/internal/built"
	"plimsoll/internal/files"
)

// File is the name of the file in a directory that keeps the results of all hosts that used the
// directory.
const File = "calibration.json"

// mostKept is the largest number of results in a file: each build of the program has its own.
const mostKept = 64

// file is its form.
type file struct {
	Format int               `json:"format"`
	Hosts  map[string]Result `json:"hosts"` // by digest
}

const format = 1

// Load returns the result for a host, and false if there is none. A file that cannot be understood
// is an error.
func Load(dir, digest string) (Result, bool, error) {
	f, err := read(dir)
	if err != nil {
		return Result{}, false, err
	}
	r, ok := f.Hosts[digest]
	return r, ok && r.Digest == digest && r.PacedOps > 0 && r.OpsPerSecond > 0, nil
}

// Save keeps a result beside the newest of other hosts and builds. Of two programs that save at
// once, one wins.
func Save(dir string, r Result) error {
	f, err := read(dir)
	if err != nil {
		f = file{Hosts: map[string]Result{}} // nothing in it can be used
	}
	f.Format = format
	f.Hosts[r.Digest] = r
	for len(f.Hosts) > mostKept {
		oldest := slices.MinFunc(slices.Collect(maps.Values(f.Hosts)), func(a, b Result) int {
			return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Digest, b.Digest))
		})
		delete(f.Hosts, oldest.Digest)
	}
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	if err := files.Replace(files.OS{}, filepath.Join(dir, File), append(b, '\n')); err != nil {
		return fmt.Errorf("keeping the calibration: %w", err)
	}
	return nil
}

func read(dir string) (file, error) {
	path := filepath.Join(dir, File)
	b, err := files.Read(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return file{Hosts: map[string]Result{}}, nil
	}
	if err != nil {
		return file{}, fmt.Errorf("reading the calibration: %w", err)
	}
	if err := built.NewerJSON(b, "", format); err != nil {
		return file{}, fmt.Errorf("%s: %w", path, err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return file{}, fmt.Errorf(
			"%s: %w; remove the file, or measure again with calibrate -force",
			path,
			err,
		)
	}
	if f.Format != format {
		return file{}, fmt.Errorf(
			"%s has format %d, want %d; measure again with calibrate -force",
			path,
			f.Format,
			format,
		)
	}
	if f.Hosts == nil {
		f.Hosts = map[string]Result{}
	}
	return f, nil
}

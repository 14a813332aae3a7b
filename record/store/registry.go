package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"plimsoll/internal/files"
	"plimsoll/record"
)

// registryFile holds one line of JSON for each metric of each comparison of a build with itself.
const registryFile = "aa.jsonl"

// AddAA appends lines to the registry of comparisons of a build with itself, in one write that is
// on disk when it returns. Several processes may add at a time. A line that a killed writer left
// unfinished stays alone on its line, and AA skips it.
func (s *Store) AddAA(lines ...record.AA) (err error) {
	if len(lines) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, l := range lines {
		for _, v := range []float64{l.SD, l.Effect, l.Lo, l.Hi} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("registry: %s of %s is no number", l.Metric, l.Comparison)
			}
		}
		j, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("registry: %w", err)
		}
		b.Write(append(j, '\n'))
	}
	f, err := os.OpenFile(
		filepath.Join(s.root, registryFile),
		os.O_RDWR|os.O_CREATE|os.O_APPEND,
		fileMode,
	)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// The lock ends with the file, or with the process. It is held for one write.
	if err := flock(f, syscall.LOCK_EX); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	text := b.Bytes()
	if torn, err := endsTorn(f); err != nil {
		return fmt.Errorf("registry: %w", err)
	} else if torn {
		text = append([]byte{'\n'}, text...)
	}
	if _, err := f.Write(text); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	return errors.Join(f.Sync(), s.disk.Sync(s.root)) // the name of a file that is new, too
}

// endsTorn reports whether the last line of a file is not finished.
func endsTorn(f *os.File) (bool, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// AA returns the lines of the registry, oldest first: of each comparison, database, arm and metric
// the last. Lines that cannot be read are passed over and named in the warnings. A store without a
// registry has no lines.
func (s *Store) AA() (lines []record.AA, warnings []error, err error) {
	path := filepath.Join(s.root, registryFile)
	b, err := files.Read(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	type key struct{ comparison, engine, arm, metric string }
	at := map[key]int{}
	n := 0
	for text := range bytes.Lines(b) {
		n++
		var l record.AA
		if err := json.Unmarshal(text, &l); err != nil || text[len(text)-1] != '\n' ||
			l.Comparison == "" ||
			l.Pairs < 2 ||
			!(l.SD >= 0) {
			if len(bytes.TrimSpace(text)) > 0 {
				warnings = append(
					warnings,
					fmt.Errorf("%s:%d: not a line of the registry; it is passed over", path, n),
				)
			}
			continue
		}
		k := key{l.Comparison, l.Engine, l.Arm, l.Metric}
		if i, ok := at[k]; ok {
			lines[i] = l
			continue
		}
		at[k] = len(lines)
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b record.AA) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Comparison, b.Comparison))
	})
	return lines, warnings, nil
}

// ErrBusy reports a comparison that another process is carrying out.
var ErrBusy = errors.New("another process is carrying it out")

// LockComparison keeps other processes from carrying out the comparison until unlock is called or
// this process ends, however it does. The error wraps [ErrBusy] when one is at it.
func (s *Store) LockComparison(id string) (unlock func(), err error) {
	return s.lock("comparison "+id, s.ComparisonDir(id))
}

// LockBisection is LockComparison for a bisection.
func (s *Store) LockBisection(id string) (unlock func(), err error) {
	return s.lock("bisection "+id, s.BisectionDir(id))
}

// BisectionDir returns the directory of a bisection: its file and its report.
func (s *Store) BisectionDir(id string) string { return filepath.Join(s.root, "bisections", id) }

// lock locks a directory, which is made when it is missing.
func (s *Store) lock(what, dir string) (unlock func(), err error) {
	if err := files.MkdirAll(s.disk, dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", what, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

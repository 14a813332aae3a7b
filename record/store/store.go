// Package store keeps runs and comparisons on disk, and finds them again.
//
// A store is a directory: runs/<id>/ and comparisons/<id>/ are the truth, index.json is a copy of
// their manifests, brought up to date by every [Store.List] and safe to delete. A run that was
// killed is listed like any other; it is not valid.
//
// The package does not judge and does not render. Several processes may use one store at a time.
package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/record"
	"plimsoll/target/lab"
)

// ErrNotFound reports an id that the store does not hold.
var ErrNotFound = errors.New("not in the store")

// A Store is a directory of runs and comparisons. It is safe for concurrent use.
type Store struct {
	root    string
	disk    record.Disk
	secrets *plain.Secrets
}

// fileMode limits access to this user: the files hold answers of a target.
const fileMode = 0o600

// Hide removes the secrets from everything written after the call. It must be called before the
// store is used.
func (s *Store) Hide(secrets *plain.Secrets) { s.secrets = secrets }

// Open returns the store in root, which is made when it is missing, for this user alone. As root it
// can be passed through, and not listed, by the users as which databases run that refuse root:
// their state may lie below it. Nothing else is written before something is kept in the store, so
// that one on a full or read-only file system can be read.
func Open(root string) (*Store, error) { return OpenOn(record.OS{}, root) }

// OpenOn is Open on a disk.
func OpenOn(disk record.Disk, root string) (*Store, error) {
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		if err := lab.MkdirState(root); err != nil {
			return nil, fmt.Errorf("opening store: %w", err)
		}
		if err := disk.Sync(filepath.Dir(root)); err != nil {
			return nil, fmt.Errorf("opening store: %w", err)
		}
	}
	return &Store{root: root, disk: disk}, nil
}

// Root returns the store's directory.
func (s *Store) Root() string { return s.root }

var unsafeID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// NewID returns a fresh id: the moment in UTC, the name, and four random digits.
func NewID(now time.Time, name string) string {
	var b [2]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand never fails on a system that runs
	}
	name = strings.Trim(unsafeID.ReplaceAllString(name, "-"), "-.")
	if len(name) > 40 {
		name = name[:40]
	}
	return now.UTC().Format("20060102-150405") + "-" + name + "-" + hex.EncodeToString(b[:])
}

// Create opens a new run for writing under m.ID.
func (s *Store) Create(m record.Manifest) (*record.Writer, error) {
	if m.ID == "" || m.ID != filepath.Base(m.ID) || unsafeID.MatchString(m.ID) ||
		strings.HasPrefix(m.ID, ".") {
		return nil, fmt.Errorf("bad run id %q", m.ID)
	}
	return record.CreateOn(s.disk, s.runDir(m.ID), m, s.secrets)
}

func (s *Store) runDir(id string) string { return filepath.Join(s.root, "runs", id) }

// ComparisonDir returns the directory of a comparison: its file and its reports.
func (s *Store) ComparisonDir(id string) string { return filepath.Join(s.root, "comparisons", id) }

// Run opens a run by its id, by a prefix that only one run has, by a path to a run directory, or
// the one that began last by the word last.
func (s *Store) Run(id string) (*record.Run, error) {
	if strings.ContainsRune(id, filepath.Separator) {
		return record.Open(id)
	}
	id, err := s.resolve("runs", id)
	if err != nil {
		return nil, err
	}
	return record.Open(s.runDir(id))
}

func (s *Store) resolve(kind, id string) (string, error) {
	dirs, err := entriesOf(filepath.Join(s.root, kind))
	if err != nil {
		return "", err
	}
	var hits []string
	for _, d := range dirs {
		if d.Name() == id {
			return id, nil
		}
		if id != "" && strings.HasPrefix(d.Name(), id) {
			hits = append(hits, d.Name())
		}
	}
	if id == "last" && len(hits) == 0 {
		return s.Last(kind)
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return "", fmt.Errorf(
			"%s %q: %w (%s)",
			strings.TrimSuffix(kind, "s"),
			id,
			ErrNotFound,
			s.root,
		)
	}
	return "", fmt.Errorf(
		"%s %q: %d of them begin so; write more of the id",
		strings.TrimSuffix(kind, "s"),
		id,
		len(hits),
	)
}

// fileOf is the file of a run, comparison or sizing, by the directory of its kind.
var fileOf = map[string]string{
	"runs":        record.ManifestFile,
	"comparisons": "comparison.json",
	"sizings":     "steps.json",
}

// Last returns the id of the run, comparison or sizing that began last, of those kinds: runs,
// comparisons, sizings. The error wraps [ErrNotFound] when there is none.
func (s *Store) Last(kinds ...string) (string, error) {
	last := ""
	for _, kind := range kinds {
		dirs, err := entriesOf(filepath.Join(s.root, kind))
		if err != nil {
			return "", err
		}
		for _, d := range slices.Backward(dirs) { // ids begin with the moment
			if _, err := os.Stat(filepath.Join(s.root, kind, d.Name(), fileOf[kind])); err == nil {
				last = max(last, d.Name())
				break
			}
		}
	}
	if last == "" {
		return "", fmt.Errorf(
			"the last %s: %w (%s has none)",
			strings.TrimSuffix(kinds[0], "s"),
			ErrNotFound,
			s.root,
		)
	}
	return last, nil
}

// entriesOf returns the entries of a directory, by name; none when it does not exist.
func entriesOf(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// SaveComparison writes a comparison's file in one step.
func (s *Store) SaveComparison(c *record.Comparison) error {
	dir := s.ComparisonDir(c.ID)
	if err := files.MkdirAll(s.disk, dir); err != nil {
		return err
	}
	return record.SaveComparison(s.disk, filepath.Join(dir, "comparison.json"), c, s.secrets)
}

// Comparison reads a comparison by its id, by a prefix that only one has, or by the word last. The
// error wraps [record.ErrAltered] when its file was altered.
func (s *Store) Comparison(id string) (*record.Comparison, error) {
	return load(s, "comparisons", id, record.ReadComparison, "comparison")
}

// load reads the file of a comparison or sizing. Who finds it altered may repeat what.
func load[T any](
	s *Store,
	kind, id string,
	parse func([]byte) (*T, error),
	what string,
) (*T, error) {
	id, err := s.resolve(kind, id)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.root, kind, id, fileOf[kind])
	b, err := files.Read(path, 0)
	if err != nil {
		return nil, err
	}
	v, err := parse(b)
	switch {
	case errors.Is(err, record.ErrAltered):
		return nil, fmt.Errorf(
			"%s %s: %s %w; bring the file back as it was, or repeat the %s "+
				"(docs/format/run.md, Digests)",
			strings.TrimSuffix(kind, "s"),
			id,
			path,
			err,
			what,
		)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// Package store keeps runs and comparisons on disk, and finds them again.
//
// A store is a directory: runs/<id>/ and comparisons/<id>/ are the truth, index.sqlite is a copy of what their
// manifests say, brought up to date by every [Store.List] and safe to delete. A run that was killed is listed like
// any other; it is not valid.
//
// The package does not judge and does not render. Several processes may use one store at a time.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"plimsoll/lab"
	"plimsoll/plain"
	"plimsoll/record"
)

// ErrNotFound reports an id that the store does not hold.
var ErrNotFound = errors.New("not in the store")

// A Store is a directory of runs and comparisons. It is safe for concurrent use.
type Store struct {
	root    string
	secrets *plain.Secrets
}

// dirMode and fileMode are for this user alone: answers of a target stand in the files.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Hide makes what is written from here on hold none of the secrets. It must be called before the store is used.
func (s *Store) Hide(secrets *plain.Secrets) { s.secrets = secrets }

// Open returns the store in root, which is made when it is missing, for this user alone. As root it can be passed through, and not listed, by the
// users as which databases run that refuse root: their state may lie below it.
func Open(root string) (*Store, error) {
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		if err := lab.MkdirState(root); err != nil {
			return nil, fmt.Errorf("opening store: %w", err)
		}
	}
	for _, d := range []string{"runs", "comparisons", "sizings"} {
		if err := os.MkdirAll(filepath.Join(root, d), dirMode); err != nil {
			return nil, fmt.Errorf("opening store: %w", err)
		}
	}
	return &Store{root: root}, nil
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
	if m.ID == "" || m.ID != filepath.Base(m.ID) || unsafeID.MatchString(m.ID) || strings.HasPrefix(m.ID, ".") {
		return nil, fmt.Errorf("bad run id %q", m.ID)
	}
	return record.CreateHiding(s.runDir(m.ID), m, s.secrets)
}

func (s *Store) runDir(id string) string { return filepath.Join(s.root, "runs", id) }

// ComparisonDir returns the directory of a comparison: its file and its reports.
func (s *Store) ComparisonDir(id string) string { return filepath.Join(s.root, "comparisons", id) }

// Run opens a run by its id, by a prefix that only one run has, or by a path to a run directory.
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
	dirs, err := os.ReadDir(filepath.Join(s.root, kind))
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
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return "", fmt.Errorf("%s %q: %w (%s)", strings.TrimSuffix(kind, "s"), id, ErrNotFound, s.root)
	}
	return "", fmt.Errorf("%s %q: %d of them begin so; write more of the id", strings.TrimSuffix(kind, "s"), id, len(hits))
}

// SaveComparison writes a comparison's file in one step.
func (s *Store) SaveComparison(c *record.Comparison) error {
	dir := s.ComparisonDir(c.ID)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	c.Format = record.FormatVersion
	return record.WriteJSONHiding(filepath.Join(dir, "comparison.json"), c, s.secrets)
}

// Comparison reads a comparison by its id or by a prefix that only one has.
func (s *Store) Comparison(id string) (*record.Comparison, error) {
	id, err := s.resolve("comparisons", id)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.ComparisonDir(id), "comparison.json")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := new(record.Comparison)
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// An Entry is what the index knows of a run.
type Entry struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Epoch      time.Time    `json:"epoch"`
	State      record.State `json:"state"`
	Valid      bool         `json:"valid"`
	Arm        string       `json:"arm"`
	Engine     string       `json:"engine"`
	Comparison string       `json:"comparison,omitempty"`
	Block      int          `json:"block,omitempty"`
	// CapacityKind is empty for a run without a search.
	CapacityKind string  `json:"capacity_kind,omitempty"`
	Capacity     float64 `json:"capacity,omitempty"`
	PlanDigest   string  `json:"plan_digest"`
}

// List returns the runs, oldest first, after it has brought the index up to date. A directory that is no run is
// passed over and named in the warnings. A damaged index is made anew: it holds nothing of its own.
func (s *Store) List(ctx context.Context) (entries []Entry, warnings []error, err error) {
	path := filepath.Join(s.root, "index.sqlite")
	entries, warnings, err = s.list(ctx, path)
	if damaged(err) {
		if rmErr := removeIndex(path); rmErr != nil {
			return nil, nil, errors.Join(err, rmErr)
		}
		entries, warnings, err = s.list(ctx, path)
	}
	return entries, warnings, err
}

func (s *Store) list(ctx context.Context, path string) (entries []Entry, warnings []error, err error) {
	ix, err := openIndex(path)
	if err != nil {
		return nil, nil, err
	}
	defer ix.close()
	ix.conn.SetInterrupt(ctx.Done())
	known, err := ix.stamps()
	if err != nil {
		return nil, nil, err
	}
	dirs, err := os.ReadDir(filepath.Join(s.root, "runs"))
	if err != nil {
		return nil, nil, err
	}
	for _, d := range dirs {
		id := d.Name()
		stamp := s.stamp(id)
		if old, ok := known[id]; ok && old == stamp {
			delete(known, id)
			continue
		}
		delete(known, id)
		r, err := record.Open(s.runDir(id))
		if err != nil {
			warnings = append(warnings, err)
			if err := ix.remove(id); err != nil { // what was known of it is no longer so
				return nil, warnings, err
			}
			continue
		}
		if err := ix.put(entryOf(r), stamp); err != nil {
			return nil, warnings, err
		}
	}
	for id := range known {
		if err := ix.remove(id); err != nil {
			return nil, warnings, err
		}
	}
	entries, err = ix.all()
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.Epoch.Compare(b.Epoch), cmp.Compare(a.ID, b.ID))
	})
	return entries, warnings, err
}

// stamp changes whenever a run's manifest or validity does: size and time of both files.
func (s *Store) stamp(id string) string {
	var b strings.Builder
	for _, f := range []string{record.ManifestFile, record.ValidityFile} {
		fi, err := os.Stat(filepath.Join(s.runDir(id), f))
		if errors.Is(err, fs.ErrNotExist) {
			b.WriteString("- ")
			continue
		}
		if err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%d %d ", fi.Size(), fi.ModTime().UnixNano())
	}
	return b.String()
}

func entryOf(r *record.Run) Entry {
	m := r.Manifest
	e := Entry{ID: m.ID, Name: m.Name, Epoch: m.Epoch, State: m.State, Valid: r.Validity.Valid, Arm: m.Arm, Engine: m.Engine,
		Comparison: m.Comparison, Block: m.Block, PlanDigest: m.PlanDigest}
	if m.Capacity != nil {
		e.CapacityKind, e.Capacity = m.Capacity.Kind, m.Capacity.Users
	}
	return e
}

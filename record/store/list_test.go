package store

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/record"
)

// A store whose index cannot be written is listed by its runs.
func TestListWithoutAnIndex(t *testing.T) {
	s := open(t)
	put(t, s, "a1", true)
	put(t, s, "b1", false)
	want := list(t, s)
	index := filepath.Join(s.Root(), indexFile)
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(index, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, warnings, err := s.List(t.Context())
	if err != nil || len(got) != 2 || len(warnings) != 1 ||
		!strings.Contains(warnings[0].Error(), "the list was made without it") {
		t.Fatalf("%v, warnings %v, %v", got, warnings, err)
	}
	for i := range got {
		if got[i].ID != want[i].ID || got[i].Valid != want[i].Valid ||
			got[i].State != want[i].State {
			t.Errorf("%+v, by the index %+v", got[i], want[i])
		}
	}
}

// An index of another version is not believed: an entry of it may lack fields.
func TestIndexOfAnotherVersion(t *testing.T) {
	s := open(t)
	put(t, s, "a1", true)
	list(t, s)
	path := filepath.Join(s.Root(), indexFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	rest = bytes.Replace(rest, []byte(`"capacity":321`), []byte(`"capacity":7`), 1)
	if err := os.WriteFile(path, append([]byte(record.DigestOf(rest)+"\n"), rest...), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := list(t, s); e[0].Capacity != 321 {
		t.Errorf("capacity %v of an index without a version, want 321 of the run", e[0].Capacity)
	}
}

// An empty store is opened, read and listed without anything being made in it.
func TestReadingMakesNothing(t *testing.T) {
	s := open(t)
	if _, err := s.Comparison("c"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := s.Last("comparisons"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := s.Run("r"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(s.Root()); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A run that changed since it was sealed is not valid, whichever of its files it was, and is valid
// again when the change is undone.
func TestListNamesWhatChanged(t *testing.T) {
	s := open(t)
	put(t, s, "a1", true)
	if e := list(t, s); !e[0].Valid || len(e[0].Changed) > 0 {
		t.Fatalf("%+v", e[0])
	}
	for _, file := range []string{record.ManifestFile, record.WindowsFile, record.EventsFile, record.ValidityFile} {
		path := filepath.Join(s.Root(), "runs", "a1", file)
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := append(slices.Clone(was), '\n')
		if file == record.ManifestFile {
			bad = []byte(strings.Replace(string(was), `"users": 321`, `"users": 322`, 1))
		}
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if e := list(t, s); e[0].Valid || !slices.Equal(e[0].Changed, []string{file}) {
			t.Errorf("%s changed: %+v", file, e[0])
		}
		if err := os.WriteFile(path, was, 0o644); err != nil {
			t.Fatal(err)
		}
		if e := list(t, s); !e[0].Valid || len(e[0].Changed) > 0 {
			t.Errorf("%s is as it was: %+v", file, e[0])
		}
	}
}

// A failing disk fails from its n-th operation on.
type failing struct {
	record.OS
	left int
}

func (f *failing) fail() error {
	if f.left--; f.left < 0 {
		return syscall.ENOSPC
	}
	return nil
}

func (f *failing) Mkdir(dir string) error {
	return errors.Join(f.fail(), f.unless(func() error { return f.OS.Mkdir(dir) }))
}
func (f *failing) Rename(from, to string) error {
	return errors.Join(f.fail(), f.unless(func() error { return f.OS.Rename(from, to) }))
}
func (f *failing) Sync(path string) error {
	return errors.Join(f.fail(), f.unless(func() error { return f.OS.Sync(path) }))
}

func (f *failing) unless(do func() error) error {
	if f.left < 0 {
		return nil
	}
	return do()
}

func (f *failing) Create(path string, fresh bool) (io.WriteCloser, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	w, err := f.OS.Create(path, fresh)
	return &failingFile{w, f}, err
}

type failingFile struct {
	io.WriteCloser
	f *failing
}

func (w *failingFile) Write(b []byte) (int, error) {
	if err := w.f.fail(); err != nil {
		n, _ := w.WriteCloser.Write(b[:len(b)/2])
		return n, err
	}
	return w.WriteCloser.Write(b)
}

// A disk that is full leaves the comparison that was there, whole, and nothing beside it.
func TestFullDiskLeavesTheOldFile(t *testing.T) {
	s := open(t)
	c := &record.Comparison{ID: "c1", Name: "old", Plan: strings.Repeat("x", 5000)}
	if err := s.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		full, err := OpenOn(&failing{left: n}, s.Root())
		if err != nil {
			t.Fatal(err)
		}
		next := *c
		next.Name = "new"
		saved := full.SaveComparison(&next)
		got, err := s.Comparison("c1")
		if err != nil {
			t.Fatalf("full after %d operations: %v", n, err)
		}
		files, err := os.ReadDir(s.ComparisonDir("c1"))
		if err != nil || len(files) != 1 {
			t.Errorf("full after %d operations: it left %v, %v", n, files, err)
		}
		if saved == nil {
			if got.Name != "new" || n < 3 {
				t.Errorf("saved after %d operations, and it is %q", n, got.Name)
			}
			return
		}
		if !errors.Is(saved, syscall.ENOSPC) {
			t.Errorf("full after %d operations: %v", n, saved)
		}
		if got.Name == "new" { // renamed, and its directory could not be synced
			c.Name = "old"
			if err := s.SaveComparison(c); err != nil {
				t.Fatal(err)
			}
		}
	}
}

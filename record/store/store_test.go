package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/record"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, id string, seal bool) *record.Writer {
	t.Helper()
	w, err := s.Create(record.Manifest{ID: id, Name: "n", Epoch: time.Unix(1, 0).UTC(), Arm: "base",
		Capacity: &record.Capacity{Kind: record.Estimate, Users: 321}})
	if err != nil {
		t.Fatal(err)
	}
	if seal {
		if _, err := w.Seal(context.Background(), record.Validity{Valid: true}, ""); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func list(t *testing.T, s *Store) []Entry {
	t.Helper()
	e, warn, err := s.List(context.Background())
	if err != nil || len(warn) > 0 {
		t.Fatal(err, warn)
	}
	return e
}

func TestListFollowsTheDirectories(t *testing.T) {
	s := open(t)
	w := put(t, s, "a1", false)
	put(t, s, "b1", true)
	e := list(t, s)
	if len(e) != 2 || e[0].Valid || e[0].State != record.Running || !e[1].Valid ||
		e[1].Capacity != 321 {
		t.Fatalf("%+v", e)
	}
	if _, err := w.Seal(context.Background(), record.Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	if e := list(t, s); !e[0].Valid || e[0].State != record.Sealed {
		t.Fatalf("the index kept an old state: %+v", e[0])
	}
	if err := os.RemoveAll(filepath.Join(s.Root(), "runs", "a1")); err != nil {
		t.Fatal(err)
	}
	if e := list(t, s); len(e) != 1 || e[0].ID != "b1" {
		t.Fatalf("%+v", e)
	}
}

func TestDamagedIndexIsMadeAnew(t *testing.T) {
	s := open(t)
	put(t, s, "a1", true)
	if err := os.WriteFile(filepath.Join(s.Root(), indexFile), []byte("no index"), 0o644); err != nil {
		t.Fatal(err)
	}
	if e := list(t, s); len(e) != 1 {
		t.Fatalf("%+v", e)
	}
}

// A run whose manifest no longer reads is named, and not listed with its old values.
func TestListForgetsADamagedRun(t *testing.T) {
	s := open(t)
	put(t, s, "a1", true)
	put(t, s, "b1", true)
	list(t, s)
	if err := os.WriteFile(filepath.Join(s.Root(), "runs", "a1", record.ManifestFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	e, warnings, err := s.List(t.Context())
	if err != nil || len(warnings) != 1 || len(e) != 1 || e[0].ID != "b1" {
		t.Fatalf("%+v, warnings %v, %v", e, warnings, err)
	}
}

func TestRunByPrefix(t *testing.T) {
	s := open(t)
	put(t, s, "2026-a", true)
	put(t, s, "2026-b", true)
	if r, err := s.Run("2026-a"); err != nil || r.Manifest.ID != "2026-a" {
		t.Fatal(r, err)
	}
	if _, err := s.Run("2026"); err == nil || !strings.Contains(err.Error(), "2 of them") {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Run("1999"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if r, err := s.Run(filepath.Join(s.Root(), "runs", "2026-b")); err != nil ||
		r.Manifest.ID != "2026-b" {
		t.Fatal(r, err)
	}
}

func TestBadIDs(t *testing.T) {
	s := open(t)
	for _, id := range []string{"", "..", "../x", "a/b", ".hidden", "a b"} {
		if _, err := s.Create(record.Manifest{ID: id}); err == nil {
			t.Errorf("id %q was taken", id)
		}
	}
	if id := NewID(time.Unix(0, 0), "My plan / v1"); !strings.HasPrefix(
		id,
		"19700101-000000-My-plan-v1-",
	) {
		t.Errorf("id %q", id)
	}
}

func TestComparisonReadsBack(t *testing.T) {
	s := open(t)
	c := &record.Comparison{
		ID:   "c1",
		Arms: []string{"base", "new"},
		Runs: []record.ComparisonRun{{Run: "a1", Arm: "base"}},
	}
	if err := s.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	got, err := s.Comparison("c")
	if err != nil || got.Runs[0].Run != "a1" || got.Format != record.FormatVersion {
		t.Fatal(got, err)
	}
}

func TestSizingReadsBack(t *testing.T) {
	s := open(t)
	z := &record.Sizing{
		ID:      "z1",
		Planned: []int{50, 200},
		Steps:   []record.SizingStep{{Users: 50, Run: "a1"}},
	}
	if err := s.SaveSizing(z); err != nil {
		t.Fatal(err)
	}
	got, err := s.Sizing("z")
	if err != nil || len(got.Steps) != 1 || got.Steps[0].Run != "a1" ||
		got.Format != record.FormatVersion {
		t.Fatal(got, err)
	}
	if _, err := s.Sizing("y"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

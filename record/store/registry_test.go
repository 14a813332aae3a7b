package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"plimsoll/record"
)

func line(comparison, metric string, at int64) record.AA {
	return record.AA{
		Comparison:  comparison,
		At:          time.Unix(at, 0).UTC(),
		Environment: "e",
		Engine:      "postgresql",
		Metric:      metric,
		Pairs:       6,
		SD:          0.02,
		Kind:        "same",
	}
}

func TestRegistryReadsBack(t *testing.T) {
	s := open(t)
	if lines, warn, err := s.AA(); len(lines)+len(warn) != 0 || err != nil {
		t.Fatal(lines, warn, err)
	}
	if err := s.AddAA(line("b", "capacity", 2), line("b", "errors", 2)); err != nil {
		t.Fatal(err)
	}
	again := line("b", "errors", 2)
	again.SD = 0.5
	if err := s.AddAA(line("a", "capacity", 1), again); err != nil {
		t.Fatal(err)
	}
	lines, warn, err := s.AA()
	if err != nil || len(warn) != 0 || len(lines) != 3 {
		t.Fatalf("%+v, %v, %v", lines, warn, err)
	}
	if lines[0].Comparison != "a" || lines[2].Metric != "errors" || lines[2].SD != 0.5 {
		t.Errorf("want the oldest first and the last of each: %+v", lines)
	}
	bad := line("c", "capacity", 3)
	bad.SD = math.NaN()
	if err := s.AddAA(bad); err == nil {
		t.Error("a line without a number was taken")
	}
	if lines, _, _ := s.AA(); len(lines) != 3 {
		t.Errorf("a refused line left something: %d lines", len(lines))
	}
}

// A writer that was killed in the middle of a line spoils that line and no other.
func TestRegistryWithATornLine(t *testing.T) {
	s := open(t)
	if err := s.AddAA(line("a", "capacity", 1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Root(), registryFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(whole); cut++ {
		if err := os.WriteFile(path, append(append([]byte{}, whole...), whole[:cut]...), 0o644); err != nil {
			t.Fatal(err)
		}
		if lines, warn, err := s.AA(); err != nil || len(lines) != 1 || len(warn) != 1 {
			t.Fatalf("cut at %d: %d lines, %v, %v", cut, len(lines), warn, err)
		}
		if err := s.AddAA(line("b", "capacity", 2)); err != nil {
			t.Fatal(err)
		}
		lines, warn, err := s.AA()
		// A line that lacks only its end is whole once the next writer ends it.
		wantLines, wantWarn := 2, 1
		if cut == len(whole)-1 {
			wantWarn = 0
		}
		if err != nil || len(lines) != wantLines || len(warn) != wantWarn {
			t.Fatalf("cut at %d, then a line: %d lines, %v, %v", cut, len(lines), warn, err)
		}
	}
}

func TestRegistryWithManyWriters(t *testing.T) {
	s := open(t)
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("c-%d-%d", w, i)
				if err := s.AddAA(line(id, "capacity", int64(i)), line(id, "errors", int64(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	lines, warn, err := s.AA()
	if err != nil || len(warn) != 0 || len(lines) != 2*writers*each {
		t.Errorf("%d lines, want %d; %v, %v", len(lines), 2*writers*each, warn, err)
	}
}

func TestComparisonIsLocked(t *testing.T) {
	s := open(t)
	unlock, err := s.LockComparison("c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LockComparison("c"); !errors.Is(err, ErrBusy) {
		t.Errorf("locked twice: %v", err)
	}
	unlock()
	if unlock, err = s.LockComparison("c"); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestLastComparison(t *testing.T) {
	s := open(t)
	if _, err := s.Last("comparisons"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	for _, id := range []string{"20260102-000000-b", "20260101-000000-a"} {
		if err := s.SaveComparison(&record.Comparison{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	// a directory without a comparison
	if _, err := s.LockComparison("20260103-000000-c"); err != nil {
		t.Fatal(err)
	}
	if id, err := s.Last("comparisons"); id != "20260102-000000-b" || err != nil {
		t.Errorf("got %s, %v", id, err)
	}
}

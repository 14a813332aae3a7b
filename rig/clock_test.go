package rig

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/load/wire"
	"plimsoll/watch/series"
)

func TestClockInTheManifest(t *testing.T) {
	for _, tt := range []struct {
		n          wire.Clocks
		want, none string
	}{
		{wire.Clocks{}, "where it gives them", "of 0"},
		{wire.Clocks{Kernel: 3, Process: 1}, "3 of 4 responses and messages", "was set"},
		{wire.Clocks{Process: 2, Steps: 1}, "0 of 2 responses and messages; the wall clock was set 1 times", "3 of"},
	} {
		if got := clock(tt.n); !strings.Contains(got, tt.want) || strings.Contains(got, tt.none) {
			t.Errorf("%+v: %s", tt.n, got)
		}
	}
}

// A wall clock that is set during a run, here back by 20 s or forward by as much, moves no question to where the
// run's series have no value.
func TestRulesAskOnTheClockOfTheSeries(t *testing.T) {
	for _, step := range []time.Duration{-20 * time.Second, 0, 20 * time.Second} {
		base := time.Now().Round(0).Add(-step)
		db, err := series.Create(filepath.Join(t.TempDir(), "series"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if err := db.Append(base, []series.Sample{{Name: "x", Value: 7}}); err != nil {
			t.Fatal(err)
		}
		s := &signals{db: db, began: time.Now(), base: base}
		if v, ok, err := s.Query(t.Context(), "x"); err != nil || !ok || v != 7 {
			t.Errorf("the clock was set by %v: %v, %v, %v", step, v, ok, err)
		}
	}
}

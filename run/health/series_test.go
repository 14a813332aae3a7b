package health

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// Series that can be moved to disk no more are an event of the run when that is given up, and an
// amber finding at its end, each once and with the reason.
func TestSeriesThatStayInMemory(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stuck bool
	}{{"a disk that takes them", false}, {"a file in the way", true}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "r")
			w, err := record.Create(dir, record.Manifest{ID: "r"})
			if err != nil {
				t.Fatal(err)
			}
			db := created(t, filepath.Join(dir, record.SeriesDir))
			if tt.stuck {
				if err := os.WriteFile(filepath.Join(db.Dir(), "spilled"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := WatchSeries(db, w, clock.New(time.Now()))
			// A cut is due with each batch, and is left out while the one before is under way.
			start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			deadline := time.Now().Add(time.Minute)
			for n := 0; s.Finding() == nil && (n < 10 || tt.stuck); n++ {
				if time.Now().After(deadline) {
					t.Fatal("nothing was noted")
				}
				if err := db.Append(start.Add(time.Duration(n)*time.Hour), []series.Sample{{
					Name:  "x",
					Value: 1,
				}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond) // lets a cut end
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			fs := s.Finding()
			r, err := record.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			events, err := r.Events()
			if err != nil {
				t.Fatal(err)
			}
			if !tt.stuck {
				if len(fs) != 0 || len(events) != 0 {
					t.Errorf("findings %+v, events %+v; want none", fs, events)
				}
				return
			}
			if len(fs) != 1 || fs[0].Level != record.Amber ||
				!strings.Contains(fs[0].Text, "not a directory") {
				t.Errorf("findings %+v, want one in amber with the reason", fs)
			}
			if len(events) != 1 || events[0].Kind != "error" ||
				!strings.Contains(events[0].Text, "not a directory") {
				t.Errorf("events %+v, want one with the reason", events)
			}
		})
	}
}

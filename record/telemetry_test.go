package record

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/load/measure"
)

// TestTelemetryIsKept checks that written telemetry is read back and sealed with the run, and that
// a run without any has none.
func TestTelemetryIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	w, err := Create(dir, Manifest{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if none, err := r.Telemetry(); none != nil || err != nil {
		t.Errorf("a run without telemetry has %v, %v", none, err)
	}
	if none, err := r.MergedTelemetry(0, time.Hour); none != nil || err != nil {
		t.Errorf("a run without telemetry has windows %v, %v", none, err)
	}
	want := Telemetry{
		Records: 10,
		Taken:   6,
		Before:  1,
		Left:    map[string]int64{"late": 3},
		Missing: 2,
		Note:    "n",
	}
	seconds := map[int][]*measure.Window{}
	for second, micros := range []int{5, 10, 20} {
		x := measure.NewWindow("story")
		x.Classes[measure.OK] = 2
		x.Response.RecordN(time.Duration(micros)*time.Microsecond, 2)
		seconds[second] = []*measure.Window{x}
	}
	err = w.Telemetry(want, func(yield func(int, []*measure.Window) bool) {
		for _, s := range slices.Sorted(maps.Keys(seconds)) {
			if !yield(s, seconds[s]) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(t.Context(), Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	if r, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{TelemetryFile, TelemetryWindowsFile} {
		if r.Manifest.Files[name] == "" {
			t.Errorf("the manifest has no digest of %s", name)
		}
	}
	got, err := r.Telemetry()
	if want.Format = TelemetryVersion; err != nil || got == nil {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	merged, err := r.MergedTelemetry(time.Second, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if h := merged["story"].Response; h.Count() != 2 || h.Sum() != 20*time.Microsecond {
		t.Errorf("second 1 has %d requests of %v, want 2 of 20µs", h.Count(), h.Sum())
	}
}

// TestFilesCutShort: in a sealed run a file of windows whose end is missing is an error with its
// name; one that was killed is read up to there.
func TestFilesCutShort(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	w, err := Create(dir, Manifest{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	one := []*measure.Window{measure.NewWindow("story")}
	one[0].Response.Record(time.Millisecond)
	if err := w.Telemetry(Telemetry{
		Records: 1,
		Taken:   1,
	}, maps.All(map[int][]*measure.Window{1: one})); err != nil {
		t.Fatal(err)
	}
	if err := w.Omitted(1, one); err != nil {
		t.Fatal(err)
	}
	cut := func(name string) {
		t.Helper()
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil {
			err = os.Truncate(path, info.Size()-1)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	reads := map[string]func(*Run) error{
		TelemetryWindowsFile: func(r *Run) error {
			_, err := r.MergedTelemetry(0, time.Hour)
			return err
		},
		OmittedFile: func(r *Run) error { _, _, err := r.Omitted(); return err },
	}
	whole, err := os.ReadFile(filepath.Join(dir, TelemetryWindowsFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range reads {
		cut(name)
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := read(r); err != nil {
			t.Errorf("%s of a run that was killed: %v", name, err)
		}
	}
	if _, err := w.Seal(t.Context(), Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range reads {
		if err := read(r); !errors.Is(err, ErrWindows) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s of a sealed run: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, TelemetryWindowsFile), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reads[TelemetryWindowsFile](r); err != nil {
		t.Errorf("a whole file: %v", err)
	}
}

package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// stored makes a store with a run of every kind of file that a reader depends on, a comparison and
// a sizing of it, and a list of them.
func stored(t *testing.T) *Store {
	t.Helper()
	s := open(t)
	w, err := s.Create(record.Manifest{
		ID:         "a1",
		Name:       "n",
		Epoch:      time.Unix(1, 0).UTC(),
		Arm:        "base",
		Comparison: "c1",
		Phases:     []record.Phase{{Name: "measure", To: 2 * time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := series.Create(filepath.Join(s.runDir("a1"), record.SeriesDir))
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(db.Append(time.Unix(2, 0), []series.Sample{{Name: "x", Value: 7}}))
	check(db.Close())
	for second := range 2 {
		one := measure.NewWindow("post")
		one.Response.RecordN(10*time.Millisecond, 8)
		one.Classes[measure.OK] = 8
		check(w.Windows(second, []*measure.Window{one}))
	}
	check(w.Event(record.Event{Kind: "note", Text: "a note"}))
	check(w.Users(record.Users{}))
	digest, err := w.Seal(t.Context(), record.Validity{Valid: true}, "")
	check(err)
	check(s.SaveComparison(&record.Comparison{
		ID:      "c1",
		Name:    "n",
		State:   record.Sealed,
		Arms:    []string{"base", "new"},
		Outcome: json.RawMessage(`{"verdicts":[{"verdict":{"kind":"worse"}}]}`),
		Runs:    []record.ComparisonRun{{Run: "a1", Digest: digest, Arm: "base", Valid: true}},
	}))
	check(s.SaveSizing(&record.Sizing{
		ID:    "z1",
		Name:  "n",
		State: record.Sealed,
		Steps: []record.SizingStep{{Users: 200, Run: "a1"}},
	}))
	list(t, s)
	return s
}

// read returns all that a store holds as text, and whether anything of it is marked as damaged.
func read(t *testing.T, s *Store) (text string, marked bool) {
	t.Helper()
	var b strings.Builder
	add := func(v any, err error) {
		marked = marked || err != nil
		j, _ := json.Marshal(v)
		fmt.Fprintf(&b, "%s\n", j)
	}
	entries, warnings, err := s.List(t.Context())
	add(entries, err)
	marked = marked || len(warnings) > 0
	c, err := s.Comparison("c1")
	if err == nil {
		c.Digests = nil // without them, the rest is what it was
	}
	add(c, err)
	z, err := s.Sizing("z1")
	if err == nil {
		z.Digests = nil
	}
	add(z, err)
	r, err := s.Run("a1")
	if err != nil {
		return b.String(), true
	}
	err = r.LookAtAll()
	marked = marked || len(r.Changed) > 0
	add(r.Manifest, err)
	add(r.Validity, nil)
	merged, err := r.Merged(0, time.Hour)
	add(nil, err)
	for name, w := range merged {
		add([]any{name, w.Count(), w.Response.Quantile(0.5)}, nil)
	}
	events, err := r.Events()
	add(events, err)
	users, err := r.Users()
	add(users, err)
	db, err := series.Open(filepath.Join(r.Dir, record.SeriesDir))
	add(nil, err)
	if err == nil {
		x, err := db.Query(t.Context(), "x", time.Unix(2, 0))
		add(x, err)
		add(nil, db.Close())
	}
	return b.String(), marked
}

// TestDamageIsNoticedOrHarmless damages each stored file in each way: what is read afterwards is
// what it was before, or marked as damaged.
func TestDamageIsNoticedOrHarmless(t *testing.T) {
	s := stored(t)
	want, marked := read(t, s)
	if marked || !strings.Contains(want, "worse") {
		t.Fatalf("before any damage: %v %s", marked, want)
	}
	kinds := 0
	err := filepath.WalkDir(s.Root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		kinds++
		was, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		damages := map[string]func() error{
			"removed": func() error { return os.Remove(path) },
			"emptied": func() error { return os.WriteFile(path, nil, 0o600) },
			"zeroed":  func() error { return os.WriteFile(path, make([]byte, len(was)), 0o600) },
		}
		places := []int{max(0, bytes.Index(was, []byte(`"valid":`))) + 1} // what a list shows
		for i := range 2 {
			places = append(places, (2*i+1)*len(was)/4)
		}
		for _, at := range places {
			if at >= len(was) {
				continue
			}
			damages[fmt.Sprintf("cut at byte %d", at)] = func() error {
				return os.WriteFile(path, was[:at], 0o600)
			}
			damages[fmt.Sprintf("changed at byte %d", at)] = func() error {
				bad := append([]byte(nil), was...)
				bad[at] ^= 1
				return os.WriteFile(path, bad, 0o600)
			}
		}
		for name, damage := range damages {
			if err := damage(); err != nil {
				return err
			}
			// A bad disk leaves size and time: neither shows that a file was changed.
			_ = os.Chtimes(path, info.ModTime(), info.ModTime())
			if got, marked := read(t, s); !marked && got != want {
				t.Errorf(
					"%s %s: read without a mark:\n%s\nwant\n%s",
					path[len(s.Root()):],
					name,
					got,
					want,
				)
			}
			if err := os.WriteFile(path, was, 0o600); err != nil {
				return err
			}
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || kinds < 10 {
		t.Fatalf("%d files, %v", kinds, err)
	}
}

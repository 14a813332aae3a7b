package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/load/measure"
)

func window(name string, n int) *measure.Window {
	w := measure.NewWindow(name)
	for i := range n {
		w.Response.Record(time.Duration(i) * time.Millisecond)
		w.Classes[measure.OK]++
	}
	w.Bytes = int64(n)
	return w
}

func write(t *testing.T, dir string, seconds int) *Writer {
	t.Helper()
	w, err := Create(dir, Manifest{ID: "r1", Arm: "base"})
	if err != nil {
		t.Fatal(err)
	}
	for s := range seconds {
		if err := w.Windows(s, []*measure.Window{window("post", 10+s), window("view", 1)}); err != nil {
			t.Fatal(err)
		}
		if err := w.Event(Event{
			At:    time.Duration(s) * time.Second,
			Kind:  "users",
			Users: s,
		}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestSealedRunReadsBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r1")
	w := write(t, dir, 5)
	if err := w.Update(func(m *Manifest) {
		m.Phases = []Phase{{Name: "measure", From: time.Second, To: 3 * time.Second, Users: 7}}
	}); err != nil {
		t.Fatal(err)
	}
	digest, err := w.Seal(context.Background(), Validity{Valid: true}, "")
	if err != nil || digest == "" {
		t.Fatal(digest, err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Validity.Valid || r.Manifest.State != Sealed {
		t.Fatalf("%+v %+v", r.Validity, r.Manifest)
	}
	ph, ok := r.Manifest.Phase("measure")
	if !ok {
		t.Fatal("no measure phase")
	}
	m, err := r.Merged(ph.From, ph.To)
	if err != nil {
		t.Fatal(err)
	}
	if got := m["post"].Response.Count(); got != 11+12 {
		t.Errorf("seconds 1 and 2 hold %d posts, want 23", got)
	}
	if ev, err := r.Events(); err != nil || len(ev) != 5 || ev[4].Users != 4 {
		t.Errorf("events %v %v", ev, err)
	}
	if bad, err := r.Verify(); err != nil || len(bad) != 0 {
		t.Errorf("verify: %v %v", bad, err)
	}
	if err := os.WriteFile(filepath.Join(dir, EventsFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if bad, _ := r.Verify(); len(bad) != 1 || bad[0] != EventsFile {
		t.Errorf("an edited file went unnoticed: %v", bad)
	}
	stray := filepath.Join(dir, SeriesDir, "stray")
	if err := os.MkdirAll(filepath.Dir(stray), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stray, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if bad, _ := r.Verify(); !slices.Equal(bad, []string{EventsFile, SeriesDir + "/stray"}) {
		t.Errorf("changed: %v", bad)
	}
	if bad, _ := r.VerifyNumbers(); !slices.Equal(bad, []string{EventsFile}) {
		t.Errorf("changed beside the series: %v", bad)
	}
	windows := filepath.Join(dir, WindowsFile)
	b, err := os.ReadFile(windows)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(windows, b[:len(b)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.EachSecond(func(int, []*measure.Window) bool {
		return true
	}); !errors.Is(err, ErrWindows) {
		t.Errorf("a sealed run whose end is missing: %v", err)
	}
}

// A run cut at any byte of windows.hdr keeps every whole second before the cut and never errs.
func TestKilledRunIsReadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r1")
	write(t, dir, 4)
	path := filepath.Join(dir, WindowsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for cut := 0; cut <= len(whole); cut++ {
		n := 0
		truncated, err := readFresh(
			bytes.NewReader(whole[:cut]),
			func(int, []*measure.Window) bool {
				n++
				return true
			},
		)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if n < last {
			t.Fatalf("cut at %d: %d seconds after %d", cut, n, last)
		}
		if cut < len(whole) && n == 4 && !truncated {
			t.Fatalf("cut at %d not reported", cut)
		}
		last = n
	}
	if last != 4 {
		t.Fatalf("whole file: %d seconds", last)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Validity.Valid || len(r.Validity.Findings) == 0 {
		t.Fatal("a killed run is valid")
	}
}

func TestDamageIsAnError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r1")
	write(t, dir, 3)
	b, err := os.ReadFile(filepath.Join(dir, WindowsFile))
	if err != nil {
		t.Fatal(err)
	}
	b[len(windowsMagic)+10] ^= 0xff
	if _, err := readFresh(bytes.NewReader(b), func(int, []*measure.Window) bool {
		return true
	}); !errors.Is(err, ErrWindows) {
		t.Fatalf("got %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNotRun) {
		t.Fatalf("got %v", err)
	}
}

func FuzzReadWindows(f *testing.F) {
	var buf bytes.Buffer
	ww, _ := NewWindowWriter(&buf)
	_ = ww.Write(0, []*measure.Window{window("post", 3)})
	_ = ww.Write(1, []*measure.Window{window("a", 1), window("b", 2)})
	f.Add(buf.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		ww, _ := NewWindowWriter(&out)
		n := 0
		_, err := readFresh(bytes.NewReader(in), func(s int, ws []*measure.Window) bool {
			n++
			if err := ww.Write(s, ws); err != nil {
				t.Fatal(err)
			}
			return true
		})
		if err != nil {
			return
		}
		again := 0
		if tr, err := readFresh(&out, func(int, []*measure.Window) bool {
			again++
			return true
		}); err != nil || tr || again != n {
			t.Fatalf("read %d, wrote and read %d: %v", n, again, err)
		}
	})
}

// TestEachSecondIsReadWindows checks that windows in recycled memory equal windows in fresh memory,
// after any earlier ones, and that reading allocates hardly any.
func TestEachSecondIsReadWindows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r1")
	w, err := Create(dir, Manifest{ID: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	for s := range 40 {
		var all []*measure.Window
		for i, name := range []string{"a", "post", "view", "wait"}[:1+s*7%4] {
			x := window(name, s*(i+3)%5*10)
			x.Bytes = int64(s * i)
			x.Classes[measure.Timeout] = uint64(s % 3)
			all = append(all, x)
		}
		if err := w.Windows(s, all); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Seal(t.Context(), Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	seconds := func(into *[]string) func(int, []*measure.Window) bool {
		return func(s int, ws []*measure.Window) bool {
			for _, w := range ws {
				text := fmt.Sprint(s, w.Name, w.Classes, w.Bytes)
				for _, h := range []*measure.Histogram{w.Response, w.Service, w.Wait, w.Lag} {
					text += fmt.Sprintf(" %x", h.AppendBinary(nil))
				}
				*into = append(*into, text)
			}
			return true
		}
	}
	var recycled, own []string
	if _, err := r.EachSecond(seconds(&recycled)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, WindowsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := readFresh(f, seconds(&own)); err != nil {
		t.Fatal(err)
	}
	if len(own) < 80 || !slices.Equal(recycled, own) {
		t.Errorf(
			"%d windows of their own, %d recycled ones, and they differ",
			len(own),
			len(recycled),
		)
	}
}

// A power failure leaves zeros where a file grew and its content was not on disk yet: the content
// before them counts, and they are not damage.
func TestZerosAtTheEndAreACut(t *testing.T) {
	var b bytes.Buffer
	ww, err := NewWindowWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := ww.Write(3, []*measure.Window{measure.NewWindow("post")}); err != nil {
		t.Fatal(err)
	}
	whole := b.Len()
	for _, tt := range []struct {
		name      string
		tail      []byte
		truncated bool
		bad       bool
	}{
		{"nothing", nil, false, false},
		{"zeros", make([]byte, 5000), true, false},
		{"one zero", make([]byte, 1), true, false},
		{"zeros and then something", append(make([]byte, 5000), 1), false, true},
	} {
		seconds := 0
		truncated, err := readFresh(
			bytes.NewReader(append(bytes.Clone(b.Bytes()[:whole]), tt.tail...)),
			func(int, []*measure.Window) bool {
				seconds++
				return true
			},
		)
		if seconds != 1 || truncated != tt.truncated || (err != nil) != tt.bad ||
			tt.bad && !errors.Is(err, ErrWindows) {
			t.Errorf("%s: %d seconds, truncated %v, %v", tt.name, seconds, truncated, err)
		}
	}
}

// Every member of a comparison is under a digest, also one that is added later.
func TestEveryMemberHasADigest(t *testing.T) {
	c := &Comparison{ID: "c", Plan: "p", Arms: []string{"base"}, Runs: []ComparisonRun{{Run: "r"}}}
	path := filepath.Join(t.TempDir(), "comparison.json")
	if err := SaveComparison(OS{}, path, c, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadComparison(text)
	if err != nil || got.Undigested {
		t.Fatal(got, err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for name := range members {
		if name == "digests" {
			continue
		}
		for how, with := range map[string]json.RawMessage{
			"changed": json.RawMessage(`"other"`),
			"gone":    nil,
		} {
			bad := maps.Clone(members)
			bad[name] = with
			if with == nil {
				delete(bad, name)
			}
			text, err := json.Marshal(bad)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ReadComparison(text); !errors.Is(err, ErrAltered) ||
				!strings.Contains(err.Error(), name+" changed") {
				t.Errorf("%s %s: %v", name, how, err)
			}
		}
	}
}

// The profiles of a run are among its files, and a change to one is found.
func TestProfiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := write(t, dir, 1)
	for _, role := range []string{"db", "app"} {
		f, err := w.Profile(role)
		failure.None(t, err)
		_, err = io.WriteString(f, "of "+role)
		failure.None(t, errors.Join(err, f.Close()))
	}
	_, err := w.Seal(t.Context(), Validity{Valid: true}, "")
	failure.None(t, err)
	r, err := Open(dir)
	failure.None(t, err)
	if got := r.Profiles(); !slices.Equal(got, []string{"app", "db"}) {
		t.Errorf("profiles of %v", got)
	}
	f, err := r.Profile("app")
	failure.None(t, err)
	text, err := io.ReadAll(f)
	if failure.None(t, errors.Join(err, f.Close())); string(text) != "of app" {
		t.Errorf("read %q", text)
	}
	failure.None(t, os.WriteFile(r.ProfilePath("db"), []byte("other"), 0o600))
	if bad, err := r.Verify(); err != nil || !slices.Equal(bad, []string{"db.pprof"}) {
		t.Errorf("changed: %v, %v", bad, err)
	}
}

package export

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plimsoll/watch/series"
)

// TestFollower reads the data of another writer, and the block when it has closed.
func TestFollower(t *testing.T) {
	dir := t.TempDir() + "/series"
	w, err := series.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	t0 := time.Unix(1_700_000_000, 0)
	add := func(i int) {
		if err := w.Append(t0.Add(time.Duration(i)*time.Second), []series.Sample{{
			Name:  "n",
			Value: float64(i),
		}}); err != nil {
			t.Fatal(err)
		}
	}
	last := func(f *Follower) time.Duration {
		db, release, err := f.Source()
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		_, end, _ := db.Bounds()
		return end.Sub(t0)
	}
	add(1)
	f, err := Follow(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	add(2)
	if got := last(f); got != time.Second {
		t.Errorf("read anew at once: %v", got)
	}
	f.opened = time.Now().Add(-2*followPause - 20*f.took)
	if got := last(f); got != 2*time.Second {
		t.Errorf("not read anew after its pause: %v", got)
	}
	add(3)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.opened = time.Time{}
	if got := last(f); got != 3*time.Second || !f.DB.Sealed() {
		t.Errorf("after the run's end: %v, sealed %v", got, f.DB.Sealed())
	}
	// A file that cannot be read for a moment leaves the old state.
	g := &Follower{dir: dir + "-gone", DB: f.DB}
	if err := g.open(); err == nil {
		t.Error("a directory that is not there was opened")
	}
	if got := last(g); got != 3*time.Second {
		t.Errorf("after a failure: %v", got)
	}
}

// TestStoredSeries queries the API that the console mounts, without a separate listener.
func TestStoredSeries(t *testing.T) {
	dir := t.TempDir() + "/series"
	w, err := series.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(time.Unix(1_700_000_000, 0), []series.Sample{{
		Name:  "n",
		Value: 42,
	}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	api, done, err := API{Version: "test"}.Stored(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "/api/v1/query?query=n", `"42"`}, // by default at the last sample
		{"GET", "/api/v1/status/buildinfo", `"revision":"test"`},
		{"GET", "/api/v1/query?query=(", `"errorType":"bad_data"`},
	} {
		rec := httptest.NewRecorder()
		api.ServeHTTP(rec, httptest.NewRequest(tt.method, "http://whatever.example"+tt.path, nil))
		if !strings.Contains(rec.Body.String(), tt.want) {
			t.Errorf("%s: %d %s, want %s", tt.path, rec.Code, rec.Body, tt.want)
		}
	}
	if _, _, err := (API{}).Stored(dir + "-gone"); err == nil {
		t.Error("a directory that is not there was opened")
	}
}

package console

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// The steps of a sizing have the grades of its report, and the rules that gave them.
func TestSizingHasGrades(t *testing.T) {
	st := newStore(t)
	z := &record.Sizing{ID: "s1", Name: "box", State: record.Sealed}
	for id, ms := range map[string]int{"fast-1": 10, "slow-1": 900} {
		w, err := st.Create(record.Manifest{
			ID:     id,
			Name:   "box",
			Epoch:  time.Unix(100, 0).UTC(),
			Phases: []record.Phase{{Name: "measure", To: 2 * time.Second}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for second := range 2 {
			one := measure.NewWindow("post")
			one.Response.RecordN(time.Duration(ms)*time.Millisecond, 100)
			one.Classes[measure.OK] = 100
			if err := w.Windows(second, []*measure.Window{one}); err != nil {
				t.Fatal(err)
			}
		}
		db, err := series.Create(filepath.Join(w.Dir(), record.SeriesDir))
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Seal(t.Context(), record.Validity{Valid: true}, ""); err != nil {
			t.Fatal(err)
		}
		z.Steps = append(z.Steps, record.SizingStep{Users: ms, Run: id})
	}
	if err := st.SaveSizing(z); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(New(Config{Store: st, Open: Viewer}).Handler())
	defer srv.Close()
	_, body := ask(t, srv, "GET", "/api/sizings/s1", "")
	for _, want := range []string{`"users":10,"valid":true,"grade":"Excellent","text":"p99 `, `"users":900,"valid":true,"grade":"Poor","text":"median `} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
}

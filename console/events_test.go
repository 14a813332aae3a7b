package console

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"plimsoll/record"
)

// The log of a run is answered from its end, or from where the reader is.
func TestEventsOfALongLog(t *testing.T) {
	st := newStore(t)
	w, err := st.Create(record.Manifest{ID: "logged-1", Name: "small"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := w.Event(record.Event{
			Kind: "note",
			Text: fmt.Sprintf("line %d of five", i),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Seal(t.Context(), record.Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	run, err := st.Run("logged-1")
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][2]string{
		"?kind=note&limit=2":         {"line 3 of five", "line 4 of five"},
		"?kind=note&limit=2&after=1": {"line 1 of five", "line 2 of five"},
		"?kind=note&after=3":         {"line 3 of five", "line 4 of five"},
	} {
		out, err := events(httptest.NewRequest("GET", "/"+query, nil), run)
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprint(out)
		if !strings.Contains(body, want[0]) || !strings.Contains(body, want[1]) ||
			strings.Count(body, "of five") != 2 {
			t.Errorf("%s: %s, want %q alone", query, body, want)
		}
	}
}

package preflight

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"plimsoll/dialect"
	"plimsoll/run/deploy"
)

// TestMeetWithoutADriver asks a server of a dialect that somebody else wrote, of which only users are known.
func TestMeetWithoutADriver(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	rooms := &dialect.Dialect{Title: "a chat of rooms"}
	r := &deploy.Resolver{Dialects: dialect.Set{rooms}}
	m, err := Meet(t.Context(), r, srv.URL+"/", "")
	if err != nil || m.Dialect != rooms || m.Address != srv.URL || m.String() != rooms.Title {
		t.Errorf("met %v: %v", m, err)
	}
}

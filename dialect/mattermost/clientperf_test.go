package mattermost

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"plimsoll/load/workload"
)

// A client reports its measurements since the last time, to servers that accept them, and sends
// nothing if there are none.
func TestClientReports(t *testing.T) {
	var got []string
	addr := inTurn(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, r.URL.Path+" "+string(b))
		io.WriteString(w, `{"status":"OK"}`)
	})
	c := newTestClient(t, addr)
	u := userOf(workload.Env{}, 0)
	a := &person{u: u, b: &Person{set: settings{periodic: true},
		found: found{facts: facts{Version: version{9, 9}}}}}
	a.report(t.Context(), c)
	passTurn()
	a.measured("channel_switch", time.Now().Add(-time.Second))
	a.measured("page_load", time.Now())
	a.report(t.Context(), c)
	a.report(t.Context(), c)
	passTurn()
	if len(got) != 1 || !strings.Contains(got[0], `"metric":"channel_switch","value":100`) ||
		!strings.Contains(got[0], "page_load") {
		t.Errorf("%q", got)
	}
	for range 2 * mostTimes {
		a.measured("channel_switch", time.Now())
	}
	if len(a.times) != mostTimes {
		t.Errorf("%d measurements are kept, want %d", len(a.times), mostTimes)
	}
	a.times = nil
	a.b.Version = version{9, 8}
	if a.measured("page_load", time.Now()); len(a.times) != 0 {
		t.Error("a server that takes no reports would get one")
	}
}

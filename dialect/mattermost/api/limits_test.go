package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/wire"
)

const unread = `{"team_id":"t"}`

// An answer beyond a call's limit, of bytes or of elements, is of class body; lists that come whole
// and files have larger limits.
func TestAnAnswerBeyondItsLimitIsOfClassBody(t *testing.T) {
	member := `{"id":"` + anID + `","username":"u","user_id":"` + anID +
		`","category":"c","name":"n","value":"` + strings.Repeat("x", 100) + `"},`
	array := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(member, n/len(member)), ",") + "]"
	}
	for _, tt := range []struct {
		name  string
		body  string
		call  effect
		class measure.Class
		err   error
	}{
		{"a page of 3 MB", array(3 << 20), ask("Users", 0, 60, ""), measure.OK, nil},
		{"a page of 5 MB", array(5 << 20), ask("Users", 0, 60, ""), measure.Body, wire.ErrBodySize},
		{"preferences of 5 MB", array(5 << 20), ask("Preferences", anID), measure.OK, nil},
		{"preferences of 17 MB", array(17 << 20), ask("Preferences", anID), measure.Body, wire.ErrBodySize},
		{"a file of 20 MB", strings.Repeat("x", 20<<20), ask("File", "f"), measure.OK, nil},
		{"a picture of 20 MB", strings.Repeat("x", 20<<20), ask("Thumbnail", "f"),
			measure.Body, wire.ErrBodySize},
		{"as many elements as are allowed", "[" + strings.Repeat(unread+",", mostElements-1) + unread + "]",
			ask("TeamsUnread", anID), measure.OK, nil},
		{"too many elements", "[" + strings.Repeat(unread+",", mostElements) + unread + "]",
			ask("TeamsUnread", anID), measure.Body, wire.ErrElements},
		{"too many members",
			`{"user_id":"` + anID + `","status":"away"` + strings.Repeat(`,"a":1`, mostElements) + "}",
			ask("MyStatus", anID), measure.Body, wire.ErrElements},
	} {
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, tt.body)
		})
		rec := &tally{reg: measure.NewRegistry(1)}
		c, err := NewClient(Options{URL: addr, Timeout: 30 * time.Second, Recorder: rec,
			Table: NewTable(rec.reg, "")})
		if err != nil {
			t.Fatal(err)
		}
		before := wire.Refused()
		err = tt.call.do(t.Context(), c)
		if got := rec.take(); !strings.HasSuffix(got, ":"+tt.class.String()) ||
			!errors.Is(err, tt.err) ||
			(err == nil) != (tt.err == nil) {
			t.Errorf("%s: got %s, %v; want %v, %v", tt.name, got, err, tt.class, tt.err)
		}
		if n := wire.Refused().Sub(before).Beyond(); (n == 1) != (tt.err != nil) {
			t.Errorf("%s: %d refusals were counted", tt.name, n)
		}
		if used := wire.Process().Used(); used != 0 {
			t.Errorf("%s: %d bytes stay taken", tt.name, used)
		}
		c.Close()
	}
}

// Memory for the values of a large answer is reserved while it is decoded: without room for it the
// call fails with class body.
func TestDecodingTakesItsMemoryFromTheBudget(t *testing.T) {
	body := "[" + strings.Repeat(unread+",", 8000) + unread + "]"
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, body)
	})
	defer wire.Process().SetLimit(wire.DefaultBudget)
	c, rec := newTestClient(t, addr)
	for _, tt := range []struct {
		limit int64
		want  string
	}{{6 << 17, "teams_unread:ok"}, {5 << 16, "teams_unread:body"}} {
		wire.Process().SetLimit(tt.limit)
		_, err := c.TeamsUnread(t.Context(), anID)
		if got := rec.take(); got != tt.want || (err != nil) != errors.Is(err, wire.ErrBudget) {
			t.Errorf(
				"%d bytes for an answer of %d: %s, %v; want %s",
				tt.limit,
				len(body),
				got,
				err,
				tt.want,
			)
		}
	}
}

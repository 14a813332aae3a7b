package mattermost

import (
	"io"
	"net/http"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// TestPostsAcceptedWithoutIdAreNotLostSilently: half of the posts of a poster are answered 200
// {"status":"OK"}. Each of them is an error of class decode, and the ledger records that it cannot
// be looked for; the audit expects the others.
func TestPostsAcceptedWithoutIdAreNotLostSilently(t *testing.T) {
	n := 0
	addr := inTurn(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if n++; n%2 == 0 {
			io.WriteString(w, `{"status":"OK"}`)
			return
		}
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"id":"`+itoa(n)+`","create_at":7,"channel_id":"`+anID+`"}`)
	})
	reg := measure.NewRegistry(1)
	env := workload.Env{URL: addr, Pace: 1, Registry: reg, Timeout: time.Minute,
		Ledger: workload.NewLedger(0, 1)}
	p := &Poster{posting: posting{Channels: []string{anID}, Token: "t"}}
	a := newActor(t, p, env, userOf(env, 0))
	defer a.Close()
	const posts = 40
	for range posts {
		passTurn()
		err := a.(*poster).act(t.Context(), false)
		passTurn()
		if (err != nil) != (n%2 == 0) {
			t.Fatalf("post %d: %v", n, err)
		}
	}
	for _, w := range reg.Cut() {
		if w.Name == "post" && (w.Classes[measure.OK] != posts/2 ||
			w.Classes[measure.Decode] != posts/2) {
			t.Errorf("classes %v", w.Classes)
		}
	}
	if c := env.Ledger.Count(); c.Acked != posts/2 || c.Unnamed != posts/2 {
		t.Errorf("%+v", c)
	}
	if list, _ := env.Ledger.Messages(); len(list) != 1 || len(list[0].IDs) != posts/2 {
		t.Errorf("the audit expects %v", list)
	}
}

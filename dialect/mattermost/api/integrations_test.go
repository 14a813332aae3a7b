package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"
)

// A webhook's post goes out beside the API and without a session, and only the answer "ok" is one.
func TestFireWebhook(t *testing.T) {
	var got string
	answer := "ok"
	addr := inTurn(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + string(b)
		io.WriteString(w, answer)
	})
	c, rec := newTestClient(t, addr)
	c.SetToken("secret-token")
	sent, acked, err := c.FireWebhook(t.Context(), "h", "deck", `say "no"`, "u:1")
	if err != nil || sent.IsZero() || acked.Before(sent) || rec.take() != "webhook:ok" {
		t.Error(sent, acked, err)
	}
	if want := `POST /hooks/h {"channel":"deck","text":"say \"no\"","props":{"plimsoll":"u:1"}}`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, answer = range []string{"", "OK", "okay", `{"status":"OK"}`} {
		if _, _, err := c.FireWebhook(t.Context(), "h", "deck", "x", "u:1"); err == nil ||
			rec.take() != "webhook:decode" {
			t.Errorf("%q passed", answer)
		}
	}
	if c.Token != "secret-token" {
		t.Error("the session is gone")
	}
}

// Calls beyond the package's own have the names that the table was made with, in its phase.
func TestCall(t *testing.T) {
	s := stub{code: 202, body: `{"n":7}`}
	c, rec := newTestClient(t, s.serve(t))
	c.Table = NewTable(rec.reg, "login", "poll")
	var v struct{ N int }
	err := c.Call(t.Context(), "poll", "PUT", "/plugins/polls/one?x=1", []byte(`{}`),
		func(b []byte) error { return json.Unmarshal(b, &v) })
	if got := rec.take(); err != nil || v.N != 7 || got != "login_poll:ok" {
		t.Errorf("%v, %v, recorded %s", v, err, got)
	}
	s.code = 404
	err = c.Call(t.Context(), "poll", "GET", "/plugins/polls/two", nil, nil)
	if got := rec.take(); err == nil || got != "login_poll:4xx" {
		t.Errorf("%v, recorded %s", err, got)
	}
	for _, name := range []string{"post", "unknown"} {
		if err := c.Call(t.Context(), name, "GET", "/", nil, nil); err == nil || rec.take() != "" {
			t.Errorf("%s passed", name)
		}
	}
}

// An awaited event is an operation from the sending on; without one it times out.
func TestAwait(t *testing.T) {
	c, rec := newTestClient(t, "http://127.0.0.1:1")
	came := make(chan Echo, 1)
	sent := time.Now()
	came <- Echo{ID: ParseID(anID), At: sent.Add(time.Second)}
	if a, err := c.Await(t.Context(), rec, BotAnswer, sent, came); err != nil ||
		a.ID != ParseID(anID) || rec.take() != "bot_answer:ok" {
		t.Error(a, err)
	}
	if _, err := c.Await(t.Context(), rec, BotAnswer, sent.Add(-time.Hour), came); err == nil ||
		rec.take() != "bot_answer:timeout" {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := c.Await(ctx, rec, BotAnswer, sent, came); err == nil || rec.take() != "" {
		t.Error(err)
	}
}

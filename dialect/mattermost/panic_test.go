package mattermost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/boundary"
	"plimsoll/load/workload"
	"plimsoll/reference/refchat"
)

// failing is a proxy that passes the first n requests on and answers the others by fail. It counts
// them.
func failing(
	t *testing.T, target string, n int64, fail http.HandlerFunc,
) (addr string, seen *atomic.Int64) {
	t.Helper()
	seen = new(atomic.Int64)
	pass := passing(t, target)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1) > n {
			fail(w, r)
			return
		}
		pass.ServeHTTP(w, r)
	}), seen
}

// TestVerifyOfATargetThatBeginsToFailDoesNotPanic: when the target begins to fail in some proof,
// the others are reported as failed, each with the reason. Before, a reload that failed left the
// person without a channel, and the next proof that posted there panicked.
func TestVerifyOfATargetThatBeginsToFailDoesNotPanic(t *testing.T) {
	direct, password := reference(t, "postgresql", refchat.Config{})
	only := []string{"full_reload", "logout_login", "create_private_channel", "add_reaction",
		"edit_post", "follow_thread", "upsert_draft", "click_user_profile", "add_channel_bookmark"}
	verify := func(n int64, fail http.HandlerFunc) (proofs []Proof, seen int64, err error) {
		addr, count := failing(t, direct, n, fail)
		proofs, err = Verify(t.Context(),
			VerifyConfig{URL: addr, Password: password, Timeout: time.Minute, Only: only})
		return proofs, count.Load(), err
	}
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, before, err := verify(1<<62, refuse)
	noError(t, err)
	fails := []struct {
		name string
		f    http.HandlerFunc
	}{
		{"500", refuse},
		{"401", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
		}},
		{"an empty object", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }},
		{"a cut connection", func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}},
	}
	began := 0
	for i := range 10 {
		n := before * int64(2*i+5) / 25
		fail := fails[i%len(fails)]
		proofs, _, err := verify(n, fail.f)
		if err != nil {
			continue // it began to fail before the first proof
		}
		began++
		failed := 0
		for _, p := range proofs {
			if p.Stack != "" || strings.Contains(p.Detail, "panic") {
				t.Errorf(
					"%s after %d requests: %s: %s\n%s",
					fail.name,
					n,
					p.Action,
					p.Detail,
					p.Stack,
				)
			}
			if p.Outcome == OutcomeFailed {
				failed++
				if p.Detail == "" {
					t.Errorf(
						"%s after %d requests: %s failed for no reason",
						fail.name,
						n,
						p.Action,
					)
				}
			}
		}
		if failed == 0 || len(proofs) != len(only) {
			t.Errorf(
				"%s after %d requests: %d of %d proofs failed",
				fail.name,
				n,
				failed,
				len(proofs),
			)
		}
	}
	if began < 5 {
		t.Errorf("only %d verifications got as far as a proof", began)
	}
}

// A proof that panics has failed, with the stack, and the next one has persons that work.
func TestAProofThatPanicsHasFailed(t *testing.T) {
	target, password := reference(t, "postgresql", refchat.Config{})
	s, err := newStage(t.Context(), VerifyConfig{URL: target, Password: password})
	noError(t, err)
	defer s.close()
	bad := action{name: "bad", prove: func(*stage) {
		s.actor.mu.Lock() // which will never be released
		var none *channel
		none.members.Load()
	}}
	p := s.verify(t.Context(), &bad)
	if p.Outcome != OutcomeFailed ||
		!strings.Contains(p.Detail, "panic in the proof of bad: runtime error") ||
		!strings.Contains(p.Stack, "TestAProofThatPanicsHasFailed") {
		t.Errorf("%+v", p)
	}
	for i := range actions {
		if a := &actions[i]; a.name == "create_post" {
			if p := s.verify(t.Context(), a); p.Outcome != OutcomeOK {
				t.Errorf("the next proof: %+v", p)
			}
		}
	}
}

// An event whose handling panics ends the connection, not the program, and the run is notified.
func TestAnEventWhoseHandlingPanicsEndsTheConnection(t *testing.T) {
	again := make(chan struct{})
	var mu sync.Mutex
	conns := 0
	url := socketServer(t, func(c *websocket.Conn, send func(string)) {
		mu.Lock()
		conns++
		n := conns
		mu.Unlock()
		send(hello)
		if n == 2 {
			close(again)
		} else {
			send(posted(1, "p1", "other", ""))
		}
		_, _, _ = c.ReadMessage()
	})
	told := make(chan *boundary.Panic, 10)
	env := workload.Env{
		URL:    url,
		Ledger: workload.NewLedger(0, 1),
		Panicked: func(p *boundary.Panic) {
			told <- p
		},
	}
	a := lone(t, &env, settings{})
	a.b.dir = nil // the handler of the event needs it
	a.begin(a.login)
	noError(t, (&act{t.Context(), a}).connect())
	defer a.Close()
	for what, c := range map[string]<-chan struct{}{"a second connection": again} {
		select {
		case <-c:
		case <-time.After(30 * time.Second):
			t.Fatalf("no %s", what)
		}
	}
	if p := <-told; p.Where != "handling an event" || !strings.Contains(p.Stack, "hear") {
		t.Errorf("told %v", p)
	}
}

// Calls that go out together, one of which panics, end in its panic as their error.
func TestACallBesideOthersThatPanics(t *testing.T) {
	a := lone(t, &workload.Env{URL: serve(t, http.NotFound), Pace: 1}, settings{parallel: true, connections: 6})
	defer a.Close()
	a.begin(a.login)
	fine := func(context.Context, *api.Client) error { return nil }
	err := (&act{t.Context(), a}).together(fine, fine, func(context.Context, *api.Client) error {
		panic("odd")
	}, fine)
	if p, ok := errors.AsType[*boundary.Panic](err); !ok || p.Value != "odd" {
		t.Errorf("%v", err)
	}
}

package mattermost

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
	"plimsoll/reference/refchat"
)

// A person's identifiers of its posts are those of the web app, and no two are the same, however
// fast it writes.
func TestPendingIDs(t *testing.T) {
	a := &person{id: anID}
	before := time.Now().UnixMilli()
	had := int64(0)
	for range 1000 {
		id := a.pendingID()
		m := regexp.MustCompile(`^` + anID + `:(\d{13})$`).FindStringSubmatch(id)
		if m == nil {
			t.Fatalf("%q is not USER:MILLISECONDS", id)
		}
		at, _ := strconv.ParseInt(m[1], 10, 64) // thirteen digits
		if at <= had || at < before {
			t.Fatalf("%d after %d, begun at %d", at, had, before)
		}
		had = at
	}
	if a.named = 0; a.pendingID() == "" || a.named < before || a.named > time.Now().UnixMilli() {
		t.Errorf("the moment is %d, and it is %d", a.named, time.Now().UnixMilli())
	}
}

// A post whose response is lost between the server and the client, and that everyone has got, was
// posted: the event that came back to its author says so. So was one whose event comes after the
// response was given up. The operation failed all the same.
func TestLostResponsesAreNotLostPosts(t *testing.T) {
	target, password := reference(t, "postgresql", refchat.Config{})
	const (
		passes = iota
		drops  // the response
		holds  // it for longer than the client waits
		fails  // in place of the server, which has answered
		denies // in place of the server, which is not asked
	)
	var does atomic.Int32
	over := make(chan struct{})
	proxy := passing(t, target)
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mode := does.Load()
		if r.Method != "POST" || r.URL.Path != "/api/v4/posts" || mode == passes {
			proxy.ServeHTTP(w, r)
			return
		}
		if mode == denies {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, r.Clone(t.Context())) // it outlives the client's request
		if answer.Code != http.StatusCreated {
			t.Errorf("the server answers %d %s", answer.Code, answer.Body)
		}
		switch mode {
		case holds:
			<-over
		case fails:
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		panic(http.ErrAbortHandler) // the connection ends
	})
	t.Cleanup(func() { close(over) })
	env := contractEnv(addr, password)
	const accepted = 6
	env.Params["periodic"] = "off"
	env.Timeout = 3 * time.Second
	b := &Person{}
	noError(t, b.Provision(t.Context(), env, 2))
	a := arrived(t, b, env, 0)
	arrived(t, b, env, 1)
	ch := b.dir.known(api.ParseID(b.Channels[0]))
	noError(t, (&act{t.Context(), a}).enter(a.place(ch)))
	// The other one is a member of all channels of the first.
	person := func(name string) error {
		return (&act{t.Context(), a}).post(ch, api.Draft{Message: "hello " + name})
	}
	// with an account of its own
	own := &poster{c: a.c, u: a.u, id: a.id, channel: ch.key, ledger: env.Ledger}
	poster := func(string) error { return own.act(t.Context(), false) }
	for _, tt := range []struct {
		name string
		post func(name string) error
		does int32
		want workload.LedgerCount
	}{
		{"answered", person, passes, workload.LedgerCount{Acked: 1, Seen: 1}},
		{"reset", person, drops, workload.LedgerCount{Acked: 1, Seen: 1, Unanswered: 1}},
		{"timeout", person, holds, workload.LedgerCount{Acked: 1, Seen: 1, Unanswered: 1}},
		{"failure of a proxy", person, fails, workload.LedgerCount{
			Acked:      1,
			Seen:       1,
			Unanswered: 1,
		}},
		{"refusal", person, denies, workload.LedgerCount{}},
		{"a poster, answered", poster, passes, workload.LedgerCount{Acked: 1, Seen: 1}},
		{"a poster, reset", poster, drops, workload.LedgerCount{Acked: 1, Seen: 1, Unanswered: 1}},
		{"a poster, refusal", poster, denies, workload.LedgerCount{}},
	} {
		before := env.Ledger.Count()
		does.Store(tt.does)
		err := tt.post(tt.name)
		if (err == nil) != (tt.does == passes) {
			t.Errorf("%s: %v", tt.name, err)
		}
		does.Store(passes)
		var got workload.LedgerCount
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			got = env.Ledger.Count().Sub(before)
			if got.Judged = 0; got == tt.want { // that depends on how long the test takes
				break
			}
		}
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	// What was accepted without an answer can be read like all else.
	acked, _ := env.Ledger.Messages()
	n := 0
	for _, m := range acked {
		n += len(m.IDs)
	}
	r, err := b.Audit(t.Context(), env, acked)
	if err != nil || n != accepted || r.Readable != accepted || r.Missing != 0 {
		t.Errorf("of %d messages: %+v, %v", n, r, err)
	}
	posts, err := a.c.Posts(t.Context(), ch.key, 60)
	noError(t, err)
	mine := 0
	for _, p := range posts {
		if p.UserID.String() == a.id && p.Flags&api.PostSystem == 0 {
			mine++
		}
	}
	if mine != accepted {
		t.Errorf("%d posts of the person stand in the channel, want %d", mine, accepted)
	}
}

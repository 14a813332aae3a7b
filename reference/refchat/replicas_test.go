package refchat_test

import (
	"net/http"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/reference/refchat"
)

// TestReplicas: a replica that has nothing yet shows which reads go to it: lists of posts, and no
// write, no session, no membership and no event.
func TestReplicas(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		engine := "postgresql"
		if strings.HasPrefix(dsn, "mysql") {
			engine = "mysql"
		}
		behind := database(t, engine)
		first, err := refchat.New(t.Context(), refchat.Config{
			Listen: "127.0.0.1:0",
			DSN:    behind,
			Hash:   "bcrypt:4",
		})
		noError(t, err)
		first.Close() // its schema is there
		w := newWorld(t, refchat.Config{DSN: dsn, DSNReplicas: []string{behind}})
		u := w.ann
		ws := u.dial()
		// his first request since he joined
		want[obj](w.bob, http.StatusOK, "GET", "/channels/"+w.channel+"/posts", nil)
		p := u.post(w.channel, "hello")
		if got := ws.event("posted"); got == nil {
			t.Error("no event")
		}
		id := p["id"].(string)
		u.gives(http.StatusOK, "GET", "/channels/"+w.channel+"/posts", nil, "order.#", 0)
		want[obj](u, http.StatusOK, "PUT", "/posts/"+id+"/patch", obj{"message": "hello again"})
		want[obj](u, http.StatusOK, "GET", "/users/me", nil)
		w.anon.login("ann", "Password-1")
		if n := u.metric("refchat_replica_statements_total"); n < 1 {
			t.Errorf("%v statements read from the replica", n)
		}
	})
}

// A replica of another engine, or one that is not there, is refused at the start, without its
// address.
func TestBadReplicas(t *testing.T) {
	for _, tt := range []struct{ dsn, want string }{
		{database(t, "mysql"), "it is a mysql, and the database a postgresql"},
		{"postgres://user:hush@127.0.0.1:1/none", "replica 0: connecting to postgresql"},
	} {
		_, err := refchat.New(t.Context(), refchat.Config{
			Listen:      "127.0.0.1:0",
			DSN:         database(t, "postgresql"),
			DSNReplicas: []string{tt.dsn},
		})
		failure.Says(t, err, tt.want)
		failure.Hides(t, err, "hush")
	}
}

package api

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A picture that the client has is not sent again; one that it does not have cannot be unchanged.
func TestPicturesAreNotSentAgain(t *testing.T) {
	s := stub{code: 200, body: "png", etag: "7"}
	c, rec := newTestClient(t, s.serve(t))
	got, fresh, err := c.UserImage(t.Context(), "u", "")
	if err != nil || got != "7" || !fresh {
		t.Errorf("the first time: %q, %v, %v", got, fresh, err)
	}
	if got, fresh, err = c.UserImage(t.Context(), "u", got); err != nil || fresh {
		t.Errorf("the second time: %q, %v, %v", got, fresh, err)
	}
	s.code = 304
	if _, _, err = c.UserImage(t.Context(), "u", ""); err == nil {
		t.Error("304 without a copy passed")
	}
	if s := rec.take(); s != "user_image:ok user_image:ok user_image:decode" {
		t.Error(s)
	}
}

// A login whose answer has no token is none.
func TestLoginNeedsAToken(t *testing.T) {
	addr := inTurn(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, aProfile) })
	c, rec := newTestClient(t, addr)
	if _, err := c.Login(t.Context(), "n", "p"); err == nil || rec.take() != "login:decode" {
		t.Error(err)
	}
}

// A client names its connection where it would otherwise be notified of itself, and nowhere else.
func TestConnectionIsNamed(t *testing.T) {
	var named []string
	addr := inTurn(t, func(w http.ResponseWriter, r *http.Request) {
		named = append(named, r.URL.Path[len("/api/v4"):]+" "+r.Header.Get("Connection-Id"))
		io.WriteString(w, `{"status":"OK","id":"u","username":"n"}`)
	})
	c, _ := newTestClient(t, addr)
	calls := func() {
		if err := c.DeleteDraft(t.Context(), "u", "c", ""); err != nil {
			t.Error(err)
		}
		if _, err := c.Me(t.Context()); err != nil {
			t.Error(err)
		}
	}
	calls()
	c.SetSocket(&Socket{born: ParseID(anID)})
	calls()
	c.SetSocket(nil)
	calls()
	const draft, me = "/users/u/channels/c/drafts ", "/users/me "
	if want := []string{draft, me, draft + anID, me, draft, me}; !slices.Equal(named, want) {
		t.Errorf("%q, want %q", named, want)
	}
}

// The text of a custom status is read out of the profile's property, which is JSON in JSON.
func TestCustomStatusText(t *testing.T) {
	s := stub{
		code: 200,
		body: `{"id":"u","props":{"customStatus":"{\"emoji\":\"tea\",\"text\":\"Back \\\"soon\\\"\",\"expires_at\":\"0001-01-01T00:00:00Z\"}"}}`,
	}
	c, _ := newTestClient(t, s.serve(t))
	if got, err := c.CustomStatus(t.Context(), "u"); err != nil || got != `Back "soon"` {
		t.Errorf("got %q, %v", got, err)
	}
	s.body = `{"id":"u","props":{"customStatus":"nonsense"}}`
	if _, err := c.CustomStatus(t.Context(), "u"); err == nil {
		t.Error("nonsense passed")
	}
}

// Only a client that collapses threads sends that it does.
func TestCollapsedThreadsAreAskedFor(t *testing.T) {
	s := stub{code: 200}
	url := s.serve(t)
	ctx := t.Context()
	c, _ := newTestClient(t, url)
	cc, _ := newTestClient(t, url)
	cc.Collapse = true
	for i, cl := range []*Client{c, cc} {
		s.body = aThread
		for _, call := range []effect{
			ask("PostsSince", "c", 5), ask("PostsBefore", "c", "p", 30), ask("PostsAroundUnread", "u", "c", 30, 30),
		} {
			if err := call.do(ctx, cl); err != nil ||
				strings.Contains(s.asked, "&collapsedThreads=true") != (i == 1) {
				t.Errorf("client %d asks %s: %v", i, s.asked, err)
			}
		}
		s.body = `{"last_viewed_at_times":{"c":1}}`
		if _, err := cl.ViewChannel(ctx, "u", "c", ""); err != nil ||
			strings.Contains(s.asked, `,"collapsed_threads_supported":true}`) != (i == 1) {
			t.Errorf("client %d asks %s: %v", i, s.asked, err)
		}
	}
}

func TestThreadsAreRead(t *testing.T) {
	s := stub{code: 200}
	c, _ := newTestClient(t, s.serve(t))
	ctx := t.Context()
	s.body = `{"threads":[{"id":"r","last_reply_at":9,"last_viewed_at":7,"reply_count":3,"unread_replies":2,"unread_mentions":1,"post":{"id":"r","channel_id":"c","create_at":5}}]}`
	if list, err := c.Threads(ctx, "u", "t", "", 25, false); err != nil || len(list) != 1 ||
		list[0] != (ThreadSeen{ID: ParseID("r"), ChannelID: ParseID("c"), CreateAt: 5, LastReply: 9,
			Viewed: 7, Replies: 3, Unread: 2, UnreadNaming: 1}) {
		t.Errorf("got %+v, %v", list, err)
	}
	s.body = `{"order":["r"],"posts":{"r":{"id":"r","channel_id":"c"}},"has_next":true}`
	if list, more, err := c.ThreadPage(ctx, "r", 0, Seen{}, 60); err != nil || len(list) != 1 ||
		!more || s.asked != "GET /posts/r/thread?direction=down&perPage=60" {
		t.Errorf("got %+v, %v, %v for %s", list, more, err, s.asked)
	}
}

package refchat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/reference/refchat"
)

func TestWebSocketEvents(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		ann, bob := w.ann.dial(), w.bob.dial()
		holds(t, "status_change", bob.event("status_change"), "data.status", "online")
		p := w.ann.post(w.channel, "ahoy @bob")
		for name, s := range map[string]*socket{"ann": ann, "bob": bob} {
			e := s.event("posted")
			d := e["data"].(obj)
			holds(
				t,
				name,
				d,
				"channel_name",
				"deck",
				"channel_display_name",
				"Deck",
				"channel_type",
				"O",
				"sender_name",
				"@ann",
				"team_id",
				w.team,
				"mentions",
				`["`+w.bob.id+`"]`,
				"set_online",
				true,
			)
			holds(t, name, decode(t, text(d["post"])), "id", p["id"], "message", "ahoy @bob")
			holds(
				t,
				"broadcast",
				e["broadcast"],
				"channel_id",
				w.channel,
				"user_id",
				"",
				"omit_users",
				nil,
			)
		}
		holds(t, "channel_viewed", ann.event("channel_viewed"), "data.channel_id", w.channel)
		noError(t, ann.conn.WriteJSON(obj{
			"seq":    1,
			"action": "user_typing",
			"data":   obj{"channel_id": w.channel, "parent_id": ""},
		}))
		holds(t, "typing", bob.event("typing"), "data.user_id", w.ann.id)
		w.bob.ok("POST", "/reactions",
			obj{"user_id": w.bob.id, "post_id": p["id"], "emoji_name": "anchor"})
		holds(t, "reaction_added", ann.about("reaction_added", "reaction"), "emoji_name", "anchor")
		w.bob.ok("DELETE", "/users/me/posts/"+idOf(p)+"/reactions/anchor", nil)
		ann.event("reaction_removed")
		w.ann.ok("PUT", "/posts/"+idOf(p)+"/patch", obj{"message": "avast"})
		holds(t, "post_edited", bob.about("post_edited", "post"), "message", "avast")
		w.ann.ok("DELETE", "/posts/"+idOf(p), nil)
		bob.event("post_deleted")
		w.bob.made("/channels/direct", []string{w.ann.id, w.bob.id})
		ann.event("direct_added")
		// Ann did not get her own typing event, and every number came once and in order: the
		// channel of messages holds events only up to the last one read, so a fresh connection is
		// used.
		fresh := w.ann.dial()
		for i := range 20 {
			w.bob.post(w.channel, fmt.Sprint("n", i))
		}
		noError(t, bob.conn.WriteJSON(obj{
			"seq":    2,
			"action": "user_typing",
			"data":   obj{"channel_id": w.channel},
		}))
		var bobs []obj
		for m := bob.next(); m["seq_reply"] != float64(2); m = bob.next() {
			bobs = append(bobs, m)
		}
		bobs = append(bobs, bob.sync(1)...)
		if slices.ContainsFunc(bobs, func(e obj) bool { return e["event"] == "typing" }) {
			t.Error("bob heard himself type")
		}
		events := fresh.sync(1) // bob's typing comes before the mark
		holds(t, "ann's messages", messages(t, events), "#", 20, "0", "n0", "19", "n19")
		seq := int64(0)
		for _, e := range events {
			if e["event"] == nil {
				continue
			}
			if seq++; num(e["seq"]) != seq {
				t.Fatalf("seq %v, want %d", e["seq"], seq)
			}
		}
		// A user who joins gets events from then on, one who has left no more.
		eve := w.addUser("eve")
		es := eve.dial()
		w.join(eve, eve.id)
		w.ann.post(w.channel, "before")
		eve.made("/channels/"+w.channel+"/members", obj{"user_id": eve.id})
		w.ann.post(w.channel, "during")
		w.ann.ok("DELETE", "/channels/"+w.channel+"/members/"+eve.id, nil)
		w.ann.post(w.channel, "after")
		if got := messages(t, es.sync(1)); !slices.Equal(got, []string{"during"}) {
			t.Errorf("eve heard %v", got)
		}
	})
}

func TestWebSocketAuthentication(t *testing.T) {
	dsn := database(t, "postgresql")
	w := newWorld(t, refchat.Config{DSN: dsn})
	s := w.anon.dialRaw()
	noError(t, s.conn.WriteJSON(obj{"seq": 1, "action": "user_typing", "data": obj{}}))
	holds(t, "without a session", s.next(), "status", "FAIL", "error.id",
		"api.web_socket_router.not_authenticated.app_error")
	noError(t, s.conn.WriteJSON(obj{
		"seq":    2,
		"action": "authentication_challenge",
		"data":   obj{"token": w.ann.token},
	}))
	var hello, ok bool
	for !hello || !ok {
		m := s.next()
		hello = hello || m["event"] == "hello"
		ok = ok || m["status"] == "OK" && m["seq_reply"] == float64(2)
	}
	m := s.asked(3, "get_statuses_by_ids", obj{"user_ids": []string{w.ann.id}})
	holds(t, "statuses", m["data"], w.ann.id, "online")
	holds(t, "unknown action", s.asked(4, "dance", nil), "status", "FAIL", "error.id",
		"api.web_socket_router.bad_action.app_error")
	bad := w.anon.dialRaw()
	noError(t, bad.conn.WriteJSON(obj{
		"seq":    1,
		"action": "authentication_challenge",
		"data":   obj{"token": strings.Repeat("a", 26)},
	}))
	select {
	case m, open := <-bad.msgs:
		if open {
			t.Errorf("a wrong token was answered with %v", m)
		}
	case <-time.After(patience):
		t.Error("a wrong token keeps its connection")
	}
}

// TestSlowConsumer fills the queue of a connection that does not read: it is closed and the loss
// counted, and others do not notice.
func TestSlowConsumer(t *testing.T) {
	w := plainWorld(t)
	d := websocket.Dialer{ReadBufferSize: 1024}
	conn, _, err := d.Dial(
		"ws"+strings.TrimPrefix(w.bob.url, "http")+"/api/v4/websocket",
		map[string][]string{"Authorization": {"Bearer " + w.bob.token}},
	)
	noError(t, err)
	defer conn.Close()
	ann := w.ann.dial()
	big := strings.Repeat("x", 16000)
	sent := 0
	for w.metric("refchat_websocket_dropped_total", "reason=overflow") == 0 {
		if sent > 3000 {
			t.Fatal("3000 posts of 16 kB did not fill the queue")
		}
		for range 50 {
			w.ann.post(w.channel, big)
			sent++
		}
	}
	holds(t, "ann got", messages(t, ann.sync(1)), "#", sent)
	if n := w.metric("mattermost_http_websockets_total"); n != 1 {
		t.Errorf("%v connections are left, want ann's", n)
	}
}

// TestBus runs two servers on one database: events, changes of membership and cached values cross.
func TestBus(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		// Each needs the other's address, so the second listener's is reserved by making the second
		// server first.
		two, err := refchat.New(t.Context(), refchat.Config{
			DSN:       dsn,
			Hash:      "bcrypt:4",
			Listen:    "127.0.0.1:0",
			BusListen: "127.0.0.1:0",
		})
		noError(t, err)
		addr2 := two.BusAddr()
		two.Close()
		w := newWorld(t, refchat.Config{
			DSN:       dsn,
			BusListen: "127.0.0.1:0",
			BusPeers:  []string{addr2},
		})
		other := serve(t, refchat.Config{
			DSN:       dsn,
			BusListen: addr2,
			BusPeers:  []string{w.s.BusAddr()},
		})
		bob2 := newClient(t, other)
		bob2.token, bob2.id = w.bob.token, w.bob.id
		sock := bob2.dial()
		// Peers find each other with back-off: post until one arrives, then all must.
		deadline := time.Now().Add(patience)
		for i := 0; ; i++ {
			w.ann.post(w.channel, fmt.Sprint("probe", i))
			if len(messages(t, sock.sync(i+1))) > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("no event crossed in %v", patience)
			}
			time.Sleep(20 * time.Millisecond)
		}
		for i := range 50 {
			w.ann.post(w.channel, fmt.Sprint("m", i))
		}
		var got []string
		for len(got) == 0 || got[len(got)-1] != "m49" {
			if m := messages(t, []obj{sock.event("posted")}); len(m) == 1 &&
				strings.HasPrefix(m[0], "m") {
				got = append(got, m[0])
			}
		}
		if len(got) != 50 {
			t.Errorf("%d of 50 posts crossed: %v", len(got), got)
		}
		// The other way, and a membership that the second server has cached.
		eve := w.addUser("eve")
		eve2 := newClient(t, other)
		eve2.token, eve2.id = eve.token, eve.id
		eve2.forbidden("GET", "/channels/"+w.channel+"/posts", nil)
		w.join(w.ann, eve.id)
		w.ann.made("/channels/"+w.channel+"/members", obj{"user_id": eve.id})
		for eve2.send("GET", "/channels/"+w.channel+"/posts", nil).status != 200 {
			if time.Now().After(deadline.Add(patience)) {
				t.Fatal("the second server still has the old membership")
			}
			time.Sleep(10 * time.Millisecond)
		}
		ann := w.ann.dial()
		eve2.post(w.channel, "from the other side")
		for {
			if m := messages(t, []obj{ann.event("posted")}); slices.Equal(
				m,
				[]string{"from the other side"},
			) {
				break
			}
		}
		// A server knows the pending ids that itself was sent.
		draft := obj{"channel_id": w.channel, "message": "twice",
			"pending_post_id": eve.id + ":1600000000000"}
		if a, b := eve.create("/posts", draft), eve2.create("/posts", draft); a["id"] == b["id"] {
			t.Error(
				"a server knows the posts of another by their pending ids; the real one's do not exchange them",
			)
		}
		for _, c := range []*client{w.anon, bob2} {
			if n := c.metric("refchat_bus_received_total"); n == 0 {
				t.Error("a server received nothing over the bus")
			}
		}
	})
}

package refchat_test

import (
	"strings"
	"testing"
	"time"
)

func prioritized(channel, message string, priority obj) obj {
	return obj{"channel_id": channel, "message": message, "metadata": obj{"priority": priority}}
}

func TestPriority(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		ann, bob := w.ann.dial(), w.bob.dial()
		p := w.ann.create("/posts",
			prioritized(w.channel, "read this", obj{"priority": "urgent", "requested_ack": true}))
		isUrgent := func(p obj) bool {
			x, _ := p["metadata"].(obj)["priority"].(obj)
			return x != nil && x["priority"] == "urgent" && x["requested_ack"] == true
		}
		if !isUrgent(p) {
			t.Errorf("answer %v", p)
		}
		if got := bob.about("posted", "post"); !isUrgent(got) {
			t.Errorf("event %v", got)
		}
		at := "/users/me/posts/" + idOf(p) + "/ack"
		w.bob.gives(
			200,
			"POST",
			at,
			nil,
			"user_id",
			w.bob.id,
			"post_id",
			p["id"],
			"acknowledged_at",
			some,
		)
		holds(
			t,
			"event",
			ann.about("post_acknowledgement_added", "acknowledgement"),
			"user_id",
			w.bob.id,
		)
		acks := func() int {
			l := w.ann.get("/channels/" + w.channel + "/posts?since=" + "1")
			x := l["posts"].(obj)[idOf(p)].(obj)
			if !isUrgent(x) {
				t.Errorf("listed %v", x)
			}
			list, _ := x["metadata"].(obj)["acknowledgements"].([]any)
			return len(list)
		}
		if n := acks(); n != 1 {
			t.Errorf("%d acknowledgements", n)
		}
		eve := w.addUser("eve")
		eve.forbidden("POST", at, nil)

		w.ann.made("/posts",
			prioritized(w.channel, "come here @bob",
				obj{"priority": "urgent", "persistent_notifications": true}))
		for id, bad := range map[string]obj{
			"priority_post_only_allowed_for_root_post": {
				"channel_id": w.channel,
				"root_id":    p["id"],
				"message":    "x",
				"metadata":   obj{"priority": obj{"priority": "urgent"}},
			},
			"urgent_persistent_notification_post": prioritized(w.channel, "@bob", obj{
				"priority":                 "important",
				"persistent_notifications": true,
			}),
			"persistent_notification_validation_error": prioritized(w.channel, "nobody", obj{
				"priority":                 "urgent",
				"persistent_notifications": true,
			}),
		} {
			w.ann.fails(400, "api.post.post_priority."+id+".request_error", "POST", "/posts", bad)
		}
		w.ann.badBody("POST", "/posts", prioritized(w.channel, "x", obj{"priority": "very"}))
	})
}

func TestReminder(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		ann, bob := w.ann.dial(), w.bob.dial()
		p := w.ann.post(w.channel, "later")
		at := "/users/me/posts/" + idOf(p) + "/reminder"
		for range 2 { // the second changes the time of the first
			w.bob.ok("POST", at, obj{"target_time": time.Now().Add(10 * time.Minute).Unix()})
			e := bob.about("ephemeral_message", "post")
			if e["channel_id"] != w.channel || !strings.Contains(text(e["message"]), idOf(p)) ||
				!strings.Contains(text(e["message"]), "@ann") {
				t.Errorf("ephemeral message %v", e)
			}
		}
		if ann.count(1, "ephemeral_message") > 0 {
			t.Error("another user was told")
		}
		// It comes when it is due, once.
		for _, after := range []time.Duration{9 * time.Minute, 11 * time.Minute, 12 * time.Minute} {
			noError(t, w.s.RemindOnce(t.Context(), time.Now().Add(after)))
		}
		if n := bob.count(1, "ephemeral_message"); n != 1 {
			t.Errorf("reminded %d times", n)
		}
		w.bob.badBody("POST", at, obj{"target_time": 1})
		w.bob.fails(404, "app.post.get.app_error", "POST", "/users/me/posts/"+w.channel+"/reminder",
			obj{"target_time": time.Now().Unix() + 600})
	})
}

// TestPersistentNotification checks that notifications repeat until a user acts on the post.
func TestPersistentNotification(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		ann, bob := w.ann.dial(), w.bob.dial()
		p := w.ann.create("/posts",
			prioritized(w.channel, "come here @bob",
				obj{"priority": "urgent", "persistent_notifications": true}))
		mark := 0
		triggered := func(s *socket) int {
			mark++
			return s.count(mark, "persistent_notification_triggered")
		}
		now := time.Now()
		pass := func(d time.Duration) {
			t.Helper()
			now = now.Add(d)
			noError(t, w.s.RemindOnce(t.Context(), now))
		}
		pass(4 * time.Minute)
		if n := triggered(bob); n != 0 {
			t.Errorf("%d notifications before the time", n)
		}
		pass(2 * time.Minute)
		pass(time.Minute)
		pass(5 * time.Minute)
		if n := triggered(bob); n != 2 {
			t.Errorf("%d notifications in 12 minutes, want 2", n)
		}
		if n := triggered(ann); n != 0 {
			t.Errorf("the author was notified %d times", n)
		}
		w.bob.ok("POST", "/users/me/posts/"+idOf(p)+"/ack", nil)
		pass(10 * time.Minute)
		if n := triggered(bob); n != 0 {
			t.Errorf("%d notifications after the acknowledgement", n)
		}
	})
}

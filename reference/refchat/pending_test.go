package refchat_test

import (
	"testing"
)

// An author's own identifier of a post comes back in the answer and in the events, and is stored
// nowhere. Sent again within 30 s it gives the post that there is.
func TestPendingPostIDs(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		ann, bob := w.ann.dial(), w.bob.dial()
		draft := obj{"channel_id": w.channel, "message": "once",
			"pending_post_id": w.ann.id + ":1600000000000"}
		first := w.ann.gives(
			201,
			"POST",
			"/posts",
			draft,
			"pending_post_id",
			draft["pending_post_id"],
		)
		for name, s := range map[string]*socket{"ann": ann, "bob": bob} {
			got := s.about("posted", "post")
			if got["id"] != first["id"] || got["pending_post_id"] != draft["pending_post_id"] {
				t.Errorf("%s got an event of %v with %v", name, got["id"], got["pending_post_id"])
			}
		}
		w.bob.shows("/posts/"+idOf(first), "pending_post_id", "")
		w.ann.gives(
			201,
			"POST",
			"/posts",
			draft,
			"id",
			first["id"],
			"create_at",
			first["create_at"],
			"metadata",
			some,
		)
		// One that was declined may be sent again: nothing of it is there.
		draft["pending_post_id"], draft["root_id"] = w.ann.id+":1600000000001", w.ann.id
		w.ann.fails(400, "api.post.create_post.root_id.app_error", "POST", "/posts", draft)
		delete(draft, "root_id")
		draft["message"] = "another"
		if p := w.ann.create("/posts", draft); p["id"] == first["id"] || p["message"] != "another" {
			t.Errorf("after it was declined: %v", p)
		}
		ann.event("posted")
		if got := bob.about("posted", "post"); got["message"] != "another" {
			t.Errorf("the next event is of %v: the repetition had one of its own", got["message"])
		}
	})
}

package refchat_test

import (
	"fmt"
	"testing"
)

func TestBookmarks(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		bob := w.bob.dial()
		path := "/channels/" + w.channel + "/bookmarks"
		names := func(since string) (out []string) {
			for _, b := range want[[]obj](w.bob, 200, "GET", path+since, nil) {
				out = append(out, text(b["display_name"]))
			}
			return out
		}
		add := func(c *client, name string) obj {
			return c.create(path,
				obj{
					"display_name": name,
					"link_url":     "https://example.com/" + name,
					"type":         "link",
				})
		}
		a := add(w.ann, "a")
		holds(
			t,
			"event",
			bob.about("channel_bookmark_created", "bookmark"),
			"id",
			a["id"],
			"owner_id",
			w.ann.id,
		)
		add(w.ann, "b")
		file := w.ann.uploaded(w.channel, "plan.txt", []byte("the plan"), "&bookmark=true")
		c := w.ann.gives(201, "POST", path, obj{
			"display_name": "c",
			"file_id":      file,
			"type":         "file",
		},
			"file.name", "plan.txt", "sort_order", 2)
		if got := w.bob.send("GET", "/files/"+file, nil); got.status != 200 ||
			string(got.body) != "the plan" {
			t.Errorf("the file: %d %s", got.status, got.body)
		}
		own := w.ann.uploaded(w.channel, "mine.txt", []byte("x"), "")
		w.ann.fails(
			400,
			"model.channel_bookmark.is_valid.file_id.missing_or_invalid.app_error",
			"POST",
			path,
			obj{"display_name": "d", "file_id": own, "type": "file"},
		)

		moved := want[[]obj](w.bob, 200, "POST", path+"/"+idOf(c)+"/sort_order", 0)
		if e := fmt.Sprint(names("")); e != "[c a b]" || moved[0]["id"] != c["id"] {
			t.Errorf("order %s, answer %v", e, moved)
		}
		bob.event("channel_bookmark_sorted")
		w.ann.fails(404, "app.channel.bookmark.update_sort.app_error", "POST",
			path+"/"+idOf(c)+"/sort_order", 3)

		mine := want[map[string]obj](
			w.ann,
			200,
			"PATCH",
			path+"/"+idOf(a),
			obj{"display_name": "a2"},
		)
		holds(
			t,
			"own bookmark",
			mine,
			"updated.display_name",
			"a2",
			"updated.id",
			a["id"],
			"deleted",
			nil,
		)
		bob.event("channel_bookmark_updated")
		theirs := want[map[string]obj](
			w.bob,
			200,
			"PATCH",
			path+"/"+idOf(a),
			obj{"display_name": "a3"},
		)
		holds(t, "another's bookmark", theirs, "updated.owner_id", w.bob.id, "updated.original_id",
			a["id"], "deleted.id", a["id"])
		if e := fmt.Sprint(names("")); e != "[c a3 b]" {
			t.Errorf("after the changes: %s", e)
		}
		gone := w.bob.ok("DELETE", path+"/"+idOf(c), nil)
		if e := bob.about("channel_bookmark_deleted", "bookmark"); e["id"] != c["id"] ||
			num(gone["delete_at"]) == 0 {
			t.Errorf("event %v, answer %v", e, gone)
		}
		if e := fmt.Sprint(names("")); e != "[a3 b]" {
			t.Errorf("after the deletion: %s", e)
		}
		holds(
			t,
			"since the deletion",
			names(fmt.Sprintf("?bookmarks_since=%d", num(gone["delete_at"]))),
			"#",
			1,
			"0",
			"c",
		)
		w.ann.fails(404, "app.channel.bookmark.get.app_error", "DELETE", path+"/"+idOf(c), nil)
		w.addUser("eve").forbidden("GET", path, nil)
		w.ann.fails(
			400,
			"model.channel_bookmark.is_valid.link_url.missing_or_invalid.app_error",
			"POST",
			path,
			obj{"display_name": "x", "link_url": "example", "type": "link"},
		)
		for i := len(names("")); i < 50; i++ {
			add(w.ann, fmt.Sprint("n", i))
		}
		w.ann.fails(500, "app.channel.bookmark.save.app_error", "POST", path,
			obj{"display_name": "x", "link_url": "https://example.com", "type": "link"})
	})
}

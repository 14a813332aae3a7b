package refchat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestLoginAndTokens(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		w.ann.shows("/users/me", "username", "ann", "notify_props", some, "password", nil)
		w.bob.shows("/users/"+w.ann.id, "notify_props", nil, "username", "ann")
		w.anon.fails(
			401,
			"api.user.login.invalid_credentials_email_username",
			"POST",
			"/users/login",
			obj{"login_id": "ann", "password": "wrong"},
		)
		w.anon.fails(
			401,
			"api.user.login.invalid_credentials_email_username",
			"POST",
			"/users/login",
			obj{"login_id": "nobody", "password": "wrong"},
		)
		w.anon.fails(400, "api.user.login.blank_pwd.app_error", "POST", "/users/login", obj{})
		w.anon.fails(401, "api.context.session_expired.app_error", "GET", "/users/me", nil)
		w.anon.fails(400, "app.user.save.username_exists.app_error", "POST", "/users",
			obj{"username": "ann", "email": "x@example.com", "password": "Password-1"})
		w.anon.fails(400, "app.user.save.email_exists.app_error", "POST", "/users",
			obj{"username": "xen", "email": "ann@example.com", "password": "Password-1"})
		w.anon.fails(400, "model.user.is_valid.username.app_error", "POST", "/users",
			obj{"username": "1", "email": "x@example.com", "password": "Password-1"})
		w.ann.forbidden("POST", "/bots", obj{"username": "robot"})
		w.ann.forbidden("POST", "/users/"+w.ann.id+"/tokens", obj{"description": "x"})
		bot := w.addBot("robot")
		bot.shows("/users/me", "is_bot", true)
		a := w.ann.send("GET", "/users/me", nil)
		if h := a.header; len(h.Get("X-Request-Id")) != 26 ||
			!strings.HasPrefix(h.Get("X-Version-Id"), "11.0.0.11.0.0.") ||
			h.Get("Expires") != "0" {
			t.Errorf("headers %v", h)
		}
		req, _ := http.NewRequest("GET", w.anon.url+"/api/v4/users/me", nil)
		req.Header.Set("If-None-Match", a.header.Get("Etag"))
		if got := w.ann.do(req); got.status != 304 {
			t.Errorf("with the etag: %d, want 304", got.status)
		}
		w.ann.ok("POST", "/users/logout", nil)
		w.ann.fails(401, "api.context.session_expired.app_error", "GET", "/users/me", nil)
		if a := w.anon.send("GET", "/nothing/here", nil); a.status != 404 {
			t.Errorf("unknown path: %d", a.status)
		}
	})
}

func TestPostsAndUnread(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		before := w.ann.get("/channels/" + w.channel)
		p := w.ann.post(w.channel, "hello @bob #first")
		holds(t, "post", p, "user_id", w.ann.id, "hashtags", "#first", "reply_count", float64(0),
			"metadata", some, "pending_post_id", "")
		w.ann.shows("/channels/"+w.channel, "total_msg_count", num(before["total_msg_count"])+1,
			"last_post_at", p["create_at"])
		w.bob.shows("/users/me/channels/"+w.channel+"/unread", "msg_count", 1, "mention_count", 1)
		w.ann.shows("/users/me/channels/"+w.channel+"/unread", "msg_count", 0, "mention_count", 0)
		w.bob.shows("/users/me/teams/unread", "#", 1, "0.mention_count", 1)
		around := w.bob.get(
			"/users/me/channels/" + w.channel + "/posts/unread?limit_before=30&limit_after=30",
		)
		if order := around["order"].([]any); !slices.Contains(order, p["id"]) {
			t.Errorf("around the unread post: %v", around["order"])
		}
		view := w.bob.ok("POST", "/channels/members/me/view", obj{"channel_id": w.channel})
		if view["last_viewed_at_times"].(obj)[w.channel] != p["create_at"] {
			t.Errorf("view: %v", view)
		}
		w.bob.shows("/users/me/channels/"+w.channel+"/unread", "msg_count", 0, "mention_count", 0)

		reply := w.bob.gives(201, "POST", "/posts",
			obj{
				"channel_id": w.channel,
				"root_id":    p["id"],
				"message":    "aye",
			}, "parent_id", p["id"],
			"reply_count", 1)
		w.ann.gives(201, "POST", "/posts",
			obj{
				"channel_id": w.channel,
				"root_id":    p["id"],
				"message":    "aye aye",
			}, "reply_count", 2)
		thread := w.ann.get("/posts/" + idOf(reply) + "/thread")
		holds(t, "thread", thread["order"].([]any), "#", 4)
		w.ann.fails(400, "api.post.create_post.root_id.app_error", "POST", "/posts",
			obj{"channel_id": w.channel, "root_id": reply["id"], "message": "no"})

		for i := range 5 {
			w.ann.post(w.channel, fmt.Sprint("m", i))
		}
		page := w.ann.get("/channels/" + w.channel + "/posts?page=0&per_page=3")
		order := page["order"].([]any)
		if len(order) != 3 || page["prev_post_id"] == "" || page["next_post_id"] != "" {
			t.Fatalf("page %v", page)
		}
		older := w.ann.get("/channels/" + w.channel + "/posts?per_page=2&before=" + text(order[2]))
		if o := older["order"].([]any); len(o) != 2 || older["next_post_id"] != order[2] {
			t.Errorf("before %v: %v", order[2], older)
		}
		newer := w.ann.get("/channels/" + w.channel + "/posts?after=" + text(order[2]))
		holds(t, "after", newer["order"].([]any), "#", 2, "0", order[0], "1", order[1])
		since := w.ann.get(fmt.Sprintf("/channels/%s/posts?since=%d", w.channel,
			num(reply["create_at"])-1))
		if _, ok := since["posts"].(obj)[idOf(p)]; !ok {
			t.Error("since a reply does not return its root")
		}

		w.ann.gives(200, "PUT", "/posts/"+idOf(p)+"/patch", obj{"message": "changed"}, "message",
			"changed", "edit_at", some)
		w.bob.forbidden("DELETE", "/posts/"+idOf(p), nil)
		w.ann.ok("DELETE", "/posts/"+idOf(p), nil)
		w.ann.fails(404, "app.post.get.app_error", "GET", "/posts/"+idOf(p), nil)
		w.ann.fails(404, "app.post.get.app_error", "GET", "/posts/"+idOf(reply), nil)
		w.ann.fails(400, "model.post.is_valid.msg.app_error", "POST", "/posts",
			obj{"channel_id": w.channel, "message": strings.Repeat("x", 16384)})
	})
}

func TestPermissions(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		eve := w.addUser("eve")
		p := w.ann.post(w.channel, "secret")
		for _, try := range []struct {
			method, path string
			body         any
		}{
			{"POST", "/posts", obj{"channel_id": w.channel, "message": "intrusion"}},
			{"POST", "/posts", obj{"channel_id": strings.Repeat("a", 26), "message": "nowhere"}},
			{"GET", "/channels/" + w.channel + "/posts", nil},
			{"GET", "/posts/" + idOf(p), nil},
			{"GET", "/posts/" + idOf(p) + "/thread", nil},
			{"GET", "/posts/" + idOf(p) + "/reactions", nil},
			{"GET", "/channels/" + w.channel + "/members", nil},
			{"GET", "/channels/" + w.channel + "/stats", nil},
			{"GET", "/teams/" + w.team + "/channels", nil},
			{"GET", "/users?in_channel=" + w.channel, nil},
			{"GET", "/users/" + w.ann.id + "/preferences", nil},
			{"GET", "/users/" + w.ann.id + "/teams", nil},
			{"POST", "/channels/" + w.channel + "/members", obj{"user_id": eve.id}},
			{"POST", "/channels/members/" + w.ann.id + "/view", obj{"channel_id": w.channel}},
			{"POST", "/reactions", obj{"user_id": eve.id, "post_id": p["id"], "emoji_name": "+1"}},
			{"PUT", "/posts/" + idOf(p) + "/patch", obj{"message": "x"}},
			{"DELETE", "/posts/" + idOf(p), nil},
		} {
			eve.forbidden(try.method, try.path, try.body)
		}
		if a := eve.upload(w.channel, "x.txt", []byte("x")); a.status != 403 {
			t.Errorf("upload: %d", a.status)
		}
		closed := w.admin.create("/teams", obj{
			"name":         "closed",
			"display_name": "Closed",
			"type":         "O",
		})
		eve.forbidden("POST", "/teams/"+idOf(closed)+"/members",
			obj{"team_id": closed["id"], "user_id": eve.id})
		private := w.cabin()
		w.bob.forbidden("GET", "/channels/"+private, nil)
		w.bob.forbidden("POST", "/channels/"+private+"/members", obj{"user_id": w.bob.id})
		w.ann.badURL("GET", "/channels/short", nil)
		w.ann.fails(400, "store.sql_channel.save_channel.exists.app_error", "POST", "/channels",
			obj{"team_id": w.team, "name": "cabin", "display_name": "Cabin", "type": "P"})
		w.admin.fails(400, "app.team.save.existing.app_error", "POST", "/teams",
			obj{"name": "crew", "display_name": "Crew", "type": "O"})
		w.bob.fails(404, "app.channel.get_by_name.missing.app_error", "GET",
			"/teams/"+w.team+"/channels/name/nowhere", nil)
		// A removed member loses the right at once.
		w.ann.ok("DELETE", "/channels/"+w.channel+"/members/"+w.bob.id, nil)
		w.bob.forbidden("POST", "/posts", obj{"channel_id": w.channel, "message": "gone"})
	})
}

func TestListings(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		w.ann.shows("/users?page=0&per_page=100", "#", 3, "0.username", "ann")
		w.ann.gives(200, "POST", "/users/ids", []string{w.bob.id, strings.Repeat("a", 26)}, "#", 1,
			"0.username", "bob")
		w.ann.gives(200, "POST", "/users/usernames", []string{"bob", "nobody"}, "#", 1)
		w.ann.gives(
			200,
			"POST",
			"/users/status/ids",
			[]string{w.bob.id, strings.Repeat("a", 26)},
			"#",
			2,
		)
		w.ann.shows("/users/autocomplete?in_team="+w.team+"&name=bo", "users.#", 1)
		w.ann.gives(200, "POST", "/users/search", obj{"term": "a%"}, "#", 0)
		w.ann.shows("/users/me/teams", "#", 1, "0.name", "crew", "0.invite_id", "")
		w.ann.shows("/users/me/teams/members", "#", 1, "0.roles", "team_user")
		dm := w.ann.create("/channels/direct", []string{w.ann.id, w.bob.id})
		if again := w.bob.create("/channels/direct", []string{w.bob.id, w.ann.id}); again["id"] != dm["id"] ||
			dm["team_id"] != "" {
			t.Errorf("direct channels %v and %v", dm, again)
		}
		w.ann.gives(201, "POST", "/channels/group", []string{w.bob.id, w.admin.id}, "type", "G",
			"display_name", "ann, bob, sysadmin")
		w.ann.fails(400, "api.channel.create_group.bad_size.app_error", "POST", "/channels/group",
			[]string{w.bob.id})
		w.ann.shows("/users/me/teams/"+w.team+"/channels", "#", 5)
		w.ann.shows("/users/me/teams/"+w.team+"/channels/members", "#", 5, "0.notify_props", some)
		w.ann.shows("/teams/"+w.team+"/channels?page=0&per_page=100", "#", 3)
		w.ann.shows("/channels/"+w.channel+"/stats", "member_count", 3)
		w.ann.shows("/teams/"+w.team+"/stats", "total_member_count", 3, "active_member_count", 3)
		w.ann.shows("/users/me/teams/"+w.team+"/channels/categories", "categories.#", 3)
		prefs := []obj{{"user_id": w.ann.id, "category": "direct_channel_show", "name": w.bob.id,
			"value": "true"}}
		w.ann.ok("PUT", "/users/me/preferences", prefs)
		w.ann.ok("PUT", "/users/me/preferences", prefs)
		w.ann.shows("/users/me/preferences", "#", 1, "0.value", "true")
		w.anon.shows("/config/client?format=old", "Version", "11.0.0")
		w.anon.shows("/system/ping", "status", "OK")
		w.ann.gives(200, "POST", "/roles/names", []string{"system_user", "none"}, "#", 1)
		if a := w.ann.send("GET", "/users/"+w.bob.id+"/image", nil); a.status != 200 ||
			!bytes.HasPrefix(a.body, []byte("\x89PNG")) ||
			a.header.Get("Etag") == "" {
			t.Errorf("image: %d %v", a.status, a.header)
		}
	})
}

func TestFilesAndReactions(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		content := bytes.Repeat([]byte("0123456789"), 10)
		a := w.ann.upload(w.channel, "test_1.txt", content)
		var up struct {
			FileInfos []obj `json:"file_infos"`
		}
		if err := json.Unmarshal(a.body, &up); err != nil || a.status != 201 ||
			len(up.FileInfos) != 1 {
			t.Fatalf("upload: %d %s", a.status, a.body)
		}
		f := up.FileInfos[0]
		if num(f["size"]) != 100 || f["mime_type"] != "text/plain; charset=utf-8" ||
			f["extension"] != "txt" {
			t.Errorf("file info %v", f)
		}
		id := idOf(f)
		w.bob.forbidden("GET", "/files/"+id, nil)
		p := w.ann.create("/posts",
			obj{"channel_id": w.channel, "message": "see", "file_ids": []string{id}})
		holds(
			t,
			"files of the post",
			p["metadata"].(obj)["files"].([]any),
			"#",
			1,
			"0.post_id",
			p["id"],
		)
		if got := w.bob.send("GET", "/files/"+id, nil); got.status != 200 ||
			!bytes.Equal(got.body, content) {
			t.Errorf("download: %d %q", got.status, got.body)
		}
		// A file that is taken is left out of a second post.
		w.ann.gives(201, "POST", "/posts",
			obj{
				"channel_id": w.channel,
				"message":    "again",
				"file_ids":   []string{id},
			}, "file_ids", nil)
		var pic bytes.Buffer
		noError(t, png.Encode(&pic, image.NewRGBA(image.Rect(0, 0, 300, 200))))
		a = w.ann.upload(w.channel, "../p.png", pic.Bytes())
		if err := json.Unmarshal(a.body, &up); err != nil || a.status != 201 {
			t.Fatalf("picture: %d %s", a.status, a.body)
		}
		f = up.FileInfos[0]
		holds(t, "picture info", f, "name", "p.png", "width", 300, "has_preview_image", true)
		thumb := w.ann.send("GET", "/files/"+idOf(f)+"/thumbnail", nil)
		if img, _, err := image.DecodeConfig(bytes.NewReader(thumb.body)); err != nil ||
			img.Width != 120 ||
			img.Height != 80 {
			t.Errorf("thumbnail %v, %v", img, err)
		}
		w.ann.fails(
			400,
			"api.file.get_file_preview.no_preview.app_error",
			"GET",
			"/files/"+id+"/preview",
			nil,
		)

		w.bob.gives(200, "POST", "/reactions",
			obj{"user_id": w.bob.id, "post_id": p["id"], "emoji_name": "+1"}, "emoji_name", "+1")
		w.bob.fails(400, "model.reaction.is_valid.emoji_name.app_error", "POST", "/reactions",
			obj{"user_id": w.bob.id, "post_id": p["id"], "emoji_name": ":smile:"})
		w.ann.shows("/posts/"+idOf(p)+"/reactions", "#", 1)
		w.ann.shows("/posts/"+idOf(p), "has_reactions", true, "metadata.reactions.#", 1)
		w.bob.ok("DELETE", "/users/me/posts/"+idOf(p)+"/reactions/+1", nil)
		w.ann.shows("/posts/"+idOf(p)+"/reactions", "#", 0)
	})
}

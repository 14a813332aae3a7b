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

	"plimsoll/reference/refchat"
)

func TestLoginAndTokens(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		w := newWorld(t, refchat.Config{DSN: dsn})
		w.ann.gives(200, "GET", "/users/me", nil, "username", "ann", "notify_props", some, "password", nil)
		w.bob.gives(200, "GET", "/users/"+w.ann.id, nil, "notify_props", nil, "username", "ann")
		w.anon.fails(401, "api.user.login.invalid_credentials_email_username", "POST", "/users/login", obj{"login_id": "ann", "password": "wrong"})
		w.anon.fails(401, "api.user.login.invalid_credentials_email_username", "POST", "/users/login", obj{"login_id": "nobody", "password": "wrong"})
		w.anon.fails(400, "api.user.login.blank_pwd.app_error", "POST", "/users/login", obj{})
		w.anon.fails(401, "api.context.session_expired.app_error", "GET", "/users/me", nil)
		w.anon.fails(400, "app.user.save.username_exists.app_error", "POST", "/users", obj{"username": "ann", "email": "x@example.com", "password": "Password-1"})
		w.anon.fails(400, "app.user.save.email_exists.app_error", "POST", "/users", obj{"username": "xen", "email": "ann@example.com", "password": "Password-1"})
		w.anon.fails(400, "model.user.is_valid.username.app_error", "POST", "/users", obj{"username": "1", "email": "x@example.com", "password": "Password-1"})
		w.ann.fails(403, "api.context.permissions.app_error", "POST", "/bots", obj{"username": "robot"})
		w.ann.fails(403, "api.context.permissions.app_error", "POST", "/users/"+w.ann.id+"/tokens", obj{"description": "x"})
		bot := w.addBot("robot")
		bot.gives(200, "GET", "/users/me", nil, "is_bot", true)
		a := w.ann.send("GET", "/users/me", nil)
		if h := a.header; len(h.Get("X-Request-Id")) != 26 || !strings.HasPrefix(h.Get("X-Version-Id"), "11.0.0.11.0.0.") || h.Get("Expires") != "0" {
			t.Errorf("headers %v", h)
		}
		req, _ := http.NewRequest("GET", w.anon.url+"/api/v4/users/me", nil)
		req.Header.Set("If-None-Match", a.header.Get("Etag"))
		if got := w.ann.do(req); got.status != 304 {
			t.Errorf("with the etag: %d, want 304", got.status)
		}
		want[obj](w.ann, 200, "POST", "/users/logout", nil)
		w.ann.fails(401, "api.context.session_expired.app_error", "GET", "/users/me", nil)
		if a := w.anon.send("GET", "/nothing/here", nil); a.status != 404 {
			t.Errorf("unknown path: %d", a.status)
		}
	})
}

func TestPostsAndUnread(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		w := newWorld(t, refchat.Config{DSN: dsn})
		before := want[obj](w.ann, 200, "GET", "/channels/"+w.channel, nil)
		p := w.ann.post(w.channel, "hello @bob #first")
		holds(t, "post", p, "user_id", w.ann.id, "hashtags", "#first", "reply_count", float64(0), "metadata", some, "pending_post_id", "")
		w.ann.gives(200, "GET", "/channels/"+w.channel, nil, "total_msg_count", num(before["total_msg_count"])+1, "last_post_at", p["create_at"])
		w.bob.gives(200, "GET", "/users/me/channels/"+w.channel+"/unread", nil, "msg_count", 1, "mention_count", 1)
		w.ann.gives(200, "GET", "/users/me/channels/"+w.channel+"/unread", nil, "msg_count", 0, "mention_count", 0)
		w.bob.gives(200, "GET", "/users/me/teams/unread", nil, "#", 1, "0.mention_count", 1)
		around := want[obj](w.bob, 200, "GET", "/users/me/channels/"+w.channel+"/posts/unread?limit_before=30&limit_after=30", nil)
		if order := around["order"].([]any); !slices.Contains(order, p["id"]) {
			t.Errorf("around the unread post: %v", around["order"])
		}
		view := want[obj](w.bob, 200, "POST", "/channels/members/me/view", obj{"channel_id": w.channel})
		if view["last_viewed_at_times"].(obj)[w.channel] != p["create_at"] {
			t.Errorf("view: %v", view)
		}
		w.bob.gives(200, "GET", "/users/me/channels/"+w.channel+"/unread", nil, "msg_count", 0, "mention_count", 0)

		reply := w.bob.gives(201, "POST", "/posts", obj{"channel_id": w.channel, "root_id": p["id"], "message": "aye"}, "parent_id", p["id"], "reply_count", 1)
		w.ann.gives(201, "POST", "/posts", obj{"channel_id": w.channel, "root_id": p["id"], "message": "aye aye"}, "reply_count", 2)
		thread := want[obj](w.ann, 200, "GET", "/posts/"+text(reply["id"])+"/thread", nil)
		holds(t, "thread", thread["order"].([]any), "#", 4)
		w.ann.fails(400, "api.post.create_post.root_id.app_error", "POST", "/posts", obj{"channel_id": w.channel, "root_id": reply["id"], "message": "no"})

		for i := range 5 {
			w.ann.post(w.channel, fmt.Sprint("m", i))
		}
		page := want[obj](w.ann, 200, "GET", "/channels/"+w.channel+"/posts?page=0&per_page=3", nil)
		order := page["order"].([]any)
		if len(order) != 3 || page["prev_post_id"] == "" || page["next_post_id"] != "" {
			t.Fatalf("page %v", page)
		}
		older := want[obj](w.ann, 200, "GET", "/channels/"+w.channel+"/posts?per_page=2&before="+text(order[2]), nil)
		if o := older["order"].([]any); len(o) != 2 || older["next_post_id"] != order[2] {
			t.Errorf("before %v: %v", order[2], older)
		}
		newer := want[obj](w.ann, 200, "GET", "/channels/"+w.channel+"/posts?after="+text(order[2]), nil)
		holds(t, "after", newer["order"].([]any), "#", 2, "0", order[0], "1", order[1])
		since := want[obj](w.ann, 200, "GET", fmt.Sprintf("/channels/%s/posts?since=%d", w.channel, num(reply["create_at"])-1), nil)
		if _, ok := since["posts"].(obj)[text(p["id"])]; !ok {
			t.Error("since a reply does not return its root")
		}

		w.ann.gives(200, "PUT", "/posts/"+text(p["id"])+"/patch", obj{"message": "changed"}, "message", "changed", "edit_at", some)
		w.bob.fails(403, "api.context.permissions.app_error", "DELETE", "/posts/"+text(p["id"]), nil)
		want[obj](w.ann, 200, "DELETE", "/posts/"+text(p["id"]), nil)
		w.ann.fails(404, "app.post.get.app_error", "GET", "/posts/"+text(p["id"]), nil)
		w.ann.fails(404, "app.post.get.app_error", "GET", "/posts/"+text(reply["id"]), nil)
		w.ann.fails(400, "model.post.is_valid.msg.app_error", "POST", "/posts", obj{"channel_id": w.channel, "message": strings.Repeat("x", 16384)})
	})
}

func TestPermissions(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		w := newWorld(t, refchat.Config{DSN: dsn})
		eve := w.addUser("eve")
		p := w.ann.post(w.channel, "secret")
		for _, try := range []struct {
			method, path string
			body         any
		}{
			{"POST", "/posts", obj{"channel_id": w.channel, "message": "intrusion"}},
			{"POST", "/posts", obj{"channel_id": strings.Repeat("a", 26), "message": "nowhere"}},
			{"GET", "/channels/" + w.channel + "/posts", nil},
			{"GET", "/posts/" + text(p["id"]), nil},
			{"GET", "/posts/" + text(p["id"]) + "/thread", nil},
			{"GET", "/posts/" + text(p["id"]) + "/reactions", nil},
			{"GET", "/channels/" + w.channel + "/members", nil},
			{"GET", "/channels/" + w.channel + "/stats", nil},
			{"GET", "/teams/" + w.team + "/channels", nil},
			{"GET", "/users?in_channel=" + w.channel, nil},
			{"GET", "/users/" + w.ann.id + "/preferences", nil},
			{"GET", "/users/" + w.ann.id + "/teams", nil},
			{"POST", "/channels/" + w.channel + "/members", obj{"user_id": eve.id}},
			{"POST", "/channels/members/" + w.ann.id + "/view", obj{"channel_id": w.channel}},
			{"POST", "/reactions", obj{"user_id": eve.id, "post_id": p["id"], "emoji_name": "+1"}},
			{"PUT", "/posts/" + text(p["id"]) + "/patch", obj{"message": "x"}},
			{"DELETE", "/posts/" + text(p["id"]), nil},
		} {
			eve.fails(403, "api.context.permissions.app_error", try.method, try.path, try.body)
		}
		if a := eve.upload(w.channel, "x.txt", []byte("x")); a.status != 403 {
			t.Errorf("upload: %d", a.status)
		}
		closed := want[obj](w.admin, 201, "POST", "/teams", obj{"name": "closed", "display_name": "Closed", "type": "O"})
		eve.fails(403, "api.context.permissions.app_error", "POST", "/teams/"+text(closed["id"])+"/members", obj{"team_id": closed["id"], "user_id": eve.id})
		private := want[obj](w.ann, 201, "POST", "/channels", obj{"team_id": w.team, "name": "cabin", "display_name": "Cabin", "type": "P"})
		w.bob.fails(403, "api.context.permissions.app_error", "GET", "/channels/"+text(private["id"]), nil)
		w.bob.fails(403, "api.context.permissions.app_error", "POST", "/channels/"+text(private["id"])+"/members", obj{"user_id": w.bob.id})
		w.ann.fails(400, "api.context.invalid_url_param.app_error", "GET", "/channels/short", nil)
		w.ann.fails(400, "store.sql_channel.save_channel.exists.app_error", "POST", "/channels", obj{"team_id": w.team, "name": "cabin", "display_name": "Cabin", "type": "P"})
		w.admin.fails(400, "app.team.save.existing.app_error", "POST", "/teams", obj{"name": "crew", "display_name": "Crew", "type": "O"})
		w.bob.fails(404, "app.channel.get_by_name.missing.app_error", "GET", "/teams/"+w.team+"/channels/name/nowhere", nil)
		// A removed member loses the right at once.
		want[obj](w.ann, 200, "DELETE", "/channels/"+w.channel+"/members/"+w.bob.id, nil)
		w.bob.fails(403, "api.context.permissions.app_error", "POST", "/posts", obj{"channel_id": w.channel, "message": "gone"})
	})
}

func TestListings(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		w := newWorld(t, refchat.Config{DSN: dsn})
		w.ann.gives(200, "GET", "/users?page=0&per_page=100", nil, "#", 3, "0.username", "ann")
		w.ann.gives(200, "POST", "/users/ids", []string{w.bob.id, strings.Repeat("a", 26)}, "#", 1, "0.username", "bob")
		w.ann.gives(200, "POST", "/users/usernames", []string{"bob", "nobody"}, "#", 1)
		w.ann.gives(200, "POST", "/users/status/ids", []string{w.bob.id, strings.Repeat("a", 26)}, "#", 2)
		w.ann.gives(200, "GET", "/users/autocomplete?in_team="+w.team+"&name=bo", nil, "users.#", 1)
		w.ann.gives(200, "POST", "/users/search", obj{"term": "a%"}, "#", 0)
		w.ann.gives(200, "GET", "/users/me/teams", nil, "#", 1, "0.name", "crew", "0.invite_id", "")
		w.ann.gives(200, "GET", "/users/me/teams/members", nil, "#", 1, "0.roles", "team_user")
		dm := want[obj](w.ann, 201, "POST", "/channels/direct", []string{w.ann.id, w.bob.id})
		if again := want[obj](w.bob, 201, "POST", "/channels/direct", []string{w.bob.id, w.ann.id}); again["id"] != dm["id"] || dm["team_id"] != "" {
			t.Errorf("direct channels %v and %v", dm, again)
		}
		w.ann.gives(201, "POST", "/channels/group", []string{w.bob.id, w.admin.id}, "type", "G", "display_name", "ann, bob, sysadmin")
		w.ann.fails(400, "api.channel.create_group.bad_size.app_error", "POST", "/channels/group", []string{w.bob.id})
		w.ann.gives(200, "GET", "/users/me/teams/"+w.team+"/channels", nil, "#", 5)
		w.ann.gives(200, "GET", "/users/me/teams/"+w.team+"/channels/members", nil, "#", 5, "0.notify_props", some)
		w.ann.gives(200, "GET", "/teams/"+w.team+"/channels?page=0&per_page=100", nil, "#", 3)
		w.ann.gives(200, "GET", "/channels/"+w.channel+"/stats", nil, "member_count", 3)
		w.ann.gives(200, "GET", "/teams/"+w.team+"/stats", nil, "total_member_count", 3, "active_member_count", 3)
		w.ann.gives(200, "GET", "/users/me/teams/"+w.team+"/channels/categories", nil, "categories.#", 3)
		prefs := []obj{{"user_id": w.ann.id, "category": "direct_channel_show", "name": w.bob.id, "value": "true"}}
		want[obj](w.ann, 200, "PUT", "/users/me/preferences", prefs)
		want[obj](w.ann, 200, "PUT", "/users/me/preferences", prefs)
		w.ann.gives(200, "GET", "/users/me/preferences", nil, "#", 1, "0.value", "true")
		w.anon.gives(200, "GET", "/config/client?format=old", nil, "Version", "11.0.0")
		w.anon.gives(200, "GET", "/system/ping", nil, "status", "OK")
		w.ann.gives(200, "POST", "/roles/names", []string{"system_user", "none"}, "#", 1)
		if a := w.ann.send("GET", "/users/"+w.bob.id+"/image", nil); a.status != 200 || !bytes.HasPrefix(a.body, []byte("\x89PNG")) || a.header.Get("Etag") == "" {
			t.Errorf("image: %d %v", a.status, a.header)
		}
	})
}

func TestFilesAndReactions(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		w := newWorld(t, refchat.Config{DSN: dsn})
		content := bytes.Repeat([]byte("0123456789"), 10)
		a := w.ann.upload(w.channel, "test_1.txt", content)
		var up struct {
			FileInfos []obj `json:"file_infos"`
		}
		if err := json.Unmarshal(a.body, &up); err != nil || a.status != 201 || len(up.FileInfos) != 1 {
			t.Fatalf("upload: %d %s", a.status, a.body)
		}
		f := up.FileInfos[0]
		if num(f["size"]) != 100 || f["mime_type"] != "text/plain; charset=utf-8" || f["extension"] != "txt" {
			t.Errorf("file info %v", f)
		}
		id := text(f["id"])
		w.bob.fails(403, "api.context.permissions.app_error", "GET", "/files/"+id, nil)
		p := want[obj](w.ann, 201, "POST", "/posts", obj{"channel_id": w.channel, "message": "see", "file_ids": []string{id}})
		holds(t, "files of the post", p["metadata"].(obj)["files"].([]any), "#", 1, "0.post_id", p["id"])
		if got := w.bob.send("GET", "/files/"+id, nil); got.status != 200 || !bytes.Equal(got.body, content) {
			t.Errorf("download: %d %q", got.status, got.body)
		}
		// A file that is taken is left out of a second post.
		w.ann.gives(201, "POST", "/posts", obj{"channel_id": w.channel, "message": "again", "file_ids": []string{id}}, "file_ids", nil)
		var pic bytes.Buffer
		noError(t, png.Encode(&pic, image.NewRGBA(image.Rect(0, 0, 300, 200))))
		a = w.ann.upload(w.channel, "../p.png", pic.Bytes())
		if err := json.Unmarshal(a.body, &up); err != nil || a.status != 201 {
			t.Fatalf("picture: %d %s", a.status, a.body)
		}
		f = up.FileInfos[0]
		holds(t, "picture info", f, "name", "p.png", "width", 300, "has_preview_image", true)
		thumb := w.ann.send("GET", "/files/"+text(f["id"])+"/thumbnail", nil)
		if img, _, err := image.DecodeConfig(bytes.NewReader(thumb.body)); err != nil || img.Width != 120 || img.Height != 80 {
			t.Errorf("thumbnail %v, %v", img, err)
		}
		w.ann.fails(400, "api.file.get_file_preview.no_preview.app_error", "GET", "/files/"+id+"/preview", nil)

		w.bob.gives(200, "POST", "/reactions", obj{"user_id": w.bob.id, "post_id": p["id"], "emoji_name": "+1"}, "emoji_name", "+1")
		w.bob.fails(400, "model.reaction.is_valid.emoji_name.app_error", "POST", "/reactions", obj{"user_id": w.bob.id, "post_id": p["id"], "emoji_name": ":smile:"})
		w.ann.gives(200, "GET", "/posts/"+text(p["id"])+"/reactions", nil, "#", 1)
		w.ann.gives(200, "GET", "/posts/"+text(p["id"]), nil, "has_reactions", true, "metadata.reactions.#", 1)
		want[obj](w.bob, 200, "DELETE", "/users/me/posts/"+text(p["id"])+"/reactions/+1", nil)
		w.ann.gives(200, "GET", "/posts/"+text(p["id"])+"/reactions", nil, "#", 0)
	})
}

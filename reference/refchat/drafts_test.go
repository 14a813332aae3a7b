package refchat_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/reference/refchat"
)

func TestDrafts(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		ann, bob := w.ann.dial(), w.bob.dial()
		drafts := func(c *client) []obj {
			return want[[]obj](c, 200, "GET", "/users/me/teams/"+w.team+"/drafts", nil)
		}
		root := w.bob.post(w.channel, "what do you think?")
		file := w.ann.uploaded(w.channel, "notes.txt", []byte("notes"), "")
		d := w.ann.gives(201, "POST", "/drafts",
			obj{
				"channel_id": w.channel,
				"message":    "well",
				"user_id":    w.bob.id,
			}, "user_id", w.ann.id,
			"message", "well", "create_at", some)
		holds(t, "event", ann.about("draft_created", "draft"), "message", "well")
		again := w.ann.create("/drafts",
			obj{"channel_id": w.channel, "message": "well then", "create_at": d["create_at"]})
		inThread := w.ann.create("/drafts",
			obj{
				"channel_id": w.channel,
				"root_id":    root["id"],
				"message":    "hm",
				"file_ids":   []string{file},
			})
		holds(t, "files of a draft", inThread["metadata"].(obj)["files"].([]any), "#", 1)
		if l := drafts(w.ann); len(l) != 2 || l[0]["root_id"] != root["id"] ||
			l[1]["message"] != "well then" ||
			again["create_at"] != d["create_at"] {
			t.Errorf("ann's drafts: %v", l)
		}
		holds(t, "bob sees", drafts(w.bob), "#", 0)
		path := "/users/me/channels/" + w.channel + "/drafts"
		w.ann.ok("DELETE", path+"/"+idOf(root), nil)
		holds(t, "event", ann.about("draft_deleted", "draft"), "root_id", root["id"])
		w.ann.ok("DELETE", path+"/"+idOf(root), nil) // there is none any more: as well
		holds(t, "after the deletion", drafts(w.ann), "#", 1, "0.root_id", "")
		if a := w.ann.send("POST", "/drafts", obj{
			"channel_id": w.channel,
			"message":    "",
		}); a.status != 201 || string(a.body) != "null" {
			t.Errorf("emptied: %d %s", a.status, a.body)
		}
		holds(t, "after emptying", drafts(w.ann), "#", 0)
		// The client whose connection the request names gets no event; the user's others are
		// notified.
		hello := w.ann.dialRaw()
		mine := text(hello.event("hello")["data"].(obj)["connection_id"])
		req, err := http.NewRequest(
			"POST",
			w.ann.url+"/api/v4/drafts",
			strings.NewReader(`{"channel_id":"`+w.channel+`","message":"psst"}`),
		)
		noError(t, err)
		req.Header.Set("Connection-Id", mine)
		if a := w.ann.do(req); a.status != 201 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		holds(
			t,
			"the other connection heard",
			ann.about("draft_created", "draft"),
			"message",
			"psst",
		)
		if hello.count(2, "draft_created") > 0 {
			t.Error("the connection that was named heard of its own draft")
		}
		eve := w.addUser("eve")
		eve.forbidden("POST", "/drafts", obj{"channel_id": w.channel, "message": "x"})
		eve.forbidden("GET", "/users/me/teams/"+w.team+"/drafts", nil)
		w.bob.forbidden("DELETE", "/users/"+w.ann.id+"/channels/"+w.channel+"/drafts", nil)
		w.ann.fails(400, "model.draft.is_valid.message_length.app_error", "POST", "/drafts",
			obj{"channel_id": w.channel, "message": strings.Repeat("x", 16384)})
		for _, e := range bob.sync(1) {
			if strings.HasPrefix(text(e["event"]), "draft") {
				t.Errorf("bob heard %v", e)
			}
		}
	})
}

func TestScheduledPosts(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		ann := w.ann.dial()
		in := func(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }
		list := func(c *client) map[string][]obj {
			return want[map[string][]obj](c, 200, "GET",
				"/posts/scheduled/team/"+w.team+"?includeDirectChannels=true", nil)
		}
		p := w.ann.create("/posts/schedule",
			obj{"channel_id": w.channel, "message": "later", "scheduled_at": in(48 * time.Hour)})
		holds(t, "event", ann.about("scheduled_post_created", "scheduledPost"), "id", p["id"])
		w.ann.made("/posts/schedule",
			obj{"channel_id": w.direct(), "message": "psst", "scheduled_at": in(72 * time.Hour)})
		if l := list(w.ann); len(l[w.team]) != 1 || len(l["directChannels"]) != 1 ||
			l[w.team][0]["message"] != "later" {
			t.Errorf("scheduled: %v", l)
		}
		if l := list(w.bob); len(l[w.team]) != 0 || len(l["directChannels"]) != 0 {
			t.Errorf("bob sees %v", l)
		}
		path := "/posts/schedule/" + idOf(p)
		p["message"], p["scheduled_at"] = "even later", in(49*time.Hour)
		want[obj](w.ann, 201, "PUT", path, p)
		holds(
			t,
			"event",
			ann.about("scheduled_post_updated", "scheduledPost"),
			"message",
			"even later",
		)
		if l := list(w.ann); l[w.team][0]["message"] != "even later" ||
			num(l[w.team][0]["scheduled_at"]) != p["scheduled_at"] {
			t.Errorf("after the update: %v", l)
		}
		w.bob.fails(403, "app.update_scheduled_post.update_permission.error", "PUT", path, p)
		w.bob.fails(403, "app.delete_scheduled_post.delete_permission.error", "DELETE", path, nil)
		w.ann.fails(400, "model.scheduled_post.is_valid.scheduled_at.app_error", "POST",
			"/posts/schedule", obj{
				"channel_id":   w.channel,
				"message":      "x",
				"scheduled_at": in(-time.Hour),
			})
		w.ann.fails(
			400,
			"model.scheduled_post.is_valid.empty_post.app_error",
			"POST",
			"/posts/schedule",
			obj{"channel_id": w.channel, "scheduled_at": in(time.Hour)},
		)
		w.addUser("eve").forbidden("POST", "/posts/schedule",
			obj{"channel_id": w.channel, "message": "x", "scheduled_at": in(time.Hour)})
		want[obj](w.ann, 201, "DELETE", path, nil)
		w.ann.fails(
			404,
			"app.delete_scheduled_post.existing_scheduled_post.not_exist",
			"DELETE",
			path,
			nil,
		)
		if l := list(w.ann); len(l[w.team]) != 0 {
			t.Errorf("after the deletion: %v", l)
		}

		// A due post is posted, once, and is scheduled no more; one that cannot be posted gets an
		// error code.
		due := w.ann.create("/posts/schedule",
			obj{"channel_id": w.channel, "message": "now", "scheduled_at": in(time.Hour)})
		lost := w.bob.create("/posts/schedule",
			obj{"channel_id": w.channel, "message": "never", "scheduled_at": in(time.Hour)})
		w.bob.ok("DELETE", "/channels/"+w.channel+"/members/"+w.bob.id, nil)
		for range 2 {
			noError(t, refchat.SendDue(t.Context(), w.s, time.Now().Add(2*time.Hour)))
		}
		holds(t, "posted", messages(t, ann.sync(1)), "#", 1, "0", "now")
		if l := list(w.ann); len(l[w.team]) != 0 {
			t.Errorf("%v is still scheduled: %v", due["id"], l)
		}
		if l := list(w.bob); len(l[w.team]) != 1 || l[w.team][0]["id"] != lost["id"] ||
			l[w.team][0]["error_code"] == "" {
			t.Errorf("a post that cannot be sent: %v", l)
		}
	})
}

// Older releases lack later operations, and a license that is missing is named as the real server
// names it.
func TestReleasesAndLicenses(t *testing.T) {
	dsn := database(t, "postgresql")
	old := newWorld(t, refchat.Config{DSN: dsn, Version: "5.37.10", License: "none"})
	for _, path := range []string{"/users/me/teams/" + old.team + "/drafts", "/posts/scheduled/team/" + old.team, "/channels/" + old.channel + "/bookmarks",
		"/custom_profile_attributes/fields", "/reports/users"} {
		if a := old.admin.send("GET", path, nil); a.status != 404 ||
			!strings.Contains(string(a.body), "api.context.404.app_error") {
			t.Errorf("5.37 answers GET %s with %d %s", path, a.status, a.body)
		}
	}
	old.ann.get("/users/me/teams/" + old.team + "/channels/categories")
	old.anon.fails(501, "api.config.client.old_format.app_error", "GET", "/config/client", nil)
	old.anon.shows("/config/client?format=old", "Version", "5.37.10", "EnableCustomUserStatuses",
		"true", "AllowSyncedDrafts", nil)

	bare := newClient(t, serve(t, refchat.Config{
		DSN:     dsn,
		License: "none",
	})).login("ann", "Password-1")
	bare.fails(501, "api.channel.bookmark.channel_bookmark.license.error", "GET",
		"/channels/"+old.channel+"/bookmarks", nil)
	bare.fails(
		400,
		"api.scheduled_posts.license_error",
		"GET",
		"/posts/scheduled/team/"+old.team,
		nil,
	)
	bare.fails(403, "app.custom_profile_attributes.license_error", "GET",
		"/custom_profile_attributes/fields", nil)
	bare.badURL("GET", "/license/client", nil)
	bare.shows("/license/client?format=old", "IsLicensed", "false", "#", 1)
	if v := bare.send("GET", "/users/me", nil).header.Get("X-Version-Id"); !strings.HasPrefix(
		v,
		"11.0.0.",
	) ||
		!strings.HasSuffix(v, ".false") {
		t.Errorf("version %s", v)
	}

	full := newClient(t, serve(t, refchat.Config{DSN: dsn}))
	full.shows("/license/client?format=old", "IsLicensed", "true", "SkuShortName", "enterprise")
	full.shows("/config/client", "AllowSyncedDrafts", "true", "PostAcknowledgements", "true")
	for _, bad := range []refchat.Config{{Version: "eleven"}, {License: "gold"}} {
		bad.DSN = dsn
		failure.Says(t, failure.Of(refchat.New(t.Context(), bad)), "want")
	}
}

package refchat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCustomStatus(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		bob := w.bob.dial()
		status := func() obj {
			u := w.bob.get("/users/" + w.ann.id)
			v := text(u["props"].(obj)["customStatus"])
			if v == "" {
				return nil
			}
			return decode(t, v)
		}
		until := time.Now().Add(30 * time.Minute)
		w.ann.ok("PUT", "/users/me/status/custom",
			obj{
				"emoji":      "coffee",
				"text":       "Back soon",
				"duration":   "thirty_minutes",
				"expires_at": until,
			})
		holds(t, "bob sees the status", status(), "text", "Back soon", "emoji", "coffee")
		if u := bob.event("user_updated")["data"].(obj)["user"].(obj); u["id"] != w.ann.id ||
			!strings.Contains(text(u["props"].(obj)["customStatus"]), "Back soon") ||
			u["notify_props"] != nil {
			t.Errorf("event about %v", u)
		}
		for i := range 6 {
			w.ann.ok("PUT", "/users/me/status/custom", obj{"text": fmt.Sprint("status ", i)})
		}
		for _, p := range want[[]obj](w.ann, 200, "GET", "/users/me/preferences", nil) {
			if p["category"] == "custom_status" && strings.Count(text(p["value"]), `"text"`) != 5 {
				t.Errorf("recent statuses: %v", p)
			}
		}
		w.ann.ok("DELETE", "/users/me/status/custom", nil)
		if s := status(); s != nil {
			t.Errorf("after the removal: %v", s)
		}
		for _, bad := range []obj{{}, {
			"text":       "x",
			"duration":   "forever",
			"expires_at": until,
		}, {"text": "x", "duration": "today", "expires_at": time.Now().Add(-time.Hour)}} {
			w.ann.badBody("PUT", "/users/me/status/custom", bad)
		}
		w.bob.forbidden("PUT", "/users/"+w.ann.id+"/status/custom", obj{"text": "x"})
	})
}

func TestAttributes(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		bob := w.bob.dial()
		w.ann.forbidden("POST", "/custom_profile_attributes/fields", obj{
			"name": "deck",
			"type": "text",
		})
		f := w.admin.create("/custom_profile_attributes/fields", obj{
			"name": " deck ",
			"type": "text",
		})
		w.ann.shows("/custom_profile_attributes/fields", "#", 1, "0.name", "deck", "0.id", f["id"])
		w.admin.fails(422, "app.property_field.create.name_conflict.app_error", "POST",
			"/custom_profile_attributes/fields", obj{"name": "deck", "type": "text"})
		id := idOf(f)
		for _, v := range []string{"lower", "upper"} {
			if got := w.ann.ok("PATCH", "/custom_profile_attributes/values", obj{id: v}); got[id] != v {
				t.Errorf("answer %v", got)
			}
			if e := bob.event("custom_profile_attributes_values_updated")["data"].(obj); e["user_id"] != w.ann.id ||
				e["values"].(obj)[id] != v {
				t.Errorf("event %v", e)
			}
			if got := w.bob.get("/users/" + w.ann.id + "/custom_profile_attributes"); got[id] != v {
				t.Errorf("bob sees %v, want %s", got, v)
			}
		}
		w.ann.shows("/users/"+w.bob.id+"/custom_profile_attributes", "#", 0)
		w.ann.fails(
			404,
			"app.custom_profile_attributes.property_field_not_found.app_error",
			"PATCH",
			"/custom_profile_attributes/values",
			obj{strings.Repeat("a", 26): "x"},
		)
		w.ann.fails(
			400,
			"app.custom_profile_attributes.validate_value.app_error",
			"PATCH",
			"/custom_profile_attributes/values",
			obj{id: 7},
		)
	})
}

func TestReports(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		for range 3 {
			w.ann.post(w.channel, "x")
		}
		w.addBot("robot")
		w.ann.forbidden("GET", "/reports/users", nil)
		w.admin.fails(400, "api.getUsersForReporting.invalid_page_size", "GET",
			"/reports/users?page_size=101", nil)
		for _, sort := range []string{"Username", "CreateAt"} {
			var seen []string
			path := "/reports/users?page_size=2&sort_column=" + sort
			for next := path; ; {
				page := want[[]obj](w.admin, 200, "GET", next, nil)
				for _, u := range page {
					seen = append(seen, text(u["username"]))
					if u["username"] == "ann" &&
						(num(u["total_posts"]) < 3 || num(u["days_active"]) != 1 || num(u["last_post_date"]) == 0) {
						t.Errorf("report on ann: %v", u)
					}
				}
				if len(page) < 2 {
					break
				}
				last := page[1]
				value := text(last["username"])
				if sort == "CreateAt" {
					value = fmt.Sprint(num(last["create_at"]))
				}
				next = path + "&from_column_value=" + value + "&from_id=" + idOf(last)
			}
			if want := map[string]string{
				"Username": "[ann bob sysadmin]",
				"CreateAt": "[sysadmin ann bob]",
			}[sort]; fmt.Sprint(seen) != want {
				t.Errorf("by %s: %v, want %s", sort, seen, want)
			}
		}
		if n := want[int](w.admin, 200, "GET", "/reports/users/count", nil); n != 3 {
			t.Errorf("count %d", n)
		}
		w.ann.shows("/users/stats", "total_users_count", 3)
		now := time.Now().UnixMilli()
		report := obj{
			"version": "0.1.0",
			"start":   now - 1000,
			"end":     now,
			"labels":  obj{"platform": "linux", "agent": "firefox"},
			"histograms": []obj{{
				"metric": "channel_switch",
				"value":  120,
			}, {"metric": "unheard", "value": 1}},
		}
		w.ann.ok("POST", "/client_perf", report)
		if n := w.metric("mattermost_webapp_channel_switch", "platform=linux", "agent=firefox"); n != 1 {
			t.Errorf("%v reports of a channel switch, want 1", n)
		}
		report["end"] = now - 400_000
		w.ann.badBody("POST", "/client_perf", report)
	})
}

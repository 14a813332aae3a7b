package refchat_test

import (
	"strings"
	"testing"
)

func TestSidebar(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		ann := w.ann.dial()
		dm := w.direct()
		path := "/users/me/teams/" + w.team + "/channels/categories"
		sidebar := func() (all []obj, in map[string]string) {
			in = map[string]string{}
			x := want[struct {
				Categories []obj    `json:"categories"`
				Order      []string `json:"order"`
			}](w.ann, 200, "GET", path, nil)
			for i, c := range x.Categories {
				if x.Order[i] != c["id"] {
					t.Errorf("order %v does not fit %v", x.Order, x.Categories)
				}
				for _, id := range c["channel_ids"].([]any) {
					if in[id.(string)] != "" {
						t.Errorf("channel %v is in two categories", id)
					}
					in[id.(string)] = text(c["display_name"])
				}
			}
			return x.Categories, in
		}
		all, in := sidebar()
		if len(all) != 3 || in[w.channel] != "Channels" || in[dm] != "Direct Messages" ||
			len(in) != 4 {
			t.Errorf("the first sidebar: %v", all)
		}
		c := w.ann.ok("POST", path,
			obj{"user_id": w.ann.id, "team_id": w.team, "display_name": "Ship",
				"channel_ids": []string{w.channel, strings.Repeat("a", 26)}})
		holds(t, "event", ann.event("sidebar_category_created")["data"], "category_id", c["id"])
		all, in = sidebar()
		if len(all) != 4 || all[1]["id"] != c["id"] || in[w.channel] != "Ship" || len(in) != 4 {
			t.Errorf("with a category: %v", all)
		}
		// The channel goes on to the favorites, which are a preference in older clients; the
		// category gets another name.
		all[0]["channel_ids"] = []string{w.channel}
		all[1]["channel_ids"] = []string{dm}
		all[1]["display_name"] = "Hull"
		all[1]["collapsed"] = true
		w.ann.gives(200, "PUT", path, all[:2], "#", 2, "1.display_name", "Hull")
		ann.event("sidebar_category_updated")
		all, in = sidebar()
		if in[w.channel] != "Favorites" || in[dm] != "Hull" || all[1]["collapsed"] != true ||
			len(in) != 4 {
			t.Errorf("after the change: %v", all)
		}
		favorite := func() bool {
			for _, p := range want[[]obj](w.ann, 200, "GET", "/users/me/preferences", nil) {
				if p["category"] == "favorite_channel" && p["name"] == w.channel {
					return true
				}
			}
			return false
		}
		if !favorite() {
			t.Error("no preference for the favorite")
		}
		all[2]["channel_ids"] = append(all[2]["channel_ids"].([]any), w.channel)
		want[[]obj](w.ann, 200, "PUT", path, all[2:3])
		if _, in = sidebar(); in[w.channel] != "Channels" || favorite() {
			t.Errorf("the channel went back to %s, favorite: %v", in[w.channel], favorite())
		}
		w.bob.shows(path, "categories.#", 3)
		w.bob.forbidden("GET", "/users/"+w.ann.id+"/teams/"+w.team+"/channels/categories", nil)
		w.bob.badBody("PUT", path, []obj{c})
		w.ann.badBody("POST", path,
			obj{"user_id": w.bob.id, "team_id": w.team, "display_name": "x"})
	})
}

package refchat_test

import (
	"maps"
	"sort"
	"strings"
	"testing"
	"time"
)

// names returns a field of all things in an answer, sorted.
func (c *client) names(method, path string, body any, key string) string {
	c.t.Helper()
	var out []string
	for _, x := range want[[]obj](c, 200, method, path, body) {
		out = append(out, text(x[key]))
	}
	sort.Strings(out)
	return strings.Join(out, "; ")
}

func TestSearchPosts(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		cabin, direct := w.cabin(), w.direct()
		other := w.admin.made("/teams",
			obj{"name": "fleet", "display_name": "Fleet", "type": "O", "allow_open_invite": true})
		w.ann.made("/teams/"+other+"/members", obj{"team_id": other, "user_id": w.ann.id})
		bay := w.ann.made("/channels",
			obj{"team_id": other, "name": "bay", "display_name": "Bay", "type": "O"})
		by := map[string]string{}
		for _, p := range []struct {
			c             *client
			channel, name string
			message       string
		}{
			{w.ann, w.channel, "a1", "the anchor is stowed #rigging"},
			{w.bob, w.channel, "b1", "anchor chains and rope, well stowed"},
			{w.ann, cabin, "a2", "anchor drawings in the cabin"},
			{w.bob, direct, "b2", "anchor between us"},
			{w.ann, bay, "a3", "anchor in the bay"},
			{w.bob, w.channel, "b3", "stowed is the anchor"},
			{w.bob, w.channel, "b4", "nothing of that kind #rigging-plan"},
		} {
			by[text(p.c.post(p.channel, p.message)["id"])] = p.name
		}
		gone := w.ann.post(w.channel, "anchor overboard")
		w.ann.ok("DELETE", "/posts/"+idOf(gone), nil)
		search := func(c *client, path, terms string, more obj) string {
			t.Helper()
			body := obj{"terms": terms}
			maps.Copy(body, more)
			l := c.ok("POST", path, body)
			var out []string
			for _, id := range l["order"].([]any) {
				out = append(out, by[text(id)])
			}
			if _, ok := l["matches"]; !ok {
				t.Errorf("no matches in %v", l)
			}
			return strings.Join(out, " ")
		}
		team, all := "/teams/"+w.team+"/posts/search", "/posts/search"
		today := time.Now().UTC().Format("2006-01-02")
		for _, tt := range []struct {
			c           *client
			path, terms string
			more        obj
			want        string
		}{
			{w.ann, team, "anchor", nil, "b3 b2 a2 b1 a1"},
			{w.bob, team, "anchor", nil, "b3 b2 b1 a1"},
			{w.ann, all, "anchor", nil, "b3 a3 b2 a2 b1 a1"},
			{w.ann, team, "anchor stowed", nil, "b3 b1 a1"},
			{w.ann, team, "rope drawings", obj{"is_or_search": true}, "a2 b1"},
			{w.ann, team, "stowed -rope", nil, "b3 a1"},
			{w.ann, team, `"anchor chains"`, nil, "b1"},
			{w.ann, team, `"chains anchor"`, nil, ""},
			{w.ann, team, "draw*", nil, "a2"},
			{w.ann, team, "anchor from:bob", nil, "b3 b2 b1"},
			{w.ann, team, "anchor -from:bob", nil, "a2 a1"},
			{w.ann, team, "anchor from: @bob in:deck", nil, "b3 b1"},
			{w.ann, team, "anchor in:cabin", nil, "a2"},
			{w.bob, team, "anchor in:cabin", nil, ""},
			{w.ann, team, "anchor -in:deck", nil, "b2 a2"},
			{w.ann, team, "in:@bob", nil, "b2"},
			{w.ann, team, "from:nobody anchor", nil, ""},
			{w.ann, team, "#rigging", nil, "a1"},
			{w.ann, team, "anchor on:" + today, nil, "b3 b2 a2 b1 a1"},
			{w.ann, team, "anchor -on:" + today, nil, ""},
			{w.ann, team, "anchor before:" + today, nil, ""},
			{w.ann, team, "anchor after:2020-01-31", nil, "b3 b2 a2 b1 a1"},
			{w.ann, team, "anchor after:" + today, nil, ""},
			{w.ann, team, "the", nil, ""},
			{w.ann, team, "the anchor stowed", nil, "b3 b1 a1"},
			{w.ann, team, `+- ' ( ":*" & | !`, nil, ""},
			{w.ann, team, "anchor", obj{"page": 1}, ""},
		} {
			if got := search(tt.c, tt.path, tt.terms, tt.more); got != tt.want {
				t.Errorf("%s %q %v: %q, want %q", tt.path, tt.terms, tt.more, got, tt.want)
			}
		}
		w.ann.badBody("POST", team, obj{"terms": " "})
		w.bob.forbidden("POST", "/teams/"+other+"/posts/search", obj{"terms": "anchor"})
	})
}

func TestSearchChannelsAndUsers(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		for _, c := range []obj{
			{
				"name":         "galley",
				"display_name": "Galley",
				"type":         "O",
				"purpose":      "cooking and provisions",
			},
			{"name": "galley-secrets", "display_name": "Galley secrets", "type": "P"},
			{"name": "gangway", "display_name": "Gangway", "type": "O"},
		} {
			c["team_id"] = w.team
			w.ann.made("/channels", c)
		}
		eve := w.addUser("eve_100")
		w.join(eve, eve.id)
		group := w.ann.create("/channels/group", []string{w.ann.id, w.bob.id, eve.id})
		w.direct()
		for _, tt := range []struct {
			method, path string
			body         any
			key          string
			want         string
		}{
			{"POST", "/teams/" + w.team + "/channels/search", obj{"term": "gal"}, "name", "galley"},
			{"POST", "/teams/" + w.team + "/channels/search", obj{"term": "ga"}, "name", "galley; gangway"},
			{"POST", "/teams/" + w.team + "/channels/search", obj{"term": "provis"}, "name", "galley"},
			// words: only the index finds them.
			{"POST", "/teams/" + w.team + "/channels/search", obj{"term": "provisions cooking"}, "name", "galley"},
			{"POST", "/teams/" + w.team + "/channels/search", obj{"term": "a%w_y"}, "name", ""},
			{"POST", "/teams/" + w.team + "/channels/search", obj{"term": ")("}, "name", ""},
			{"GET", "/teams/" + w.team + "/channels/search_autocomplete?name=gal", nil, "display_name", "Galley; Galley secrets"},
			{"GET", "/teams/" + w.team + "/channels/search_autocomplete?name=bo", nil, "display_name", "ann, bob, eve_100; bob"},
			{"POST", "/channels/search?system_console=false", obj{"term": "gang"}, "name", "gangway"},
			{"POST", "/channels/search?system_console=false", obj{"term": "gal"}, "name", "galley; galley-secrets"},
			{"POST", "/channels/group/search", obj{"term": "bob ev"}, "id", idOf(group)},
			{"POST", "/channels/group/search", obj{"term": "bob sysadmin"}, "id", ""},
			{"POST", "/users/search", obj{"term": "ev"}, "username", "eve_100"},
			{"POST", "/users/search", obj{
				"term":    "@eve_1",
				"team_id": w.team,
			}, "username", "eve_100"},
			{"POST", "/users/search", obj{
				"term":          "eve",
				"in_channel_id": w.channel,
			}, "username", ""},
			{"POST", "/users/search", obj{
				"term":          "bo",
				"in_channel_id": w.channel,
			}, "username", "bob"},
		} {
			if got := w.ann.names(tt.method, tt.path, tt.body, tt.key); got != tt.want {
				t.Errorf("%s %v: %q, want %q", tt.path, tt.body, got, tt.want)
			}
		}
		w.ann.forbidden("POST", "/channels/search", obj{"term": "gang"})
		if got := w.bob.names("POST", "/channels/search?system_console=false", obj{"term": "gal"}, "name"); got != "galley" {
			t.Errorf("bob finds %v", got)
		}
		if got := w.admin.names("POST", "/channels/search", obj{"term": "gang"}, "name"); got != "gangway" {
			t.Errorf("the administrator finds %v", got)
		}
		l := w.ann.get(
			"/users/autocomplete?in_team=" + w.team + "&in_channel=" + w.channel + "&name=",
		)
		if in, out := l["users"].([]any), l["out_of_channel"].([]any); len(in) != 3 ||
			len(out) != 1 ||
			out[0].(obj)["username"] != "eve_100" {
			t.Errorf("autocomplete %v", l)
		}
	})
}

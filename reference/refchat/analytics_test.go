package refchat_test

import (
	"testing"
)

// TestAnalytics: the statistics count all posts and channels of a type, and accounts without bots;
// for administrators.
func TestAnalytics(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		counts := func() map[string]float64 {
			out := map[string]float64{}
			for _, row := range want[[]obj](w.admin, 200, "GET", "/analytics/old?name=standard", nil) {
				out[text(row["name"])] = row["value"].(float64)
			}
			return out
		}
		w.ann.forbidden("GET", "/analytics/old", nil)
		before := counts()
		p := w.ann.create("/posts", obj{"channel_id": w.channel, "message": "one more"})
		w.ann.ok("DELETE", "/posts/"+idOf(p), nil)
		w.admin.made("/users",
			obj{"username": "fourth", "email": "fourth@example.com", "password": "Aa1!fourth-one"})
		w.admin.made("/bots", obj{"username": "a-bot"})
		after := counts()
		for name, more := range map[string]float64{
			"post_count":            1,
			"unique_user_count":     1,
			"channel_open_count":    0,
			"channel_private_count": 0,
			"team_count":            0,
		} {
			if _, ok := before[name]; !ok || after[name]-before[name] != more {
				t.Errorf(
					"%s: %v before, %v after, want %v more",
					name,
					before[name],
					after[name],
					more,
				)
			}
		}
	})
}

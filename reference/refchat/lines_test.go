package refchat_test

import (
	"strings"
	"testing"

	"plimsoll/reference/refchat"
)

// What releases do differently with the same operation comes with the version.
func TestReleaseLines(t *testing.T) {
	dsn := database(t, "postgresql")
	w := newWorld(t, refchat.Config{DSN: dsn, Version: "5.31.7", License: "none"})
	w.addBot("liner-bot")
	direct := w.direct()
	all := num(w.admin.get("/users/stats/filtered?include_bots=true")["total_users_count"])
	for _, line := range []struct {
		version            string
		quirks             []string
		adminReadsDirect   bool
		statsCountBots     bool
		resumes            bool
		threads, oneThread bool   // there is such an operation
		seen               string // by others, of a membership's times: "", "hidden" or "omitted"
	}{
		{"5.29.1", nil, true, true, false, false, false, ""},
		{"5.32.1", nil, true, true, false, true, false, ""},
		{"5.37.0", nil, true, true, false, true, true, ""},
		{"5.38.0", nil, true, true, true, true, true, ""},
		{"9.11.0", nil, false, true, true, true, true, ""},
		{"10.5.0", nil, true, true, true, true, true, ""},
		{"10.5.0", []string{refchat.QuirkHideTimes}, true, true, true, true, true, "hidden"},
		{"11.0.0", nil, true, false, true, true, true, "hidden"},
		{"11.0.0", []string{refchat.QuirkOmitTimes, refchat.QuirkDirectMembersOnly}, false, false, true,
			true, true, "omitted"},
	} {
		t.Run(line.version, func(t *testing.T) {
			s := serve(t, refchat.Config{DSN: dsn, Version: line.version, Quirks: line.quirks})
			ann := newClient(t, s).login("ann", "Password-1")
			admin := newClient(t, s).login(refchat.DefaultAdminUser, refchat.DefaultAdminPassword)
			if got := admin.send("GET", "/channels/"+direct+"/posts", nil).status == 200; got != line.adminReadsDirect {
				t.Errorf("an administrator reads a direct channel: %v", got)
			}
			if got := num(ann.get("/users/stats")["total_users_count"]) == all; got != line.statsCountBots {
				t.Errorf("the statistics count bots: %v", got)
			}
			if id, _ := ann.dialRaw().event("hello")["data"].(obj)["connection_id"].(string); (id != "") != line.resumes {
				t.Errorf("a connection can be resumed: %v", id != "")
			}
			threads := "/users/me/teams/" + w.team + "/threads"
			// no such thread
			for path, want := range map[string]bool{
				threads:                line.threads,
				threads + "/" + w.team: line.oneThread,
			} {
				a := ann.send("GET", path, nil)
				if strings.Contains(string(a.body), "api.context.404.app_error") == want {
					t.Errorf("GET %s: %d %s", path, a.status, a.body)
				}
			}
			own := ann.get("/channels/" + w.channel + "/members/" + ann.id)
			other := ann.get("/channels/" + w.channel + "/members/" + w.bob.id)
			if num(own["last_update_at"]) <= 0 || num(own["last_viewed_at"]) < 0 {
				t.Errorf("one's own membership: %v", own)
			}
			at, ok := other["last_update_at"]
			_, viewed := other["last_viewed_at"]
			got := ""
			switch {
			case !ok && !viewed:
				got = "omitted"
			case num(at) == -1 && num(other["last_viewed_at"]) == -1:
				got = "hidden"
			case num(at) <= 0:
				got = "another"
			}
			if got != line.seen {
				t.Errorf("others see %q of %v", got, other)
			}
			for _, m := range want[[]obj](ann, 200, "GET", "/channels/"+w.channel+"/members?per_page=60", nil) {
				if at, ok := m["last_update_at"]; m["user_id"] != ann.id &&
					(ok != (line.seen != "omitted") || ok && (num(at) == -1) != (line.seen == "hidden")) {
					t.Errorf("the list has %v", m)
				}
			}
		})
	}
}

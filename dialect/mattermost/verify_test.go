package mattermost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/reference/refchat"
)

// The actions have their effects on the other engine, too.
func TestVerifyOnMySQL(t *testing.T) {
	url, password := reference(t, "mysql", refchat.Config{})
	allProven(t, VerifyConfig{URL: url, Password: password}, len(actions))
}

// On a server without a license, and on an old one, missing features are distinguished from
// failures.
func TestVerifyWithoutFeatures(t *testing.T) {
	for version, want := range map[string]map[string]Outcome{
		"11.0.0": {"upsert_draft": OutcomeOK, "create_scheduled_post": OutcomeLicense,
			"add_channel_bookmark":    OutcomeLicense,
			"update_custom_attribute": OutcomeLicense, "update_custom_status": OutcomeOK,
			"generate_user_report": OutcomeOK},
		"5.37.0": {"upsert_draft": OutcomeAbsent, "create_scheduled_post": OutcomeAbsent,
			"add_channel_bookmark":    OutcomeAbsent,
			"update_custom_attribute": OutcomeAbsent, "update_custom_status": OutcomeOK,
			"generate_user_report":    OutcomeAbsent,
			"update_sidebar_category": OutcomeOK, "click_user_profile": OutcomeOK},
	} {
		t.Run(version, func(t *testing.T) {
			url, password := reference(t, "postgresql", refchat.Config{
				Version: version,
				License: "none",
			})
			log := func(format string, args ...any) {
				// the end of a session, which a proof wants
				if line := fmt.Sprintf(format, args...); strings.Contains(line, "status 401") {
					t.Errorf("a proof that is ok prints a failure: %s", line)
				}
			}
			for _, p := range verified(t, VerifyConfig{URL: url, Password: password, Log: log}) {
				if p.Outcome == OutcomeFailed || want[p.Action] != "" && p.Outcome != want[p.Action] ||
					p.ServerVersion != version ||
					(p.Detail == "") != (p.Outcome == OutcomeOK) {
					t.Errorf("%+v, want %s", p, want[p.Action])
				}
			}
		})
	}
}

// A lie is an answer to a call that has no effect.
type lie struct {
	action string
	call   string // method and path, a regular expression
	status int
	answer func(path string, body []byte) string
}

// echo answers with the request, as if it had been done.
func echo(_ string, body []byte) string { return string(body) }

// echoID is echo with an identifier at its beginning.
func echoID(_ string, body []byte) string { return `{"id":"` + otherID + `",` + string(body[1:]) }

func says(s string) func(string, []byte) string { return func(string, []byte) string { return s } }

// lastID answers with the last segment of the path as a deleted thing.
func lastID(path string, _ []byte) string {
	return `{"id":"` + path[strings.LastIndexByte(path, '/')+1:] + `","delete_at":1}`
}

var lies = []lie{
	{"upsert_draft", "POST /drafts", 201, echo},
	{"delete_draft", "DELETE /users/.*/drafts.*", 200, says(`{"status":"OK"}`)},
	{"get_drafts", "GET /users/.*/drafts", 200, says("[]")},
	{"create_scheduled_post", "POST /posts/schedule", 201, echoID},
	{"update_scheduled_post", "PUT /posts/schedule/.*", 201, echo},
	{"delete_scheduled_post", "DELETE /posts/schedule/.*", 200, lastID},
	{"send_scheduled_post", "DELETE /posts/schedule/.*", 200, lastID},
	{"click_user_profile", "GET /teams/[^/]*/members/[^/]*", 200, nil}, // see liar
	{"update_custom_attribute", "PATCH /custom_profile_attributes/values", 200, echo},
	{"update_custom_status", "PUT /users/.*/status/custom", 200, says(`{"status":"OK"}`)},
	{"remove_custom_status", "DELETE /users/.*/status/custom", 200, says(`{"status":"OK"}`)},
	{"generate_user_report", "GET /reports/users", 200, says("[]")},
	{"update_sidebar_category", "PUT /users/.*/categories", 200, echo},
	{"create_sidebar_category", "POST /users/.*/categories", 200, echoID},
	{"add_channel_bookmark", "POST /channels/.*/bookmarks", 201, echoID},
	{"update_channel_bookmark", "PATCH /channels/.*/bookmarks/.*", 200,
		func(_ string, body []byte) string {
			return `{"updated":` + echoID("", body) + "}"
		}},
	{"update_channel_bookmark_sort_order", "POST /channels/.*/sort_order", 200, nil},
	{"delete_channel_bookmark", "DELETE /channels/.*/bookmarks/.*", 200, lastID},
	{"add_reaction", "POST /reactions", 200, echo},
	{"delete_post", "DELETE /posts/.*", 200, says(`{"status":"OK"}`)},
	{"edit_post", "PUT /posts/.*/patch", 200, func(path string, body []byte) string {
		return `{"id":"` + strings.Split(path, "/")[2] + `",` + string(body[1:])
	}},
	{"follow_thread", "PUT /users/.*/following", 200, says(`{"status":"OK"}`)},
	{"unfollow_thread", "DELETE /users/.*/following", 200, says(`{"status":"OK"}`)},
	{
		"mark_all_threads_in_team_as_read",
		"PUT /users/.*/threads/read",
		200,
		says(`{"status":"OK"}`),
	},
	{"create_post_reminder", "POST /users/.*/reminder", 200, says(`{"status":"OK"}`)},
	{"logout_login", "POST /users/logout", 200, says(`{"status":"OK"}`)},
	{"update_thread_read", "PUT /users/.*/threads/.*/read/.*", 200,
		func(path string, _ []byte) string {
			part := strings.Split(path, "/")
			return `{"id":"` + part[6] + `","last_viewed_at":` + part[8] + "}"
		}},
	{"view_global_threads", "GET /users/.*/threads", 200,
		says(`{"total":0,"total_unread_threads":0,"threads":[]}`)},
	// the root alone
	{"view_thread", "GET /posts/.*/thread", 200, func(path string, _ []byte) string {
		id := strings.Split(path, "/")[2]
		return `{"order":["` + id + `"],"posts":{"` + id + `":{"id":"` + id + `"}}}`
	}},
	{"ack_to_post", "POST /users/.*/ack", 200, func(path string, _ []byte) string {
		return `{"post_id":"` + strings.Split(path, "/")[4] + `","acknowledged_at":1}`
	}},
	{"search_posts", "POST /teams/.*/posts/search", 200, says(`{"order":[],"posts":{}}`)},
	{"search_posts_all_teams", "POST /posts/search", 200, says(`{"order":[],"posts":{}}`)},
	{"search_users", "POST /users/search", 200, says("[]")},
	{"search_channels", "POST /channels/search", 200, says("[]")},
	{"search_group_channels", "POST /channels/group/search", 200, says("[]")},
	{"unread_check", "POST /channels/members/.*/view", 200, func(_ string, body []byte) string {
		var v struct {
			ID string `json:"channel_id"`
		}
		_ = json.Unmarshal(body, &v) // unreadable bodies are skipped
		return `{"status":"OK","last_viewed_at_times":{"` + v.ID + `":9999999999999}}`
	}},
	{"join_channel", "POST /channels/[^/]*/members", 201, func(path string, body []byte) string {
		return `{"channel_id":"` + strings.Split(path, "/")[2] + `",` + string(body[1:])
	}},
	{"create_direct_channel", "POST /channels/direct", 201, nil},
	{"create_group_channel", "POST /channels/group", 201, nil},
}

// another answers a person that opens a direct or group channel with its channel with other people,
// with whom it has one by then. Others, as those who provision, get the truth.
func another(t *testing.T, target string, r *http.Request, body []byte) string {
	ask := func(method, path string, body []byte, into any) {
		req, err := http.NewRequestWithContext(r.Context(), method, target+"/api/v4"+path,
			bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", r.Header.Get("Authorization"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
	}
	type user struct {
		ID string `json:"id"`
	}
	var me user
	var all []user
	var asked []string
	ask("GET", "/users/me", nil, &me)
	ask("GET", "/users?per_page=100", nil, &all)
	if err := json.Unmarshal(body, &asked); err != nil || len(asked) < 2 {
		t.Errorf("%s asks for %s: %v", r.URL.Path, body, err)
		return ""
	}
	if asked[0] == me.ID {
		other := slices.IndexFunc(all, func(u user) bool { return !slices.Contains(asked, u.ID) })
		asked[len(asked)-1] = all[other].ID
		body, _ = json.Marshal(asked)
	}
	var ch json.RawMessage
	ask("POST", strings.TrimPrefix(r.URL.Path, "/api/v4"), body, &ch)
	return string(ch)
}

// liar is a proxy with one false answer.
func liar(t *testing.T, target string, l lie) (addr string) {
	proxy := passing(t, target)
	call := regexp.MustCompile("^" + l.call + "$")
	n := 0
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api/v4")
		if !call.MatchString(r.Method + " " + path) {
			proxy.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		answer := ""
		switch {
		case l.answer != nil:
			answer = l.answer(path, body)
		case strings.HasPrefix(l.action, "create_"):
			answer = another(t, target, r, body)
		case l.action == "click_user_profile": // another answer each time
			n++
			parts := strings.Split(path, "/")
			answer = `{"team_id":"` + parts[2] + `","user_id":"` + parts[4] + `","roles":"role_` +
				string(rune('a'+n)) + `"}`
		default: // the order that was asked for
			parts := strings.Split(path, "/")
			req, _ := http.NewRequest("GET", target+"/api/v4/channels/"+parts[2]+"/bookmarks", nil)
			req.Header = r.Header
			req.Header.Del("Content-Length")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var list []map[string]any
			var to int
			if json.NewDecoder(resp.Body).Decode(&list) != nil ||
				json.Unmarshal(bytes.TrimSpace(body), &to) != nil {
				t.Errorf("sort_order %s", body)
			}
			from := slices.IndexFunc(list, func(b map[string]any) bool {
				return b["id"] == parts[4]
			})
			b := list[from]
			list = slices.Insert(slices.Delete(list, from, from+1), to, b)
			j, _ := json.Marshal(list)
			answer = string(j)
		}
		w.WriteHeader(l.status)
		io.WriteString(w, answer)
	})
}

// A server that claims an effect that it did not have is found out: no proof is satisfied with an
// answer.
func TestProofsWantTheEffect(t *testing.T) {
	target, password := reference(t, "postgresql", refchat.Config{})
	for _, l := range lies {
		t.Run(l.action, func(t *testing.T) {
			proofs := verified(t, VerifyConfig{URL: liar(t, target, l), Password: password,
				Only: []string{l.action}})
			if len(proofs) != 1 || proofs[0].Outcome != OutcomeFailed ||
				strings.HasPrefix(proofs[0].Detail, "doing it") {
				t.Errorf("%+v, want a proof that fails for want of the effect", proofs)
			}
		})
	}
}

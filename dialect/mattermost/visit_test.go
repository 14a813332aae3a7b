package mattermost

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/load/workload"
)

// A heard holds the findings of a visit.
type heard struct{ lines []string }

func (*heard) Doing(string) {}
func (h *heard) Problem(path, format string, args ...any) {
	h.lines = append(h.lines, path+": "+fmt.Sprintf(format, args...))
}
func (h *heard) Caution(path, format string, args ...any) {
	h.lines = append(h.lines, "caution "+path+": "+fmt.Sprintf(format, args...))
}

// visited returns what a visit finds at a server with these answers, by method and path below
// /api/v4.
func visited(
	t *testing.T,
	answers, secrets map[string]string,
	users map[string]int,
	params map[string]string,
) []string {
	t.Helper()
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v4")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			text = `{"id":"not.there"}`
		} else if text == "401" {
			w.WriteHeader(http.StatusUnauthorized)
			text = `{"id":"wrong"}`
		}
		w.Header().Set("Token", "session")
		_, _ = io.WriteString(w, text)
	})
	var h heard
	inspect(t.Context(), dialect.Visit{Users: users, Log: &h,
		Env: workload.Env{URL: addr, Params: params,
			Secret: func(name string) string { return secrets[name] }}})
	for i := range h.lines {
		h.lines[i] = strings.ReplaceAll(h.lines[i], addr, "URL")
	}
	return h.lines
}

// What stops a run depends on who the users are, and on what earlier runs have left.
func TestVisit(t *testing.T) {
	const (
		admin  = `{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaa","username":"root","roles":"system_user system_admin"}`
		person = `{"id":"bbbbbbbbbbbbbbbbbbbbbbbbbb","username":"bot","roles":"system_user"}`
	)
	answers := map[string]string{
		"GET /config/client":    `{"Version":"11.6.0","NoAccounts":"false"}`,
		"GET /license/client":   `{"IsLicensed":"false"}`,
		"GET /users/me":         admin,
		"POST /users/login":     admin,
		"POST /users/logout":    `{"status":"OK"}`,
		"GET /config":           `{"ServiceSettings":{"EnableBotAccountCreation":false},"TeamSettings":{"MaxUsersPerTeam":50}}`,
		"GET /limits/server":    `{"activeUserCount":40,"maxUsersHardLimit":45}`,
		"POST /users/usernames": `[]`,
	}
	with := func(key, answer string) map[string]string {
		out := maps.Clone(answers)
		out[key] = answer
		return out
	}
	token := map[string]string{"admin_token": "admin"}
	password := map[string]string{"admin_password": "Wrong-1!"}
	posters := map[string]int{Posting: 300}
	for _, tt := range []struct {
		name             string
		answers, secrets map[string]string
		users            map[string]int
		params           map[string]string
		want             []string
	}{
		{"another server", with("GET /config/client", `{"hello":"world"}`), token, posters, nil,
			[]string{"target.url: URL does not answer as a server of the Mattermost family"}},
		{"posters need one bot", answers, token, posters, nil,
			[]string{"target: the server's ServiceSettings.EnableBotAccountCreation is false"}},
		{"posters with a bot", answers, map[string]string{
			"admin_token": "admin",
			"bot_token":   "bot",
		},
			posters, nil, nil},
		{"no administrator", with("GET /users/me", person), token, posters, nil,
			[]string{"workload.params.admin_token: user bot is not an administrator"}},
		{"a wrong token", with("GET /users/me", "401"), token, posters, nil,
			[]string{"workload.params.admin_token: the server at URL does not let the administrator in"}},
		{"a wrong password", with("POST /users/login", "401"), password, posters, nil,
			[]string{"workload.params.admin_password: the server at URL does not let the administrator sysadmin in"}},
		{"a channel that is not there", answers, map[string]string{"bot_token": "bot"}, posters,
			map[string]string{"channel": "cccccccccccccccccccccccccc"},
			[]string{"workload: reading as the bot from URL: channel cccccccccccccccccccccccccc: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := visited(t, tt.answers, tt.secrets, tt.users, tt.params); !slices.EqualFunc(
				got,
				tt.want,
				strings.HasPrefix,
			) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
	empty := with("GET /config/client", `{"Version":"11.6.0","NoAccounts":"true"}`)
	empty["POST /users/login"] = "401"
	if got := visited(t, empty, password, posters, nil); len(got) > 0 {
		t.Errorf("a server without accounts, on which the run makes the administrator: %q", got)
	}
}

// Persons meet the limits of teams and licenses, unless they are there already.
func TestVisitOfPersons(t *testing.T) {
	v := func(found string) []string {
		return visited(t, map[string]string{
			"GET /config/client":    `{"Version":"11.6.0"}`,
			"GET /license/client":   `{"IsLicensed":"false"}`,
			"GET /users/me":         `{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaa","username":"root","roles":"system_admin"}`,
			"GET /config":           `{"ServiceSettings":{"SiteURL":"http://h/chat"},"TeamSettings":{"MaxUsersPerTeam":500}}`,
			"GET /limits/server":    `{"activeUserCount":240,"maxUsersHardLimit":250}`,
			"POST /users/usernames": found,
		}, map[string]string{"admin_token": "admin"}, map[string]int{living: 200}, nil)
	}
	for found, want := range map[string][]string{
		`[]`: {"target.url: users of the behavior mattermost need a WebSocket",
			"target: the server's limit of users is 250",
			"caution target.url: the server's ServiceSettings.SiteURL"},
		`[{"id":"pppppppppppppppppppppppppp","username":"plimsoll-user-00199"}]`: {"target.url: users of the behavior mattermost need a WebSocket",
			"caution target.url: the server's ServiceSettings.SiteURL"},
	} {
		if got := v(found); !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf(
				"with %s: got\n%s\nwant\n%s",
				found,
				strings.Join(got, "\n"),
				strings.Join(want, "\n"),
			)
		}
	}
}

func TestWants(t *testing.T) {
	env := func(params map[string]string, accounts *workload.Accounts, given ...string) workload.Env {
		return workload.Env{Params: params, Accounts: accounts, Secret: func(name string) string {
			return map[bool]string{true: "secret"}[slices.Contains(given, name)]
		}}
	}
	channel := map[string]string{"channel": "c"}
	for name, tt := range map[string]struct {
		env       workload.Env
		behaviors []string
		want      int
	}{
		"nothing":          {env(nil, nil), []string{Posting}, 2},
		"a password":       {env(nil, nil, "admin_password"), []string{living}, 0},
		"a token":          {env(nil, nil, "admin_token"), []string{living}, 0},
		"accounts":         {env(nil, new(workload.Accounts)), []string{living}, 0},
		"a bot":            {env(channel, nil, "bot_token"), []string{Posting}, 0},
		"a bot nowhere":    {env(nil, nil, "bot_token"), []string{Posting}, 2},
		"a bot and others": {env(channel, nil, "bot_token"), []string{Posting, living}, 2},
	} {
		if got, _ := wants(tt.env, tt.behaviors); len(got) != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

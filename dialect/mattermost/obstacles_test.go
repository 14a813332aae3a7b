package mattermost

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

func configOf(t *testing.T, text string) (c api.ServerConfig) {
	t.Helper()
	noError(t, json.Unmarshal([]byte(text), &c))
	return c
}

// Each setting that stops a run, or makes it less, is named with its remedy, those that stop it
// first.
func TestObstacles(t *testing.T) {
	const fresh = `{"ServiceSettings":{"SiteURL":"http://h/chat","EnableBotAccountCreation":false},"TeamSettings":{"MaxUsersPerTeam":50},
		"RateLimitSettings":{"Enable":true,"PerSec":10},"MetricsSettings":{"Enable":false}}`
	const ready = `{"ServiceSettings":{"SiteURL":"http://h/","EnableBotAccountCreation":true},"TeamSettings":{"MaxUsersPerTeam":302},
		"RateLimitSettings":{"Enable":false,"PerSec":10},"MetricsSettings":{"Enable":true}}`
	for name, tt := range map[string]struct {
		config string
		limits api.ServerLimits
		facts  facts
		want   []string
	}{
		"a new server": {fresh, api.ServerLimits{Active: 1, Most: 250}, facts{}, []string{
			"stops TeamSettings.MaxUsersPerTeam is 50: a run of 300 users stops when they join the team; set it to 302 or more",
			"stops limit of users is 250: the license, or its lack, allows so many accounts, and the server has 1: it makes 249 of those", "stops RateLimitSettings.Enable is true, PerSec 10", "ServiceSettings.SiteURL is http://h/chat",
			"ServiceSettings.EnableBotAccountCreation is false", "license is none",
			"MetricsSettings.Enable is false",
		}},
		"a good one": {ready, api.ServerLimits{Active: 9, Most: 11000},
			facts{License: enterprise}, nil},
		"an old one": {"{}", api.ServerLimits{}, facts{License: professional}, nil},
		"no page of metrics": {ready, api.ServerLimits{}, facts{License: professional},
			[]string{"MetricsSettings.Enable is true"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := obstaclesOf(configOf(t, tt.config), tt.limits, &tt.facts, "http://h", 300)
			var got []string
			for _, o := range list {
				text := o.String()
				if o.Stops {
					text = "stops " + text
				}
				got = append(got, text)
			}
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// A preparation that the server refuses names the settings that stop a run, and only those.
func TestAFailedPreparationNamesTheSettings(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v4/config":
			io.WriteString(
				w,
				`{"ServiceSettings":{"EnableBotAccountCreation":false},"TeamSettings":{"MaxUsersPerTeam":50}}`,
			)
		case "/api/v4/config/client":
			io.WriteString(w, `{"Version":"11.6.0"}`)
		case "/api/v4/license/client":
			io.WriteString(w, `{"IsLicensed":"false"}`)
		default:
			http.NotFound(w, r)
		}
	})
	s := newSetup(t.Context(), &workload.Env{URL: addr}, settings{})
	s.token = "admin"
	refusal := &api.OpError{Op: "add_team_members", Status: 400,
		Code: "api.team.max_accounts.app_error"}
	err := s.stopped(fmt.Errorf("adding users: %w", refusal), 300)
	if got := err.Error(); !strings.HasPrefix(got, "adding users: ") ||
		!strings.Contains(
			got,
			"; TeamSettings.MaxUsersPerTeam is 50",
		) || strings.Contains(got, "Bot") {
		t.Error(got)
	}
	if err := s.stopped(nil, 300); err != nil {
		t.Error(err)
	}
}

// An account that an earlier preparation left with another password gets this one, and no other
// account does.
func TestAccountsOfAnEarlierRunAreUsedAgain(t *testing.T) {
	for mail, used := range map[string]bool{
		"user-0@example.com":  true,
		"user-0@corp.example": false,
	} {
		changed := false
		addr := inTurn(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			profile := fmt.Sprintf(`{"id":"%s","username":"user-0","email":%q}`, anID, mail)
			switch r.Method + " " + r.URL.Path {
			case "POST /api/v4/users/login":
				if !changed {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.Header().Set("Token", "session")
				io.WriteString(w, profile)
			case "POST /api/v4/users/usernames":
				io.WriteString(w, "["+profile+"]")
			case "PUT /api/v4/users/" + anID + "/password":
				changed = string(body) == `{"new_password":"Aa1!new"}` &&
					r.Header.Get("Authorization") == "Bearer admin"
				io.WriteString(w, `{"status":"OK"}`)
			}
		})
		s := newSetup(t.Context(), &workload.Env{URL: addr}, settings{})
		s.token = "admin"
		c, err := s.client("admin")
		noError(t, err)
		passTurn()
		err = s.logIn(t.Context(), c, "user-0", "Aa1!new")
		passTurn()
		if changed != used || (err == nil) != used {
			t.Errorf("%s: password changed %v, %v; want %v", mail, changed, err, used)
		}
		c.Close()
	}
}

// A rate limit holds the preparation of a server up and does not end it; the log reports for how
// long.
func TestALimitHoldsProvisioningUp(t *testing.T) {
	var n atomic.Int32
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "<html>503 Service Temporarily Unavailable</html>")
			return
		}
		io.WriteString(w, `{"id":"`+anID+`"}`)
	})
	var log []string
	s := newSetup(t.Context(), &workload.Env{URL: addr, Log: func(format string, args ...any) {
		log = append(log, fmt.Sprintf(format, args...))
	}}, settings{})
	s.patient()
	if err := s.with(func(c *api.Client) error {
		for range 3 {
			if _, err := c.TeamByName(t.Context(), "t"); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.heldUp()
	if text := strings.Join(log, "\n"); len(log) != 2 ||
		!strings.Contains(text, "waiting, and going on") ||
		!strings.Contains(text, " s: 3 calls were refused, and repeated") {
		t.Errorf("log:\n%s", text)
	}
}

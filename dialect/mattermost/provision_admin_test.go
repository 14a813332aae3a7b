package mattermost

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"plimsoll/load/workload"
)

// The administrator is made on a server that says that it has no accounts, or does not say it. On
// one that has some, the account would be an ordinary one, with the administrator's password, left
// behind by a wrong name.
func TestAnAdministratorIsMadeOfTheFirstAccountAlone(t *testing.T) {
	for _, tt := range []struct {
		config string
		made   bool
	}{{`,"NoAccounts":"true"`, true}, {"", true}, {`,"NoAccounts":"false"`, false}} {
		made := false
		addr := inTurn(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			const admin = `{"id":"a","username":"sysadmin","roles":"system_user system_admin"}`
			switch r.URL.Path {
			case "/api/v4/config/client":
				fmt.Fprintf(w, `{"Version":"10.5.0"%s}`, tt.config)
			case "/api/v4/users":
				made = true
				w.WriteHeader(http.StatusCreated)
				io.WriteString(w, admin)
			case "/api/v4/users/login":
				if !made {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.Header().Set("Token", "session")
				io.WriteString(w, admin)
			}
		})
		env := workload.Env{URL: addr, Secret: oneSecret("admin_password", "Aa1!aaaaaaaa")}
		set, err := parse(nil, DefaultMix)
		noError(t, err)
		passTurn()
		err = newSetup(t.Context(), &env, set).asAdmin()
		passTurn()
		if made != tt.made || (err == nil) != tt.made {
			t.Errorf("%q: an account was made: %v, %v; want %v", tt.config, made, err, tt.made)
		}
		if err != nil && !strings.Contains(err.Error(), "the setting admin") {
			t.Errorf("%q: no remedy in %v", tt.config, err)
		}
	}
}

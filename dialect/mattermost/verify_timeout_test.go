package mattermost

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// A server that stops answering within the proofs would hold the administrator's calls for a minute
// each, as those of provisioning.
func TestAProofWaitsNoLongerForACallThanItWasTold(t *testing.T) {
	s, err := newStage(t.Context(),
		VerifyConfig{URL: nullInProcess(t), Password: "Aa1!aaaaaaaa", Timeout: 7 * time.Second})
	noError(t, err)
	defer s.close()
	for name, c := range map[string]*api.Client{"administrator": s.admin, "actor": s.actor.c,
		"witness": s.witness.c} {
		if c.Timeout != 7*time.Second {
			t.Errorf("a call of the %s may take %v, want 7s", name, c.Timeout)
		}
	}
}

// Also before the first proof: each request of the provisioning ends after the time of one call,
// wherever the server falls silent.
func TestTheStageWaitsNoLongerForACallThanItWasTold(t *testing.T) {
	for _, silent := range []string{"/api/v4/users/login", "/api/v4/teams", "/api/v4/users/usernames",
		"/api/v4/channels"} {
		t.Run(strings.ReplaceAll(silent[len("/api/v4/"):], "/", " "), func(t *testing.T) {
			forward := passing(t, nullInProcess(t))
			over := make(chan struct{})
			var asked atomic.Int64
			front := httptest.NewServer(
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !strings.HasPrefix(r.URL.Path, silent) {
						forward.ServeHTTP(w, r)
						return
					}
					asked.Add(1)
					<-over
				}),
			)
			t.Cleanup(func() {
				close(over)
				front.Close()
			})
			within, cancel := context.WithTimeout(t.Context(), provisionTimeout/2)
			defer cancel()
			s, err := newStage(within, VerifyConfig{URL: front.URL, Password: "Aa1!aaaaaaaa",
				Timeout: 200 * time.Millisecond})
			if err == nil {
				s.close()
			}
			if asked.Load() == 0 {
				t.Fatal("the provisioning does not ask for it")
			}
			if err == nil || within.Err() != nil {
				t.Errorf("%v; the calls took longer than they may", err)
			}
		})
	}
}

package verbs

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/dialect"
	"plimsoll/plan"
)

// failedPlan is the README's: nothing but bounded.
const failedPlan = `
name: failed
seed: 7
target: {driver: external, url: "URL", ready: /api/v4/system/ping}
workload: {behavior: BEHAVIOR, pace: 0.1}
bounded: {users: 8, ramp: 1s, settle: 0s, measure: 4s}
` + openGates

// TestABoundedRunThatFailsIsNotGood: a server before which posts fail, or WebSockets break, is none
// that "nothing limited", and the run of the README's plan does not end with status 0.
func TestABoundedRunThatFailsIsNotGood(t *testing.T) {
	t.Parallel()
	for behavior, broken := range map[string]string{
		"poster":     plan.FailedOperations,
		"mattermost": dialect.DisconnectedUsers,
	} {
		t.Run(behavior, func(t *testing.T) {
			t.Parallel()
			var posts atomic.Int64
			proxy := beforeNull(
				t,
				func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
					switch {
					case behavior == "poster" && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/posts") && posts.Add(1)%10 > 0:
						http.Error(w, "busy", http.StatusServiceUnavailable)
						return
					case behavior == "mattermost" && strings.HasSuffix(r.URL.Path, "/websocket"): // it lives for a moment
						short, end := context.WithTimeout(r.Context(), 300*time.Millisecond)
						defer end()
						r = r.WithContext(short)
					}
					forward.ServeHTTP(w, r)
				},
			)
			text := strings.NewReplacer("URL", proxy, "BEHAVIOR", behavior).Replace(failedPlan)
			cmd, _, output := startPlanWith(
				t,
				[]string{
					"PLIMSOLL_ADMIN_PASSWORD=Aa1!aaaaaaaa",
					"PLIMSOLL_USER_PASSWORD=Aa1!aaaaaaaa",
				},
				text,
				"run",
			)
			// A busy machine may void the run as well.
			if status := wait(t, cmd, time.Minute, output); status != exit.SLO &&
				status != exit.Invalid {
				t.Errorf("status %d, want %d", status, exit.SLO)
			}
			if said := output.String(); !strings.Contains(said, "rule broken: "+broken+": ") ||
				strings.Contains(said, "othing limited") {
				t.Errorf("want %q, and a limiter:\n%s", broken, said)
			}
		})
	}
}

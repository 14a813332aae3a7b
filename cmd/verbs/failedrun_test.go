package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/dialect"
	"plimsoll/plan"
	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/trial"
)

// failedPlan is the README's: nothing but bounded. Its gates are open, as those of shedPlan.
const failedPlan = `
name: failed
seed: 7
target: {driver: external, url: "URL", ready: /api/v4/system/ping}
gates: {lag: {red: 10s}, late: {red: 100%}, cpu: {red: 100%}, core: {red: 100%}, sched: {red: 10s}, inbox: {red: 10s}, steal: {red: 100%}}
workload: {behavior: BEHAVIOR, pace: 0.1}
bounded: {users: 8, ramp: 1s, settle: 0s, measure: 4s}
`

// TestABoundedRunThatFailsIsNotGood: a server before which posts fail, are accepted without being made, or WebSockets
// break, is none that "nothing limited", and the run of the README's plan does not end with status 0.
func TestABoundedRunThatFailsIsNotGood(t *testing.T) {
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	const errorsBroken, socketsBroken = "rule broken: " + plan.FailedOperations + ": ", "rule broken: " + dialect.DisconnectedUsers + ": "
	isPost := func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/posts")
	}
	for _, tt := range []struct {
		name, behavior string
		// At least one of these: a busy machine may void the run as well.
		status int
		says   string                                                            // on stderr
		red    string                                                            // gate
		answer func(n int64, w http.ResponseWriter, r *http.Request) (done bool) // nil: all is well
	}{
		{"nothing fails", "mattermost", rig.ExitOK, "", "", nil},
		{"nine posts of ten", "poster", rig.ExitSLO, errorsBroken, "", func(n int64, w http.ResponseWriter, r *http.Request) bool {
			if !isPost(r) || n%10 == 0 {
				return false
			}
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return true
		}},
		{"all posts", "poster", rig.ExitInvalid, errorsBroken, trial.BehaviorGate, func(_ int64, w http.ResponseWriter, r *http.Request) bool {
			if !isPost(r) {
				return false
			}
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return true
		}},
		{"posts that are accepted and not made", "poster", rig.ExitInvalid, errorsBroken, "audit", func(n int64, w http.ResponseWriter, r *http.Request) bool {
			if !isPost(r) || n%2 == 0 {
				return false
			}
			io.WriteString(w, `{"status":"OK"}`)
			return true
		}},
		{"every WebSocket", "mattermost", rig.ExitSLO, socketsBroken, "", func(int64, http.ResponseWriter, *http.Request) bool { return false }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			proxy := beforeNull(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
				if tt.answer != nil && tt.answer(n.Add(1), w, r) {
					return
				}
				if strings.HasSuffix(r.URL.Path, "/websocket") && tt.says == socketsBroken { // it lives for a moment
					short, end := context.WithTimeout(r.Context(), 300*time.Millisecond)
					defer end()
					r = r.WithContext(short)
				}
				forward.ServeHTTP(w, r)
			})
			dir := t.TempDir()
			file := filepath.Join(dir, "failed.yaml")
			text := strings.NewReplacer("URL", proxy, "BEHAVIOR", tt.behavior).Replace(failedPlan)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), exe, "run", "-calibrate=false", "-store", dir, "-json", file)
			cmd.Env = append(os.Environ(), "PLIMSOLL_ADMIN_PASSWORD=Aa1!aaaaaaaa", "PLIMSOLL_USER_PASSWORD=Aa1!aaaaaaaa")
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			status := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				status = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			var got shown
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("status %d: %v\n%s\n%s", status, err, out, said.String())
			}
			if status != tt.status && status != rig.ExitInvalid {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			if !strings.Contains(said.String(), tt.says) || tt.says == "" && strings.Contains(said.String(), "rule broken") {
				t.Errorf("want %q:\n%s", tt.says, said.String())
			}
			if l := got.Limiter; tt.answer != nil && (l == nil || strings.HasPrefix(l.Sentence, "Nothing limited")) {
				t.Errorf("the limiter is %+v", l)
			}
			red := ""
			for _, f := range got.Validity.Findings {
				if f.Level == record.Red && (f.Gate == trial.BehaviorGate || f.Gate == "audit") {
					red = f.Gate
				}
			}
			if red != tt.red {
				t.Errorf("red %q, want %q: %+v", red, tt.red, got.Validity.Findings)
			}
		})
	}
}

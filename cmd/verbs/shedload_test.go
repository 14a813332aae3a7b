package verbs

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/evidence"
	"plimsoll/judge/limiter"
	"plimsoll/plan"
	"plimsoll/record"
)

// shedPlan searches from 20 users, two posts a second each, to far more than the proxy lets
// through. Its gates are open: the test's other work on the machine does not affect the counts.
const shedPlan = `
name: shed
seed: 7
target: {driver: external, url: "URL", ready: /api/v4/system/ping}
gates: {lag: {red: 10s}, late: {red: 100%}, cpu: {red: 100%}, core: {red: 100%}, sched: {red: 10s}, inbox: {red: 10s}, steal: {red: 100%}}
workload: {behavior: poster, pace: 0.1}
unbounded: {max_users: 185, start: 20, budget: 20s, ramp_rate: 1%SLO}
`

// A shedder lets a number of posts a second through to a server and refuses the others.
type shedder struct {
	mu      sync.Mutex
	last    time.Time
	places  float64 // a bucket of a quarter of a second
	refused int
}

const letThrough = 60 // posts a second: those of some 30 users

func (s *shedder) refuses(r *http.Request) bool {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/posts") {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.places = min(letThrough/4, s.places+letThrough*now.Sub(s.last).Seconds())
	s.last = now
	if s.places >= 1 {
		s.places--
		return false
	}
	s.refused++
	return true
}

// TestShedLoadIsNotCarried: a search ends where a server begins to refuse, by 429 or by cutting
// connections, and the refusals are its limiter. Without a rule that looks at them, all users were
// "supported", and nothing limited the run.
func TestShedLoadIsNotCarried(t *testing.T) {
	exe := builtProgram(t)
	for _, tt := range []struct {
		name, slo, kind, failures string
		refuse                    http.HandlerFunc
	}{
		{"429", "", limiter.LimitRefusals, "4xx ", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}},
		{"cut connections", `, slo: ["p99(op) < 2s"]`, limiter.LimitCut, "header ", func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
				}
				_ = c.Close()
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			shed := new(shedder)
			proxy := beforeNull(
				t,
				func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
					if shed.refuses(r) {
						tt.refuse(w, r)
						return
					}
					forward.ServeHTTP(w, r)
				},
			)
			dir := t.TempDir()
			file := filepath.Join(dir, "shed.yaml")
			text := strings.NewReplacer("URL", proxy, "SLO", tt.slo).Replace(shedPlan)
			writeText(t, file, text)
			cmd := exec.CommandContext(
				t.Context(),
				exe,
				"capacity",
				"-calibrate=false",
				"-store",
				dir,
				"-json",
				file,
			)
			cmd.Env = append(os.Environ(), "PLIMSOLL_ADMIN_PASSWORD=Aa1!aaaaaaaa")
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			var got evidence.Shown
			if jerr := json.Unmarshal(out, &got); jerr != nil {
				t.Fatalf("%v: %v\n%s\n%s", err, jerr, out, said.String())
			}
			c := got.Manifest.Capacity
			// On a busy machine the search may end without an answer.
			if c != nil && c.Kind == record.Unstable && float64(c.Reached) <= 45 {
				return
			}
			if err != nil || c == nil || c.Kind != record.Estimate || c.Users < 20 ||
				c.Users > 45 ||
				c.Rule != plan.FailedOperations {
				t.Errorf(
					"%v: capacity %+v, want an estimate near the 30 users whose posts are let through, by %s\n%s",
					err,
					c,
					plan.FailedOperations,
					said.String(),
				)
			}
			l := got.Limiter
			if l == nil || l.Kind != tt.kind || !strings.Contains(l.Failed, tt.failures) {
				t.Fatalf("the limiter is %+v, want %s with its failures", l, tt.kind)
			}
			if tt.kind == limiter.LimitRefusals && !strings.Contains(l.Failed, "(429 ") {
				t.Errorf("no count of the status: %s", l.Failed)
			}
			all := got.Ops[len(got.Ops)-1]
			if all.Name != "op" || int(all.Errors) > shed.refused || all.Errors == 0 {
				t.Errorf(
					"%d operations %s failed, %d were refused",
					all.Errors,
					all.Name,
					shed.refused,
				)
			}
			if tt.kind == limiter.LimitRefusals && all.Status["429"] != all.Class["4xx"] {
				t.Errorf("of the class 4xx %v, of status 429 %v", all.Class, all.Status)
			}
		})
	}
}

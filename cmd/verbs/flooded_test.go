package verbs

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/rig"
	"plimsoll/run/record"
)

// floodedPlan has open gates, as shedPlan, and a byte budget of two large answers.
const floodedPlan = `
name: flooded
seed: 7
target: {driver: external, url: "%s", ready: /api/v4/system/ping}
placement: {memory: 16MB, processes: %d}
gates: {lag: {red: 10s}, late: {red: 100%%}, cpu: {red: 100%%}, core: {red: 100%%}, sched: {red: 10s}, steal: {red: 100%%}}
workload: {behavior: poster, pace: 0.1}
bounded: {users: 24, ramp: 500ms, settle: 500ms, measure: 3s}
`

// TestFloodedUsersVoidTheRun: answers that find no room in the byte budget of the plan are a red finding, those
// beyond their own limit an amber one; both failed with class body, the budget held, and the manifest has the counts,
// also of users in several processes, which divide it.
func TestFloodedUsersVoidTheRun(t *testing.T) {
	t.Parallel()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprint(processes, " processes"), func(t *testing.T) {
			t.Parallel()
			large := []byte(strings.Repeat(" ", 1<<20))
			var posts atomic.Int64
			proxy := beforeNull(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
				if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/posts") {
					forward.ServeHTTP(w, r)
					return
				}
				n := 3 // MiB, which stay under way for a while
				if posts.Add(1)%4 == 0 {
					n = 5 // refused when they are announced, regardless of free memory
					w.Header().Set("Content-Length", fmt.Sprint(n<<20))
				}
				w.WriteHeader(http.StatusCreated)
				for range n {
					if _, err := w.Write(large); err != nil {
						return
					}
				}
				select {
				case <-time.After(300 * time.Millisecond):
				case <-r.Context().Done():
				}
			})
			dir := t.TempDir()
			file := filepath.Join(dir, "flooded.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, floodedPlan, proxy, processes), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), exe, "run", "-calibrate=false", "-store", dir, file)
			cmd.Env = append(os.Environ(), "PLIMSOLL_ADMIN_PASSWORD=Aa1!aaaaaaaa")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != rig.ExitInvalid {
				t.Fatalf("%v, want status %d\n%s", err, rig.ExitInvalid, out)
			}
			runs, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "manifest.json"))
			if len(runs) != 1 {
				t.Fatalf("%d runs\n%s", len(runs), out)
			}
			r, err := record.Open(filepath.Dir(runs[0]))
			if err != nil {
				t.Fatal(err)
			}
			a := r.Manifest.Answers
			if a == nil || a.Budget != 16<<20 || a.Held < 4<<20 || a.Held > a.Budget || a.NoRoom == 0 || a.Bodies == 0 {
				t.Errorf("the manifest has %+v", a)
			}
			for _, want := range []string{record.BudgetGate + " " + record.Red, record.LimitsGate + " " + record.Amber} {
				if !slices.ContainsFunc(r.Validity.Findings, func(f record.Finding) bool { return f.Gate+" "+f.Level == want }) {
					t.Errorf("no finding %s in %+v", want, r.Validity.Findings)
				}
			}
			m, err := r.Merged(0, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if w := m["post"]; w == nil || w.Classes[measure.Body] == 0 {
				t.Errorf("posts: %+v", w)
			}
		})
	}
}

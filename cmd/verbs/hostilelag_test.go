package verbs

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/target/lab"
)

// hostilePlan has open gates except for those of lateness, which the test observes.
const hostilePlan = `
name: hostile
target: {driver: external, url: "%s", ready: /api/v4/system/ping}
gates: {cpu: {red: 100%%}, core: {red: 100%%}, sched: {red: 10s}, pause: {red: 10s}, gc: {red: 100%%}, inbox: {red: 100s}, steal: {red: 100%%}}
%s
workload: {behavior: mattermost, pace: %g}
bounded: {users: %d, ramp: 1s, settle: 1s, measure: 4s}
`

// TestALateGeneratorIsSeenInEachHostileMode: in a mode of the server for requests and in one for WebSockets, either their
// operations were on time by the budget of the gate lag, or that gate is red and the run is not valid. PLIMSOLL_HOSTILE_USERS sets their number, and
// PLIMSOLL_HOSTILE_CPU the core of the server, which the users then do not have.
func TestALateGeneratorIsSeenInEachHostileMode(t *testing.T) {
	t.Parallel()
	users, pace, placement := 40, 0.05, ""
	if n, err := strconv.Atoi(os.Getenv("PLIMSOLL_HOSTILE_USERS")); err == nil && n > 0 {
		users, pace = n, 1
	}
	if cpu, err := strconv.Atoi(os.Getenv("PLIMSOLL_HOSTILE_CPU")); err == nil {
		online, err := lab.AllowedCPUs(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range online {
			if other != cpu {
				placement = fmt.Sprintf("placement: {generator: [%d]}", other)
			}
		}
	}
	address, arm := startHostile(t)
	budget := redLag(t)
	modes := hostileModes(false)
	for _, mode := range []hostileMode{modes[0], modes[len(modes)-1]} {
		t.Run(mode.name, func(t *testing.T) {
			cmd, root, output := startPlanWith(t, []string{"PLIMSOLL_ADMIN_PASSWORD=Aa1!aaaaaaaa"}, fmt.Sprintf(hostilePlan, address, placement, pace, users), "run")
			atPhase(t, root, "settle", output)
			arm(mode.name)
			time.Sleep(6 * time.Second) // to the end of the measured phase; the audit afterwards is answered well
			arm("")
			status := wait(t, cmd, 4*time.Minute, output)
			r, err := record.Open(crashedRun(root))
			if err != nil {
				t.Fatal(err)
			}
			failed, late := uint64(0), new(measure.Histogram)
			if ph, ok := r.Manifest.Phase("measure"); ok {
				windows, err := r.Merged(ph.From, ph.To)
				if err != nil {
					t.Fatal(err)
				}
				for name, w := range windows {
					failed += w.Classes[mode.class]
					if name == workload.Schedule || workload.Operation(name) {
						late.Merge(w.Lag)
					}
				}
			}
			p99, gates := late.Quantile(0.99), redGates(r.Validity)
			t.Logf("%d users: lag p99 %v of %d, budget %v; %d of class %v; valid %v, status %d; %s", users, p99, late.Count(), budget, failed, mode.class, r.Validity.Valid, status, gates)
			seen := slices.Contains(gates, "lag") || slices.Contains(gates, "late")
			few := !r.Validity.Valid && slices.ContainsFunc(r.Validity.Gates, func(g record.GateOutcome) bool {
				return g.Name == "lag" && g.Level == record.NotMeasured // a busy machine leaves too few operations
			})
			if late.Count() == 0 && r.Validity.Valid || p99 > budget && !seen && !few {
				t.Errorf("operations were late by %v (of %d), beyond the budget of %v, and the run is valid %v, red %v", p99, late.Count(), budget, r.Validity.Valid, gates)
			}
			if status == exit.OK || status == exit.Tool || status == exit.Usage {
				t.Errorf("status %d\n%s", status, output.String())
			}
			if failed == 0 && r.Validity.Valid {
				t.Errorf("nothing failed with class %v: the server was not hostile", mode.class)
			}
		})
	}
}

// redLag returns the red limit of the gate lag.
func redLag(t *testing.T) time.Duration {
	t.Helper()
	for _, g := range plan.DefaultGates() {
		if g.Name == "lag" {
			return time.Duration(g.Red * float64(time.Millisecond))
		}
	}
	t.Fatal("no gate lag")
	return 0
}

// redGates names the red gates.
func redGates(v record.Validity) (gates []string) {
	for _, f := range v.Findings {
		if f.Level == record.Red {
			gates = append(gates, f.Gate)
		}
	}
	return gates
}

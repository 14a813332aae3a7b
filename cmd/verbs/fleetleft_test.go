package verbs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/record"
	"plimsoll/record/store/storetest"
)

// leftPlan has its users on the agents of zone a.
const leftPlan = `
name: left
seed: 7
target: {driver: external, url: "http://TARGET"}
placement: {agents: {match: {zone: a}}}
fleet: {resend: 5s, leave: 6s, over: 1s}
workload: {behavior: poster, pace: 0.1, params: {channels: "2", speed: "10", admin_password: "${ENV:PLIMSOLL_TEST_ADMIN}"}}
bounded: {users: 10, ramp: 200ms, settle: 200ms, measure: 3s}
compare: {mode: sequence, blocks: 1, arms: {base: {}, new: {}}, margin: {p95(post): 10%}}
sizing: {steps: [10], ramp: 30/s, settle: 200ms, hold: 3s}
` + openGates

// TestThoseLeft: agents are chosen by their labels; one that is killed in a block of a comparison,
// or in a step of a sizing, is missing in its repetition and after that, and no user is given to
// another within a run.
func TestThoseLeft(t *testing.T) {
	t.Parallel()
	l := newFleetLab(t, "one-a", "two-a", "one-b")
	for _, verb := range []string{"compare", "sizing"} {
		cmd, output := l.carry(t, verb, leftPlan)
		until(t, output, " measure ")
		failure.None(t, l.agents["two-a"].Process.Kill())
		status := wait(t, cmd, time.Minute, output)
		st := storetest.At(t, filepath.Join(l.root, "store"))
		var ids []string
		want := []string{"[one-a two-a] true", "[one-a] false"}
		if verb == "compare" {
			id, err := st.Last("comparisons")
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			c, err := st.Comparison(id)
			failure.None(t, err)
			if c.State != record.Sealed || len(c.Runs) != 4 ||
				c.Runs[0].Cause != record.ByGenerator {
				t.Errorf("comparison %s: %s, runs %+v", c.State, c.Why, c.Runs)
			}
			want = append(want, want[1], want[1]) // the block's second run, and both again
			for _, r := range c.Runs {
				ids = append(ids, r.Run)
			}
		} else {
			files, err := filepath.Glob(filepath.Join(l.root, "store", "runs", "*"))
			failure.None(t, err)
			slices.Sort(files) // names begin with the time
			for _, f := range files {
				ids = append(ids, filepath.Base(f))
			}
			if status != exit.OK && status != exit.Invalid || !strings.Contains(output.String(), "the step is repeated with the agents that are left") {
				t.Errorf("exit status %d\n%s", status, output)
			}
		}
		var got []string
		for _, id := range ids {
			r, err := st.Run(id)
			failure.None(t, err)
			lost := slices.ContainsFunc(r.Validity.Findings, func(f record.Finding) bool {
				return f.Gate == "agents" && f.Level == record.Red &&
					strings.Contains(f.Text, "(two-a)")
			})
			got = append(got, fmt.Sprint(r.Manifest.Agents, lost))
		}
		if !slices.Equal(got, want) {
			t.Errorf(
				"%s: runs with agents, and which was lost: %v, want %v\n%s",
				verb,
				got,
				want,
				output,
			)
		}
		failure.None(t, os.RemoveAll(filepath.Join(l.root, "store", "runs")))
		l.agent(t, "two-a")
	}
}

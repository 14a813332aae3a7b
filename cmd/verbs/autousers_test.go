package verbs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/rig"
	"plimsoll/run/store"
)

const autoUsersPlan = `
name: auto
target: {driver: refchat, args: ["-hash=bcrypt:4"]}
database: {engine: postgresql}
workload: {behavior: poster, pace: 0.05, params: {channels: "5"}}
bounded: {users: auto, ramp: 1s, settle: 0s, measure: 1s, slo: ["p99(op) < 5s"]}
compare: {mode: sequence, blocks: 1, retry: 0s, arms: {base: {}, new: {}}}
`

// The number that the pilot finds is in the comparison and in the plan of every run, which is the plan with the number
// written into it; the file of the plan goes on with it.
func TestAutoUsers(t *testing.T) {
	t.Parallel()
	cmd, root, output := startPlan(t, autoUsersPlan+openGates, "compare")
	if status := wait(t, cmd, 5*time.Minute, output); status == rig.ExitUsage || status == rig.ExitTool {
		t.Fatalf("status %d\n%s", status, output)
	}
	said := regexp.MustCompile(`bounded\.users: PostgreSQL auto → (\d+): [a-z]+ uses \d+ % of its cores`).FindStringSubmatch(output.String())
	if said == nil {
		t.Fatalf("no number of users:\n%s", output)
	}
	st, err := store.Open(filepath.Join(root, "store"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := st.Comparison("last")
	if err != nil {
		t.Fatal(err)
	}
	if l := c.UserLevels; len(l) != 1 || fmt.Sprint(l[0].Users) != said[1] || l[0].Engine != plan.PostgreSQL || len(c.Runs) != 2 {
		t.Fatalf("levels %+v, %d runs; want %s users and 2 runs", l, len(c.Runs), said[1])
	}
	for _, cell := range c.Runs {
		r, err := st.Run(cell.Run)
		if err != nil {
			t.Fatal(err)
		}
		if m := r.Manifest; m.PlanDigest != c.PlanDigest || !strings.Contains(m.Plan, "\n  users: "+said[1]+"\n") {
			t.Errorf("run %s has the plan %s:\n%s", m.ID, m.PlanDigest, m.Plan)
		}
	}
	if pilot, err := st.Run(c.UserLevels[0].Run); err != nil || !pilot.Manifest.Pilot || !strings.Contains(pilot.Manifest.Plan, "users: auto\n") {
		t.Errorf("pilot %s: %v", c.UserLevels[0].Run, err)
	}
	file, err := known().Parse([]byte(autoUsersPlan + openGates))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := known().Parse([]byte(c.Plan))
	if err != nil {
		t.Fatal(err)
	}
	if p := dialects.WithDefaultRules(file.WithUsersOf(stored)); p.Digest() != c.PlanDigest {
		t.Errorf("the file of the plan has another digest with the number:\n%s\nand the comparison's:\n%s", p, c.Plan)
	}
}

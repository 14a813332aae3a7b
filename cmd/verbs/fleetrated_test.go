package verbs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/evidence"
	"plimsoll/load/engine/calibration"
	"plimsoll/rig"
	"plimsoll/run/record"
)

// connections counts those of a host to the target.
func (l *fleetLab) connections(t *testing.T, host string) (n int) {
	t.Helper()
	err := l.lan.Host(host).Do(func() error {
		b, err := os.ReadFile("/proc/thread-self/net/tcp")
		for line := range strings.Lines(string(b)) {
			const established = "01"
			if f := strings.Fields(line); len(f) > 3 && f[3] == established && strings.HasSuffix(f[2], fmt.Sprintf(":%04X", 8065)) {
				n++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestUsersByRating: a plan that divides users by the hosts' ratings names the hosts without one; with 3 to 1, one host
// has 15 and the other 5 of 20 users.
func TestUsersByRating(t *testing.T) {
	t.Parallel()
	l := newFleetLab(t, "host-a", "host-b")
	plan := strings.NewReplacer("processes: 2", "processes: 2, share: rating", "share: 50%, with: {mattermost: 50%}, ", "", "TIME", "4s").Replace(fleetPlan)
	cmd, output := l.carry(t, "run", plan)
	if status := wait(t, cmd, time.Minute, output); status != rig.ExitUsage {
		t.Errorf("exit status %d without ratings, want %d\n%s", status, rig.ExitUsage, output)
	}
	for _, want := range []string{"agent host-a (", "agent host-b (", "it has no rating of its present hardware and settings", "plimsoll calibrate -agent"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("the refusal lacks %q:\n%s", want, output)
		}
	}

	// One host is rated as an agent needs it; both hosts are this machine, and get the numbers of the test.
	first := filepath.Join(l.root, "of-host-a")
	rating, text := command(l.path, "calibrate", "-agent", "-json", "-length", "4s", "-store", first)
	if err := l.lan.Host("host-a").Do(rating.Start); err != nil {
		t.Fatal(err)
	}
	if status := wait(t, rating, time.Minute, text); status != rig.ExitOK {
		t.Fatalf("exit status %d\n%s", status, text)
	}
	var r calibration.Result
	if _, values, found := strings.Cut(text.String(), "{"); !found || json.NewDecoder(strings.NewReader("{"+values)).Decode(&r) != nil || r.Digest == "" {
		t.Fatalf("no rating:\n%s", text)
	}
	for host, ops := range map[string]float64{"host-a": 3000, "host-b": 1000} {
		r.PacedOps, r.OpsPerUserSecond, r.KiBPerUser = ops, 0.1, 1
		store := filepath.Join(l.root, "of-"+host)
		if err := os.MkdirAll(store, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := calibration.Save(store, r); err != nil {
			t.Fatal(err)
		}
		if err := l.agents[host].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		l.agent(t, host, "-store", store)
	}
	if cmd, output = l.carry(t, "run", plan); !l.divided(t, output) {
		t.Errorf("the hosts have %d and %d connections, want 15 and 5\n%s", l.connections(t, "host-a"), l.connections(t, "host-b"), output)
	}
	if status := wait(t, cmd, time.Minute, output); status != rig.ExitOK && status != rig.ExitInvalid {
		t.Fatalf("exit status %d\n%s", status, output)
	}
	run, _ := onlyRun(t, l.root)
	if m := run.Manifest; !slices.Equal(m.Ratings, []int{30_000, 10_000}) || !slices.Equal(m.Agents, []string{"host-a", "host-b"}) {
		t.Errorf("agents %q with the ratings %v", m.Agents, m.Ratings)
	}
	said := false
	for _, row := range evidence.Setup(run.Manifest) {
		said = said || strings.Contains(row.Value, "users divided by the hosts' ratings, 30000 : 10000")
	}
	headroom := false
	for _, g := range run.Validity.Gates {
		headroom = headroom || g.Name == "headroom" && g.Level != record.NotMeasured
	}
	if !said || !headroom {
		t.Errorf("in the Setup table: %v; the gate headroom is read: %v", said, headroom)
	}
}

// divided reports whether the hosts have the connections of 15 and 5 users, before their run has ended.
func (l *fleetLab) divided(t *testing.T, output *safeBuffer) bool {
	t.Helper()
	measured(output, " measure ")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if l.connections(t, "host-a") == 15 && l.connections(t, "host-b") == 5 {
			return true
		}
	}
	return false
}

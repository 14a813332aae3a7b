package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/target/lab/netns"
)

const fleetPlan = `
name: fleet
seed: 7
target: {driver: external, url: "http://TARGET"}
placement: {agents: 2, processes: 2}
fleet: {resend: 5s, leave: 6s, over: 1s}
workload: {behavior: poster, share: 50%, with: {mattermost: 50%}, pace: 0.1, params: {channels: "4", speed: "10", admin_password: "${ENV:PLIMSOLL_TEST_ADMIN}"}}
bounded: {users: 20, ramp: 500ms, settle: 500ms, measure: TIME}
` + openGates

// fleetLab is two hosts with an agent each, and a null server on the coordinator's side.
type fleetLab struct {
	path, root, addr, target string
	side                     *netns.Namespace
	lan                      *netns.LAN
	started                  []*exec.Cmd // the server, and the agents
	agents                   map[string]*exec.Cmd
	output                   []*safeBuffer
}

// fleetLabs counts the labs of this program, whose networks have names of their own.
var fleetLabs atomic.Int32

func newFleetLab(t *testing.T, hosts ...string) *fleetLab {
	t.Helper()
	needsRoot(t)
	path := builtProgram(t)
	n := int(fleetLabs.Add(1))
	side, err := netns.Create(t.Context(), fmt.Sprint("fleet", n))
	failure.None(t, err)
	lan, err := netns.NewLAN(t.Context(), netns.LANConfig{Index: n, Hosts: hosts, Users: side})
	failure.None(t, err)
	l := &fleetLab{
		path:   path,
		side:   side,
		lan:    lan,
		agents: map[string]*exec.Cmd{},
		root:   t.TempDir(),
		addr:   lan.UsersAddr() + ":4222",
		target: lan.UsersAddr() + ":8065",
	}
	end := func(cmd *exec.Cmd) {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.said())
		}
		for _, cmd := range l.started {
			end(cmd)
		}
		if err := lan.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := side.Delete(context.Background()); err != nil {
			t.Error(err)
		}
	})
	l.in(t, side, "refnull", "-listen", l.target)
	for _, host := range hosts {
		token := filepath.Join(l.root, host+".nk")
		if out, err := exec.Command(path, "fleet", "-store", filepath.Join(l.root, "store"), "-new-token", token).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		l.agent(t, host)
	}
	return l
}

// agent starts the agent of a host, whose zone is the last part of the host's name.
func (l *fleetLab) agent(t *testing.T, host string, flags ...string) {
	t.Helper()
	_, zone, _ := strings.Cut(host, "-")
	l.agents[host] = l.in(
		t,
		l.lan.Host(host),
		append(
			[]string{
				"agent",
				"-join",
				"nats://" + l.addr,
				"-token-file",
				filepath.Join(l.root, host+".nk"),
				"-label",
				"zone=" + zone,
			},
			flags...)...)
}

// in starts the program on a host.
func (l *fleetLab) in(t *testing.T, host *netns.Namespace, args ...string) *exec.Cmd {
	t.Helper()
	cmd, output := command(l.path, args...)
	failure.None(t, host.Do(cmd.Start))
	l.started, l.output = append(l.started, cmd), append(l.output, output)
	return cmd
}

// run carries out the plan on the coordinator's side.
func (l *fleetLab) run(t *testing.T, measure string) (cmd *exec.Cmd, output *safeBuffer) {
	t.Helper()
	return l.carry(t, "run", strings.ReplaceAll(fleetPlan, "TIME", measure))
}

// carry carries out a verb on a plan on the coordinator's side.
func (l *fleetLab) carry(t *testing.T, verb, text string) (cmd *exec.Cmd, output *safeBuffer) {
	t.Helper()
	file := filepath.Join(l.root, "plan.yaml")
	writeText(t, file, strings.ReplaceAll(text, "TARGET", l.target))
	args := inStore(l.root, verb, "-calibrate=false", "-fleet-listen", l.addr, file)
	cmd, output = command(l.path, args...)
	cmd.Env = append(cmd.Env, "PLIMSOLL_TEST_ADMIN=of-the-null-server")
	failure.None(t, l.side.Do(cmd.Start))
	return cmd, output
}

// said is all that the agents have said.
func (l *fleetLab) said() (text string) {
	for _, o := range l.output {
		text += o.String()
	}
	return text
}

// Users on two other hosts write to each other, and no secret is in what is left.
func TestUsersOnOtherHosts(t *testing.T) {
	t.Parallel()
	l := newFleetLab(t, "host-a", "host-b")
	cmd, output := l.run(t, "3s")
	if status := wait(t, cmd, time.Minute, output); status != exit.OK && status != exit.Invalid {
		t.Fatalf("exit status %d\n%s\n%s", status, output, l.said())
	}
	r, events := onlyRun(t, l.root)
	pids := joined(t, events)
	if r.Manifest.Processes != 4 || len(pids) != 4 || !ended(pids) {
		t.Errorf("%d processes %v, ended: %v", r.Manifest.Processes, pids, ended(pids))
	}
	clocks := 0
	for _, e := range events {
		if e.Kind == "error" {
			t.Errorf("error: %s", e.Text)
		}
		if strings.HasPrefix(e.Text, "clock of agent") {
			clocks++
		}
	}
	if clocks != 2 ||
		!strings.Contains(
			output.String(),
			"agents join by: plimsoll agent -join nats://"+l.addr+" -token-file FILE",
		) {
		t.Errorf("%d clocks; output:\n%s", clocks, output)
	}
	u, err := r.Users()
	if err != nil || u == nil {
		t.Fatalf("no account of the users: %v", err)
	}
	m, err := r.Merged(0, time.Hour)
	failure.None(t, err)
	if n := m["post"].Count(); n < 20 || m["post"].Errors() > 0 || int64(n) != u.Whole.Acked {
		t.Errorf("%d posts, %d errors; messages %+v", n, m["post"].Errors(), u.Whole)
	}
	// No key in what anyone has said or kept.
	for _, host := range []string{"host-a", "host-b"} {
		var token struct{ NKey string }
		b, err := os.ReadFile(filepath.Join(l.root, host+".nk"))
		if err != nil || json.Unmarshal(b, &token) != nil {
			t.Fatal(err)
		}
		kept, err := exec.Command("grep", "-rlaF", "-e", token.NKey, filepath.Join(l.root, "store")).
			CombinedOutput()
		if err == nil || strings.Contains(l.said()+output.String(), token.NKey) {
			t.Errorf("a key is in %s, or in what was said", kept)
		}
	}
}

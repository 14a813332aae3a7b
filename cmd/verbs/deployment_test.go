package verbs

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/container"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
)

const deployedChat = `
name: deployed
seed: 7
target: {driver: refchat, args: ["-hash=bcrypt:4"]}
database: {engine: postgresql}
workload: {behavior: poster, pace: 0.1}
bounded: {users: 5, ramp: 500ms, settle: 500ms, measure: 2s}
` + openGates + `
compare:
  arms:
    base: {}
    bridge: {deployment: {network: bridge, cpus: 50%}}
    host: {deployment: {network: host}}
  blocks: 1
`

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		failure.Lacks(t, "deployments need root")
	}
}

func needsPodman(t *testing.T) {
	t.Helper()
	if _, err := container.FindPodman(t.Context()); err != nil {
		failure.Lacks(t, err)
	}
}

// TestDeploymentsAnswerAlike: without a container, behind a bridge and with the host's network the
// same session gets the same answers. On the way it looks into the control groups, and whether
// anything is left when the program ends, or is killed.
func TestDeploymentsAnswerAlike(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	needsPodman(t)
	var want []string
	for _, arm := range []string{"base", "bridge", "host"} {
		cmd, root, output := startPlan(t, deployedChat, "target", "up", "-arm", arm)
		state := awaitTarget(t, root, output)
		d := state.Description
		inside := d.Deployment["engine"]
		if strings.HasPrefix(inside, "podman ") != (arm != "base") {
			t.Errorf("%s: the engine is %q", arm, inside)
		}
		if d.Digest == "" || d.Deployment["network"] == "" {
			t.Errorf("%s is described as %+v", arm, d)
		}
		// It is asked in its own network: this one has no way there.
		status := exec.Command(cmd.Path, "target", "status", "-store="+filepath.Join(root, "store"))
		if out, err := status.CombinedOutput(); err != nil ||
			!strings.Contains(string(out), "  ready, up since") {
			t.Errorf("%s: status: %v\n%s", arm, err, out)
		}
		got := chatSession(t, state)
		if want == nil {
			want = got
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s answers\n%s\nand base\n%s", arm, got[i], want[i])
			}
		}
		quota := 100
		if arm == "bridge" {
			quota = 50
		}
		groupOf(t, state, quota)
		pid := fmt.Sprint(state.Processes["app"][0].PID)
		own, err := os.Readlink("/proc/" + pid + "/ns/pid")
		mine, err2 := os.Readlink("/proc/self/ns/pid")
		if err != nil || err2 != nil || (own == mine) != (arm == "base") {
			t.Errorf(
				"%s: the server's namespace of processes is %s, this program's %s",
				arm,
				own,
				mine,
			)
		}
		marks := []string{
			fmt.Sprintf("plimsoll-%d-", cmd.Process.Pid),
			fmt.Sprintf("plimsoll-%d-", state.Owner.PID),
		}
		if len(named(marks)) == 0 {
			t.Errorf("%s: no namespace bears the program's mark", arm)
		}
		if arm == "base" || arm == "host" {
			down := exec.Command(cmd.Path, "target", "down", "-store="+filepath.Join(root, "store"))
			if out, err := down.CombinedOutput(); err != nil {
				t.Errorf("down: %v\n%s", err, out)
			}
			if status := wait(t, cmd, 2*time.Minute, output); status != 0 {
				t.Errorf("%s: up ended with %d\n%s", arm, status, output)
			}
		} else {
			failure.None(t, cmd.Process.Kill())
			_ = cmd.Wait()
		}
		gone(t, root, marks)
		for role, ids := range state.Processes {
			for end := time.Now().Add(20 * time.Second); slices.ContainsFunc(ids, lab.Identity.Alive); time.Sleep(50 * time.Millisecond) {
				if time.Now().Before(end) {
					continue
				}
				t.Fatalf("%s left processes of %s: %v", arm, role, ids)
			}
		}
	}
}

// named returns network namespaces and control groups whose names begin so.
func named(marks []string) (found []string) {
	for _, mark := range marks {
		for _, pattern := range []string{"/run/netns/", "/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
			some, _ := filepath.Glob(pattern + mark + "*")
			found = append(found, some...)
		}
	}
	return found
}

// awaitTarget waits until a target is up.
func awaitTarget(t *testing.T, root string, output *safeBuffer) target.StateFile {
	t.Helper()
	for range 1800 {
		if strings.Contains(output.String(), "up: http") {
			state, err := target.Load(filepath.Join(root, "store", "target"))
			failure.None(t, err)
			return state
		}
		if strings.Contains(output.String(), "plimsoll target: ") {
			break // it reports the reason
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the target is not up:\n%s", output.String())
	return target.StateFile{}
}

// groupOf checks the control group of a target: its quota, and that server and database are in it.
func groupOf(t *testing.T, state target.StateFile, percent int) {
	t.Helper()
	var dirs []string
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/cpu/"} {
		some, _ := filepath.Glob(
			fmt.Sprintf("%splimsoll-%d-*-target-0-*", pattern, state.Owner.PID),
		)
		dirs = append(dirs, some...)
	}
	if len(dirs) != 1 {
		t.Errorf("control groups %v, want one", dirs)
		return
	}
	cores := max(1, len(state.Description.CPUs))
	if b, err := os.ReadFile(dirs[0] + "/cpu.cfs_quota_us"); err == nil {
		if got, want := strings.TrimSpace(string(b)), fmt.Sprint(1000*percent*cores); got != want {
			t.Errorf("the quota is %s us, want %s", got, want)
		}
	} else if b, err := os.ReadFile(dirs[0] + "/cpu.max"); err != nil || string(b) != fmt.Sprintf("%d 100000\n", 1000*percent*cores) {
		t.Errorf("the quota is %q, %v", b, err)
	}
	b, err := os.ReadFile(dirs[0] + "/cgroup.procs")
	if err != nil {
		t.Error(err)
	}
	members := strings.Fields(string(b))
	for role, ids := range state.Processes {
		for _, id := range ids {
			if !slices.Contains(members, fmt.Sprint(id.PID)) {
				t.Errorf("process %d of role %s is not in the group %v", id.PID, role, members)
			}
		}
	}
	if len(state.Processes) < 2 {
		t.Errorf("roles %v", slices.Collect(maps.Keys(state.Processes)))
	}
}

// unlike are the ids and times in the answers of a server.
var unlike = regexp.MustCompile(`[a-z0-9]{26}|[0-9]{13}`)

// chatSession plays a script against a chat server in its network, and returns each answer with
// status and type, without ids and times.
func chatSession(t *testing.T, state target.StateFile) (answers []string) {
	t.Helper()
	own := netns.Of(state.Owner.PID)
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{DialContext: own.Dial, DisableKeepAlives: true},
	}
	for _, step := range []struct{ method, path, body string }{
		{"GET", "/system/ping", ""},
		{"POST", "/users", `{"email":"zoe@example.org","username":"zoe","password":"Passw0rd!word"}`},
		{"POST", "/users/login", `{"login_id":"zoe","password":"Passw0rd!word"}`},
		{"POST", "/users/login", `{"login_id":"zoe","password":"another"}`},
		{"POST", "/users", `{"email":"` + strings.Repeat("long ", 4000) + `"}`},
		{"POST", "/users", `{`},
		{"GET", "/users/me", ""},
		{"GET", "/none", ""},
	} {
		req, err := http.NewRequestWithContext(
			t.Context(),
			step.method,
			state.URLs[0]+"/api/v4"+step.path,
			strings.NewReader(step.body),
		)
		failure.None(t, err)
		resp, err := client.Do(req)
		failure.None(t, err)
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		failure.None(t, err)
		answers = append(answers, fmt.Sprintf(
			"%s %s: %d %s %s",
			step.method,
			step.path,
			resp.StatusCode,
			resp.Header.Get("Content-Type"),
			unlike.ReplaceAll(b, []byte("*")),
		))
	}
	if !strings.Contains(answers[1], ": 201 ") || !strings.Contains(answers[2], ": 200 ") {
		t.Errorf("the session begins with %s and %s", answers[1], answers[2])
	}
	return answers
}

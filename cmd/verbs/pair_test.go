package verbs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/evidence"
	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// TestCompareTwoBuilds gives compare two files of one build: it states its length and starts the
// pilot. The plan that it saved, made short, is a comparison whose report has the names of both.
func TestCompareTwoBuilds(t *testing.T) {
	t.Parallel()
	path := builtProgram(t)
	root := reachable(t)
	old := filepath.Join(root, "old")
	fresh := filepath.Join(root, "fresh")
	file := filepath.Join(root, "plan.yaml")
	for _, name := range []string{old, fresh} {
		failure.None(t, os.Link(path, name))
	}
	cmd, output := launch(t, inStore(root, "compare", "-save", file, old, fresh)...)
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(output.String(), "pilot  users of base"); {
		if time.Now().After(deadline) {
			t.Errorf("no pilot:\n%s", output)
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	failure.None(t, cmd.Process.Signal(syscall.SIGINT))
	if status, want := wait(t, cmd, time.Minute, output), exit.OfSignal(syscall.SIGINT); status != want {
		t.Errorf("status %d, want %d", status, want)
	}
	for _, want := range []string{"-minutes 6: at most 1m0s for the number of users, then about ", "blocks find in four of five cases: PostgreSQL: cost(app)"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	short := strings.NewReplacer("bounded: {users: auto, measure: auto}", "bounded: {users: 6, ramp: 500ms, settle: 500ms, measure: 3s}",
		"share: 90%", "share: 90%, pace: 0.05", "compare:\n", "compare:\n  blocks: 1\n  retry: 0s\n").
		Replace(readText(t, file))
	cmd, root, output = startPlan(t, short+openGates, "compare")
	if status := wait(t, cmd, 3*time.Minute, output); status != exit.Inconclusive {
		t.Errorf("status %d, want %d of a single block", status, exit.Inconclusive)
	}
	dir, c, _ := duetOf(t, root, output)
	title := fmt.Sprintf("Performance Comparison `%s` vs `%s`", old, fresh)
	if text := readText(t, filepath.Join(dir, "report.md")); c.Mode != plan.ModeDuet ||
		!strings.Contains(text, title) {
		t.Errorf("mode %s, and no %q in\n%.300s", c.Mode, title, text)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	failure.None(t, err)
	return string(b)
}

// releaseStandIn is bin/mattermost of a release directory: refchat, if the environment is one in
// which a release runs.
const releaseStandIn = `#!/bin/sh
fail() { echo "stand-in: $*"; exit 9; }
[ "$*" = "server -x" ] || fail "arguments: $*"
[ -f bin/mattermost ] || fail "it runs in $PWD"
[ "$MM_SERVICESETTINGS_SITEURL" = "http://$MM_SERVICESETTINGS_LISTENADDRESS" ] || fail "$MM_SERVICESETTINGS_SITEURL"
[ "$MM_METRICSSETTINGS_LISTENADDRESS" != "$MM_SERVICESETTINGS_LISTENADDRESS" ] || fail "one port for two"
[ "$MM_SQLSETTINGS_DRIVERNAME" = postgres ] || fail "$MM_SQLSETTINGS_DRIVERNAME"
[ "$MM_TEAMSETTINGS_MAXUSERSPERTEAM" -ge 100000 ] || fail "users"
[ "$MM_RATELIMITSETTINGS_ENABLE" = false ] || fail "rate limit"
[ "$MM_LOGSETTINGS_CONSOLELEVEL" = INFO ] || fail "the plan's own variable"
for path in "$MM_CONFIG" "$MM_FILESETTINGS_DIRECTORY" "$MM_PLUGINSETTINGS_DIRECTORY" "$MM_PLUGINSETTINGS_CLIENTDIRECTORY" "$MM_LOGSETTINGS_FILELOCATION"; do
	case $path in "$PWD"*|[!/]*) fail "$path is the release's";; esac
done
mkdir -p "$MM_FILESETTINGS_DIRECTORY"
touch "$MM_CONFIG" "$MM_FILESETTINGS_DIRECTORY/upload-$$"
REFCHAT_DSN=$MM_SQLSETTINGS_DATASOURCE REFCHAT_ADMIN_PASSWORD=PASSWORD exec PROGRAM refchat -hash=bcrypt:4 -version=5.36.1 -listen="$MM_SERVICESETTINGS_LISTENADDRESS"
`

// TestReleaseIsStarted runs a stand-in of a release: in its directory, with the settings that it
// needs, those of the plan over them, and nothing of the deployment in the release. The version is
// the server's.
func TestReleaseIsStarted(t *testing.T) {
	t.Parallel()
	path := builtProgram(t)
	const password = "Stand-in-1!" // of the administrator whom refchat makes
	release := filepath.Join(t.TempDir(), "9.9")
	failure.None(t, os.MkdirAll(filepath.Join(release, "bin"), 0o755))
	server := filepath.Join(release, "bin", "mattermost")
	writeText(
		t,
		server,
		strings.NewReplacer("PROGRAM", path, "=PASSWORD", "="+password).Replace(releaseStandIn),
	)
	failure.None(t, os.Chmod(server, 0o755))
	cmd, root, output := startPlanWith(
		t,
		[]string{"PLIMSOLL_ADMIN_PASSWORD=" + password},
		fmt.Sprintf(`
name: release
target: {driver: mattermost, binary: %q, args: ["-x"], env: {MM_LOGSETTINGS_CONSOLELEVEL: INFO}}
database: {engine: postgresql}
workload: {behavior: poster, pace: 0.05, params: {channels: "2"}}
bounded: {users: 3, ramp: 100ms, settle: 100ms, measure: 2s}
`, release)+openGates,
		"run",
		"-keep",
	)
	if status := wait(t, cmd, 3*time.Minute, output); status != exit.OK {
		t.Fatalf("status %d\n%s", status, output)
	}
	st := storeOf(t, root)
	id, err := st.Last("runs")
	failure.None(t, err)
	r, err := st.Run(id)
	failure.None(t, err)
	d, _ := evidence.TargetOf(r.Manifest)
	if d.Driver != "mattermost" || d.Version != "5.36.1" ||
		!slices.Equal(d.Command, []string{server, "server", "-x"}) {
		t.Errorf("driver %s, version %s, command %q", d.Driver, d.Version, d.Command)
	}
	if files, err := filepath.Glob(filepath.Join(release, "*")); err != nil || len(files) != 1 {
		t.Errorf("the release holds %q now", files)
	}
	// Three starts, each with an upload: before the snapshot, after it, and for the run. The reset
	// before the last removes that of the second.
	if files, err := filepath.Glob(filepath.Join(root, "store", "state", "*", "data", "*")); err != nil ||
		len(files) != 2 {
		t.Errorf("uploads %q, want those of the first start and of the last", files)
	}
}

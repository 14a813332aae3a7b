package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/evidence"
	"plimsoll/reference/refnull"
	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/store"
)

// commandedPlan compares two versions that commands of the plan put onto one server. DIR is the directory of the
// commands.
const commandedPlan = `
name: commanded
target:
  driver: external
  url: "URL"
  ready: /api/v4/system/ping
  install: [DIR/install]
  reset: [DIR/reset]
  env: {DIR: "DIR", SITE_TOKEN: "${ENV:PLIMSOLL_TEST_SITE}"}
  timeouts: {ready: 20s}
workload: {behavior: poster, pace: 0.02}
bounded: {users: 2, ramp: 0s, settle: 0s, measure: 500ms, slo: ["rate(errors) < 60%"]}
compare: {arms: {base: {version: "11.0"}, new: {version: "11.1-rc2"}}, blocks: 2, retry: RETRY, margin: {errors: 50pp}}
` + openGates

// siteToken is a secret that the commands get by a reference, and print.
const siteToken = "0123456789-site-token"

// compareByCommands carries a comparison out whose commands are scripts, in the directory in which files are theirs.
func compareByCommands(t *testing.T, url, retry string, scripts map[string]string, files ...string) (status int, root, dir string, output *safeBuffer) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("PLIMSOLL_TEST_SITE", siteToken)
	t.Setenv("PLIMSOLL_ADMIN_PASSWORD", "Aa1!of-the-tests")
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nset -eu\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src := strings.NewReplacer("URL", url, "DIR:", "DIR:", "DIR", dir, "RETRY", retry).Replace(commandedPlan)
	cmd, root, output := startPlan(t, src, "compare")
	return wait(t, cmd, 3*time.Minute, output), root, dir, output
}

// deployedRuns returns the comparison of a store and its runs.
func deployedRuns(t *testing.T, root string) (*store.Store, *record.Comparison, []*record.Run) {
	t.Helper()
	st, err := store.Open(filepath.Join(root, "store"))
	if err != nil {
		t.Fatal(err)
	}
	c := lastComparison(t, st)
	var runs []*record.Run
	for _, cell := range c.Runs {
		r, err := st.Run(cell.Run)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	return st, c, runs
}

// TestArmsOfOwnCommands compares two directories of a server, each started and stopped by a script of ours: a version
// is installed when its turn comes and another one is there, the state is put back before every run, the server's own
// version stands in the runs, and no secret in any file.
func TestArmsOfOwnCommands(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	at := fmt.Sprintf("http://127.0.0.1:%d", port)
	// The server leaves the process group of the command, and the command waits until it has.
	install := fmt.Sprintf(`
echo "$PLIMSOLL_ARM $PLIMSOLL_VERSION block $PLIMSOLL_BLOCK run $PLIMSOLL_RUN engine '$PLIMSOLL_ENGINE' at $PLIMSOLL_URL" >> $DIR/calls
echo "with the token $SITE_TOKEN"
[ -z "${PLIMSOLL_ADMIN_PASSWORD:-}" ] || { echo "a secret of the program" >&2; exit 1; }
if [ -s $DIR/pid ]; then
  kill $(cat $DIR/pid)
  while kill -0 $(cat $DIR/pid) 2>/dev/null; do sleep 0.05; done
  rm $DIR/pid
fi
setsid -f sh -c 'echo $$ > $DIR/pid.new; mv $DIR/pid.new $DIR/pid; exec %s refnull -listen 127.0.0.1:%d -version $PLIMSOLL_VERSION' > $DIR/server.log 2>&1 < /dev/null
while [ ! -s $DIR/pid ]; do sleep 0.05; done
`, path, port)
	dirOf := ""
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(dirOf, "pid")); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	status, root, dir, output := compareByCommands(t, at, "0s", map[string]string{"install": install, "reset": `echo "$PLIMSOLL_ARM" >> $DIR/resets` + "\n"})
	dirOf = dir
	if status != rig.ExitInconclusive {
		t.Errorf("status %d, want %d of two blocks", status, rig.ExitInconclusive)
	}
	st, c, runs := deployedRuns(t, root)
	if c.State != record.Sealed || len(runs) != 4 {
		t.Fatalf("state %s, %d runs\n%s", c.State, len(runs), output)
	}
	var calls, resets []string
	standing := ""
	for i, r := range runs {
		m := r.Manifest
		resets = append(resets, m.Arm)
		version := map[string]string{"base": "11.0", "new": "11.1-rc2"}[m.Arm]
		if m.Arm != standing {
			calls = append(calls, fmt.Sprintf("%s %s block %d run %d engine '' at %s", m.Arm, version, m.Block, m.Order, at))
			standing = m.Arm
		}
		d, _ := evidence.TargetOf(m)
		if !r.Validity.Valid || d.Version != version || d.Settings["install"] != "install" || d.Settings["state"] != "9 users, 5 channels, 0 posts" || d.Settings["provisioned users"] != "survive the reset" {
			t.Errorf("run %d: valid %v, target %+v", i, r.Validity.Valid, d)
		}
		log, err := os.ReadFile(filepath.Join(r.Dir, "commands.log"))
		if err != nil || !strings.Contains(string(log), "# reset of "+m.Arm) {
			t.Errorf("run %d: %v, output of the commands\n%s", i, err, log)
		}
	}
	if got := lines(t, filepath.Join(dir, "calls")); got != strings.Join(calls, "\n") {
		t.Errorf("installed\n%s\nwant\n%s", got, strings.Join(calls, "\n"))
	}
	if got := lines(t, filepath.Join(dir, "resets")); got != strings.Join(resets, "\n") {
		t.Errorf("reset\n%s\nwant\n%s", got, strings.Join(resets, "\n"))
	}
	report := lines(t, filepath.Join(st.ComparisonDir(c.ID), "report-full.md"))
	for _, want := range []string{"Installation of an arm", "when its turn comes and another one is there, by the plan's command install", "before every run by the plan's command reset; checked each time: 9 users, 5 channels, 0 posts", "survive the reset"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not have %q", want)
		}
	}
	noSecret(t, root, output)
	if t.Failed() {
		t.Log(output)
	}
}

// freePort returns a port of the loopback device on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// lines returns the content of a file without its last newline.
func lines(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimRight(string(b), "\n")
}

// noSecret fails where the token of the commands is in a file of the store or in the output.
func noSecret(t *testing.T, root string, output *safeBuffer) {
	t.Helper()
	if strings.Contains(output.String(), siteToken) {
		t.Errorf("the output has the secret:\n%s", output)
	}
	masked := false
	err := filepath.WalkDir(filepath.Join(root, "store"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), siteToken) {
			t.Errorf("%s has the secret", path)
		}
		masked = masked || strings.Contains(string(b), "with the token [redacted]")
		return err
	})
	if err != nil || !masked {
		t.Errorf("no output of a command is kept with the secret masked: %v", err)
	}
}

// A site is a server in this process whose version and number of posts are in files, which commands write.
func site(t *testing.T, dir string) string {
	t.Helper()
	null, err := refnull.New(refnull.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := inBackground(func() error { return null.Run(ctx) })
	to, err := url.Parse(null.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	read := func(name, otherwise string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return otherwise
		}
		return strings.TrimSpace(string(b))
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v4/config/client":
			fmt.Fprintf(w, `{"Version":%q,"BuildNumber":"dev"}`, read("version", "0.0.0"))
		case "/api/v4/analytics/old":
			fmt.Fprintf(w, `[{"name":"channel_open_count","value":5},{"name":"channel_private_count","value":0},{"name":"post_count","value":%s},{"name":"unique_user_count","value":9}]`, read("posts", "0"))
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		srv.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return srv.URL
}

// installVersion is an install command that fails as long as the file failing has a number above 0, for the new arm.
const installVersion = `
echo "with the token $SITE_TOKEN"
n=$(cat $SITE/failing 2>/dev/null || echo 0)
if [ $PLIMSOLL_ARM = new ] && [ $n -gt 0 ]; then
  echo $((n - 1)) > $SITE/failing
  echo "the package is not there" >&2
  exit 3
fi
echo $PLIMSOLL_VERSION > $SITE/version
`

// deploys is a comparison against a site.
func deploys(t *testing.T, retry string, scripts map[string]string, files ...string) (status int, root, siteDir string, output *safeBuffer) {
	t.Helper()
	siteDir = t.TempDir()
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		if err := os.WriteFile(filepath.Join(siteDir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SITE", siteDir)
	status, root, _, output = compareByCommands(t, site(t, siteDir), retry, scripts)
	return status, root, siteDir, output
}

// TestInstallThatFailsTwice: the runs are void and neither arm's failure, and their blocks are run again.
func TestInstallThatFailsTwice(t *testing.T) {
	status, root, _, output := deploys(t, "60s", map[string]string{"install": installVersion, "reset": "true\n"}, "failing=2")
	if status != rig.ExitInconclusive {
		t.Errorf("status %d, want %d of two blocks", status, rig.ExitInconclusive)
	}
	_, c, _ := deployedRuns(t, root)
	void, good := 0, 0
	for _, r := range c.Runs {
		switch {
		case r.Valid && !r.Dropped:
			good++
		case r.Valid:
		case r.Arm == "new" && r.Cause == record.ByDeployment && strings.HasPrefix(r.Why, record.DeployGate+": ") && strings.Contains(r.Why, "exit status 3") && strings.Contains(r.Why, "the package is not there"):
			void++
		default:
			t.Errorf("run %s of %s is void: %s %s", r.Run, r.Arm, r.Cause, r.Why)
		}
	}
	if void != 2 || good != 4 || c.State != record.Sealed {
		t.Errorf("%d void and %d good runs, state %s", void, good, c.State)
	}
	noSecret(t, root, output)
	if t.Failed() {
		t.Log(output)
	}
}

// TestInstallThatFailsThreeTimes: the comparison ends and names the command's last words; when the command is mended,
// it goes on.
func TestInstallThatFailsThreeTimes(t *testing.T) {
	status, root, siteDir, output := deploys(t, "60s", map[string]string{"install": installVersion, "reset": "true\n"}, "failing=3")
	if status != rig.ExitTool || !strings.Contains(output.String(), "3 runs in a row had no target as the plan wants it") || !strings.Contains(output.String(), "| the package is not there") {
		t.Fatalf("status %d\n%s", status, output)
	}
	if _, c, runs := deployedRuns(t, root); c.State != record.Interrupted || runs[len(runs)-1].Validity.Valid {
		t.Errorf("state %s, %d runs", c.State, len(runs))
	}
	if left := lines(t, filepath.Join(siteDir, "failing")); left != "0" {
		t.Errorf("%s failures are left", left)
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd, again := command(path, "compare", "-store", filepath.Join(root, "store"), "-resume", "last")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if status := wait(t, cmd, 2*time.Minute, again); status != rig.ExitInconclusive {
		t.Errorf("resumed: status %d\n%s", status, again)
	}
	if _, c, _ := deployedRuns(t, root); c.State != record.Sealed {
		t.Errorf("resumed: state %s\n%s", c.State, again)
	}
}

// TestStateIsChecked: a reset that leaves one post more than the first run found, and a version that is not the arm's,
// make their runs void.
func TestStateIsChecked(t *testing.T) {
	t.Run("one post too many", func(t *testing.T) {
		const reset = `
n=$(cat $SITE/resets 2>/dev/null || echo 0)
echo $((n + 1)) > $SITE/resets
echo 7 > $SITE/posts
[ $n != 2 ] || echo 8 > $SITE/posts
`
		_, root, _, output := deploys(t, "0s", map[string]string{"install": installVersion, "reset": reset})
		_, c, _ := deployedRuns(t, root)
		for i, r := range c.Runs {
			if void := i == 2; r.Valid == void || void && (r.Cause != record.ByDeployment || !strings.Contains(r.Why, "has 8 posts, where the first run found 7 ±0")) {
				t.Errorf("run %d: valid %v, %s %s\n%s", i, r.Valid, r.Cause, r.Why, output)
			}
		}
	})
	t.Run("another version", func(t *testing.T) {
		_, root, _, output := deploys(t, "0s", map[string]string{"install": "echo 11.0.2 > $SITE/version\n", "reset": "true\n"})
		_, c, _ := deployedRuns(t, root)
		for i, r := range c.Runs {
			if void := r.Arm == "new"; r.Valid == void || void && !strings.Contains(r.Why, "reports the version 11.0.2, dev, and the arm is 11.1-rc2") {
				t.Errorf("run %d: valid %v, %s %s\n%s", i, r.Valid, r.Cause, r.Why, output)
			}
		}
	})
}

// TestArmsAtOwnAddresses compares two servers that are up: each arm's users reach its own, without a command.
func TestArmsAtOwnAddresses(t *testing.T) {
	blue, green := t.TempDir(), t.TempDir()
	for dir, version := range map[string]string{blue: "11.0.3", green: "11.1.0-rc2"} {
		if err := os.WriteFile(filepath.Join(dir, "version"), []byte(version), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := map[string]string{"base": site(t, blue), "new": site(t, green)}
	t.Setenv("PLIMSOLL_ADMIN_PASSWORD", "Aa1!of-the-tests")
	src := strings.NewReplacer(`{version: "11.0"}`, `{version: "11.0", url: "`+at["base"]+`"}`, "{version: \"11.1-rc2\"}", `{version: 11.1-rc2, url: "`+at["new"]+`"}`, "RETRY", "0s").Replace(commandedPlan)
	for _, key := range []string{"url: \"URL\"", "install: [DIR/install]", "reset: [DIR/reset]", `env: {DIR: "DIR", SITE_TOKEN: "${ENV:PLIMSOLL_TEST_SITE}"}`} {
		src = strings.Replace(src, "  "+key+"\n", "", 1)
	}
	cmd, root, output := startPlan(t, src, "compare")
	if status := wait(t, cmd, 2*time.Minute, output); status != rig.ExitInconclusive {
		t.Errorf("status %d, want %d of two blocks", status, rig.ExitInconclusive)
	}
	_, c, runs := deployedRuns(t, root)
	for _, r := range runs {
		d, _ := evidence.TargetOf(r.Manifest)
		want := map[string]string{"base": "11.0.3", "new": "11.1.0-rc2"}[r.Manifest.Arm]
		if !r.Validity.Valid || d.Version != want || d.URLs[0] != at[r.Manifest.Arm] {
			t.Errorf("run of %s: valid %v, version %s at %v", r.Manifest.Arm, r.Validity.Valid, d.Version, d.URLs)
		}
	}
	if c.State != record.Sealed || len(runs) != 4 || t.Failed() {
		t.Errorf("state %s, %d runs\n%s", c.State, len(runs), output)
	}
}

package verbs

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/evidence"
	"plimsoll/internal/failure"
	"plimsoll/internal/program"
	"plimsoll/record"
	"plimsoll/record/store"
)

// commandedPlan compares two versions that commands of the plan put onto one server. DIR is the
// directory of the commands.
const commandedPlan = `
name: commanded
target:
  driver: external
  url: "URL"
  ready: /api/v4/system/ping
  install: [DIR/install]
  reset: [DIR/reset]
  env: {HERE: "DIR", SITE_TOKEN: "${FILE:DIR/token}"}
  timeouts: {ready: 20s}
workload: {behavior: poster, pace: 0.02, params: {admin_password: "${FILE:DIR/password}"}}
bounded: {users: 2, ramp: 0s, settle: 0s, measure: 1s, slo: ["rate(errors) < 60%"]}
compare: {arms: {base: {version: "11.0"}, new: {version: "11.1-rc2"}}, blocks: BLOCKS, retry: RETRY, margin: {errors: 50pp}}
` + openGates

// siteToken is a secret that the commands get by a reference, and print.
const siteToken = "0123456789-site-token"

// A commandedComparison is one of commandedPlan: where its server is, its scripts by name, and the
// numbers that it has.
type commandedComparison struct {
	dir, url      string
	scripts       map[string]string
	blocks, retry string
}

// commandDir returns a directory for the commands of a comparison, with their secrets and other
// files.
func commandDir(t *testing.T, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"token": siteToken, "password": "Aa1!of-the-tests"} {
		writeText(t, filepath.Join(dir, name), text)
	}
	for name, text := range contents {
		writeText(t, filepath.Join(dir, name), text)
	}
	return dir
}

// compare carries it out.
func (c commandedComparison) compare(t *testing.T) (status int, root string, output *safeBuffer) {
	t.Helper()
	for name, text := range c.scripts {
		script := []byte("#!/bin/sh\nset -eu\n" + text)
		failure.None(t, os.WriteFile(filepath.Join(c.dir, name), script, 0o700))
	}
	src := strings.NewReplacer("URL", c.url, "DIR", c.dir, "BLOCKS", c.blocks, "RETRY", c.retry).
		Replace(commandedPlan)
	cmd, root, output := startPlan(t, src, "compare")
	return wait(t, cmd, 3*time.Minute, output), root, output
}

// done fails for a status that a comparison of fewer than six blocks does not have. On a busy host
// some of its runs may be void, and so all of it.
func done(t *testing.T, status int) {
	t.Helper()
	if status != exit.Inconclusive && status != exit.Invalid {
		t.Errorf("status %d, want %d of a few blocks", status, exit.Inconclusive)
	}
}

// deployedRuns returns the comparison of a store and its runs.
func deployedRuns(t *testing.T, root string) (*store.Store, *record.Comparison, []*record.Run) {
	t.Helper()
	st := storeOf(t, root)
	c := lastComparison(t, st)
	var runs []*record.Run
	for _, cell := range c.Runs {
		r, err := st.Run(cell.Run)
		failure.None(t, err)
		runs = append(runs, r)
	}
	return st, c, runs
}

// TestArmsOfOwnCommands compares two directories of a server, each started and stopped by a script
// of ours: a version is installed when its turn comes and another one is there, the state is put
// back before every run, the server's own version stands in the runs, and no secret in any file.
func TestArmsOfOwnCommands(t *testing.T) {
	t.Parallel()
	path := builtProgram(t)
	dir, port := commandDir(t, nil), freePort(t)
	at := fmt.Sprintf("http://127.0.0.1:%d", port)
	// The server leaves the process group of the command, and the command waits until it has.
	install := fmt.Sprintf(`
echo "$PLIMSOLL_ARM $PLIMSOLL_VERSION block $PLIMSOLL_BLOCK run $PLIMSOLL_RUN engine '$PLIMSOLL_ENGINE' at $PLIMSOLL_URL" >> $HERE/calls
echo "with the token $SITE_TOKEN"
[ -z "${PLIMSOLL_CALIBRATE:-}" ] || { echo "a variable of the program itself" >&2; exit 1; }
if [ -s $HERE/pid ]; then
  kill $(cat $HERE/pid)
  while kill -0 $(cat $HERE/pid) 2>/dev/null; do sleep 0.05; done
  rm $HERE/pid
fi
setsid -f sh -c 'echo $$ > $HERE/pid.new; mv $HERE/pid.new $HERE/pid; exec %s refnull -listen 127.0.0.1:%d -version $PLIMSOLL_VERSION' > $HERE/server.log 2>&1 < /dev/null
while [ ! -s $HERE/pid ]; do sleep 0.05; done
`, path, port)
	// the server is no child of ours, but it has the directory in its environment
	t.Cleanup(func() {
		for pid := range program.Survivors(dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	status, root, output := commandedComparison{
		dir:    dir,
		url:    at,
		blocks: "2",
		retry:  "0s",
		scripts: map[string]string{
			"install": install,
			"reset":   `echo "$PLIMSOLL_ARM" >> $HERE/resets` + "\n",
		},
	}.compare(t)
	done(t, status)
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
			calls = append(calls, fmt.Sprintf(
				"%s %s block %d run %d engine '' at %s",
				m.Arm,
				version,
				m.Block,
				m.Order,
				at,
			))
			standing = m.Arm
		}
		d, _ := evidence.TargetOf(m)
		if record.CauseOf(r.Validity) == record.ByDeployment || d.Version != version ||
			d.Settings["install"] != "install" ||
			d.Settings["state"] != "9 users, 5 channels, 0 posts" ||
			d.Settings["provisioned users"] != "survive the reset" {
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
	failure.None(t, err)
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// lines returns the content of a file without its last newline.
func lines(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	failure.None(t, err)
	return strings.TrimRight(string(b), "\n")
}

// noSecret fails where the token of the commands is in a file of the store or in the output.
func noSecret(t *testing.T, root string, output *safeBuffer) {
	t.Helper()
	if strings.Contains(output.String(), siteToken) {
		t.Errorf("the output has the secret:\n%s", output)
	}
	masked := false
	err := filepath.WalkDir(
		filepath.Join(root, "store"),
		func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), siteToken) {
				t.Errorf("%s has the secret", path)
			}
			masked = masked || strings.Contains(string(b), "with the token [redacted]")
			return err
		},
	)
	if err != nil || !masked {
		t.Errorf("no output of a command is kept with the secret masked: %v", err)
	}
}

// A site is a server in this process whose version, posts and users are in files, which commands
// write. Provisioning removes that of the users, of whom there are nine then.
func site(t *testing.T, dir string) string {
	t.Helper()
	read := func(name, otherwise string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return otherwise
		}
		return strings.TrimSpace(string(b))
	}
	return beforeNull(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		switch r.URL.Path {
		case "/api/v4/config/client":
			fmt.Fprintf(w, `{"Version":%q,"BuildNumber":"dev"}`, read("version", "0.0.0"))
		case "/api/v4/analytics/old":
			fmt.Fprintf(
				w,
				`[{"name":"channel_open_count","value":5},{"name":"channel_private_count","value":0},{"name":"post_count","value":%s},{"name":"unique_user_count","value":%s}]`,
				read("posts", "0"),
				read("users", "9"),
			)
		case "/api/v4/users/me": // whose session is missing is provisioned
			_ = os.Remove(filepath.Join(dir, "users"))
			forward.ServeHTTP(w, r)
		default:
			forward.ServeHTTP(w, r)
		}
	})
}

// installVersion is an install command that fails as long as the file failing has a number above 0,
// for the new arm.
const installVersion = `
echo "with the token $SITE_TOKEN"
n=$(cat $HERE/failing 2>/dev/null || echo 0)
if [ $PLIMSOLL_ARM = new ] && [ $n -gt 0 ]; then
  echo $((n - 1)) > $HERE/failing
  echo "the package is not there" >&2
  exit 3
fi
echo $PLIMSOLL_VERSION > $HERE/version
`

// TestInstallThatFailsThreeTimes: the comparison ends and names the command's last words; when the
// command is mended, it goes on.
func TestInstallThatFailsThreeTimes(t *testing.T) {
	t.Parallel()
	dir := commandDir(t, map[string]string{"failing": "3"})
	status, root, output := commandedComparison{
		dir:     dir,
		url:     site(t, dir),
		blocks:  "2",
		retry:   "12s",
		scripts: map[string]string{"install": installVersion, "reset": "true\n"},
	}.compare(t)
	if status != exit.Tool ||
		!strings.Contains(output.String(), "3 runs in a row had no target as the plan wants it") ||
		!strings.Contains(output.String(), "| the package is not there") {
		t.Fatalf("status %d\n%s", status, output)
	}
	if _, c, runs := deployedRuns(t, root); c.State != record.Interrupted ||
		runs[len(runs)-1].Validity.Valid {
		t.Errorf("state %s, %d runs", c.State, len(runs))
	}
	if left := lines(t, filepath.Join(dir, "failing")); left != "0" {
		t.Errorf("%s failures are left", left)
	}
	cmd, again := launch(t, inStore(root, "compare", "-resume", "last")...)
	done(t, wait(t, cmd, 2*time.Minute, again))
	if _, c, _ := deployedRuns(t, root); c.State != record.Sealed {
		t.Errorf("resumed: state %s\n%s", c.State, again)
	}
}

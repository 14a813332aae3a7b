package verbs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/rig"
)

// foreign are the programs of others that the pages call; they are not carried out.
var foreign = []string{
	"bin/chaos", "cloud-init", "contrib/ci/build.sh", "contrib/ci/compare.sh", "contrib/ci/setup.sh", "contrib/ci/status.sh", "curl", "gh", "go", "helm", "ip", "journalctl", "kubectl", "mattermost", "openssl", "pg_dump", "podman",
	"scripts/build.sh", "setsid", "sudo", "taskset", "zstd",
}

// quick are the verbs that are carried out as they stand; of all others the flags are parsed and the plan is checked.
var quick = []string{
	"data info", "doctor", "help", "judge", "ls", "plan check", "plan print", "plan schema", "report", "show",
}

// recorder stands in a shell before the commands of a page: it writes each command in place of carrying it out, one
// argument a line. A block ends where it waits for something.
const recorder = `record() { printf '%s\n' "$@" '' >> "$COMMANDS"; }
command_not_found_handle() { record "$@"; }
scripts/build.sh() { record scripts/build.sh "$@"; }
bin/chaos() { record bin/chaos "$@"; }
sleep() { exit; }
for s in setup build compare status; do eval "contrib/ci/$s.sh() { record contrib/ci/$s.sh; }"; done
`

// TestCommandsOfPages carries out the shell commands of README.md and docs: quick verbs as they stand, and of all others
// the parsing of flags and plans.
func TestCommandsOfPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	more, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := pageDirectory(t, root)
	texts := map[string]string{}
	for _, page := range slices.Concat([]string{"../../README.md", "../../CONTRIBUTING.md"}, pages, more) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(page, "../../")] = string(b)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for page, text := range texts {
		t.Run(page, func(t *testing.T) {
			writePlans(t, text)
			for _, args := range commandsOf(t, text) {
				at := slices.Index(args, "plimsoll")
				starts := at == 0 || at > 0 && slices.Contains([]string{"ip", "podman", "taskset"}, args[0])
				if starts && at < len(args)-1 {
					checkOwn(t, args[at+1:])
				}
				switch {
				case at == 0:
				case args[0] == "make":
					if !strings.Contains(string(makefile), "\n"+args[1]+":") {
						t.Errorf("%q: no such target", args)
					}
				case !slices.Contains(foreign, args[0]):
					t.Errorf("%q: this command is not known", args)
				}
			}
		})
	}
}

// pageDirectory makes a directory in which the commands of the pages find their files.
func pageDirectory(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"examples", "contrib"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for i, users := range []string{"16007", "16371"} {
		name := filepath.Join(dir, fmt.Sprintf("run%d", i+1), "results.txt")
		writeText(t, name, resultsText([2]string{"v1", "v2"}, [][3]string{{"mysql", "14186", users}}))
	}
	if err := os.MkdirAll(filepath.Join(dir, "etc", "plimsoll"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "latencies.csv"), "base,new\n12.5,13\n")
	st := storeAt(t, filepath.Join(dir, ".plimsoll"))
	putComparison(t, st, "mine", versions("v1", "v2"), 1, 0.88)
	return dir
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writePlans writes the plans that the commands of a page name without making them: the first one of the page, or an
// example.
func writePlans(t *testing.T, page string) {
	t.Helper()
	example, err := os.ReadFile("examples/bounded.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(example)
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1) {
		if _, err := known().Parse([]byte(m[1])); err == nil {
			text = m[1]
			break
		}
	}
	for _, name := range []string{"mine.yaml", "plan.yaml", "PLAN.yaml"} {
		writeText(t, name, text)
	}
}

// commandsOf returns the commands that a shell would carry out for the blocks of a page.
func commandsOf(t *testing.T, page string) (commands [][]string) {
	t.Helper()
	script := recorder
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1) {
		block := strings.NewReplacer("bin/plimsoll ", "plimsoll ", "/etc/", "etc/").Replace(m[1])
		script += "(\n" + block + "\n)\n"
	}
	tools := t.TempDir()
	for _, name := range []string{"cat", "cp", "ls", "paste"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(tools, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	record := filepath.Join(tools, "commands")
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", script)
	cmd.Env = []string{"PATH=" + tools, "COMMANDS=" + record, "NUMBER=1", "LC_ALL=C.UTF-8"}
	if out, err := cmd.CombinedOutput(); bytes.Contains(out, []byte("bash: ")) { // an error of the shell itself
		t.Errorf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(record)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for one := range strings.SplitSeq(string(b), "\n\n") {
		if args := strings.Split(one, "\n"); args[0] != "" {
			commands = append(commands, args)
		}
	}
	return commands
}

// checkOwn carries out a command of ours, or parses its flags and checks its plan.
func checkOwn(t *testing.T, args []string) {
	t.Helper()
	line := strings.Join(args, " ")
	args = slices.Clone(args)
	placeholders := false
	for i, a := range args {
		switch {
		case a == "RUN":
			args[i] = "mine-b1"
		case a == "COMPARISON":
			args[i] = "mine"
		case a == "DIR" || args[max(i-1, 0)] == "-out":
			args[i] = t.TempDir()
		case a == "FILE...":
			args[i] = "latencies.csv"
		case strings.Contains(a, "RUN,") || strings.Contains(a, "…") || a == "..." || strings.HasPrefix(a, "COMPARISON"):
			placeholders = true
		case strings.HasSuffix(a, ".yaml") && args[0] != "plan" && args[0] != "serve":
			checkOwn(t, []string{"plan", "check", a})
		}
	}
	carriedOut := !placeholders && slices.ContainsFunc(quick, func(q string) bool { return strings.HasPrefix(line+" ", q+" ") })
	if !carriedOut {
		args = append(args, "-h") // is reached if all flags before it are known
	}
	status, _, errs := ranWith(t, args...)
	if status == rig.ExitUsage || status == rig.ExitTool && args[0] != "doctor" || !carriedOut && status != rig.ExitOK {
		t.Errorf("plimsoll %s: status %d\n%s", line, status, errs)
	}
}

package verbs

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/failure"
	"plimsoll/record/store/storetest"
	"plimsoll/run/bisect"
)

// carriedOut are the commands of ours that the test carries out as they stand. Of all others the
// flags are parsed and the plan is checked.
var carriedOut = []string{
	"data info", "doctor", "fleet -new-token", "help", "judge", "ls", "plan check", "plan print", "plan schema", "report", "show", "version",
}

// notCarriedOut has the reason for each command that the test does not carry out, by what it begins
// with. One of a page that stands neither here nor above fails the test.
var notCarriedOut = map[string]string{
	"plimsoll agent":         "another host leads its runs",
	"plimsoll bisect":        minutes,
	"plimsoll calibrate":     "20 s with all cores",
	"plimsoll capacity":      minutes,
	"plimsoll compare":       minutes,
	"plimsoll data generate": database,
	"plimsoll data restore":  database,
	"plimsoll data snapshot": database,
	"plimsoll data verify":   database,
	"plimsoll demo":          minutes,
	"plimsoll fleet":         "other hosts join",
	"plimsoll init":          "it asks on a terminal",
	"plimsoll run":           minutes,
	"plimsoll serve":         "it ends with Ctrl-C; serve_test.go has its answers",
	"plimsoll sizing":        minutes,
	"plimsoll script check":  "the script of a reader; dialect/script has the test",
	"plimsoll target verify": "a server of others; verifyverb_test.go has one",

	"bin/chaos":             "three minutes; make modules has its rows",
	"cloud-init":            "contrib/agents has the test",
	"contrib/ci/build.sh":   runner,
	"contrib/ci/compare.sh": runner,
	"contrib/ci/setup.sh":   runner,
	"contrib/ci/status.sh":  runner,
	"curl":                  "what serve answers: serve_test.go",
	"gh":                    "TestWorkflowOfAComment",
	"go build":              "examples/go-behavior has the test",
	"go run":                "examples/go-behavior has the test",
	"go test":               "benchmarks",
	"go tool pprof":         "profiles of runs that a store does not have here",
	"helm":                  cluster,
	"ip netns exec":         "root, and a host of one's own",
	"journalctl":            root,
	"kubectl":               cluster,
	"make":                  "minutes; the target is there",
	"man":                   installed,
	"mattermost":            "a server of others",
	"openssl":               "of others",
	"pg_dump":               "a server of others",
	"podman":                root,
	"scripts/build.sh":      "the build",
	"setsid":                "examples has the test",
	"sha256sum":             installed,
	"sudo":                  root,
	"tar":                   installed,
	"taskset":               root,
	"zstd":                  "of others",
}

const (
	minutes   = "minutes of load; tests of this package run the verb with small plans"
	database  = "a database or a dump that is there already; data_test.go makes them"
	cluster   = "a cluster; contrib/agents has the test"
	installed = "what a release has, where it was installed"
	runner    = "a checkout of two commits, as on a runner; contrib/ci has the test"
	root      = "root, and changes to the host"
)

// recorder stands in a shell before the commands of a page: it writes each command in place of
// carrying it out, one argument a line. A block ends where it waits for something.
const recorder = `record() { printf '%s\n' "$@" '' >> "$COMMANDS"; }
command_not_found_handle() { record "$@"; }
scripts/build.sh() { record scripts/build.sh "$@"; }
bin/chaos() { record bin/chaos "$@"; }
sleep() { exit; }
for s in setup build compare status; do eval "contrib/ci/$s.sh() { record contrib/ci/$s.sh; }"; done
`

// TestCommandsOfPages carries out the shell commands of README.md and docs, and compares what they
// print with the block behind them, if it is one of text. Of verbs that take long it has the
// parsing of flags and plans.
func TestCommandsOfPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	more, err := filepath.Glob("../../docs/*/*.md")
	failure.None(t, err)
	root, err := filepath.Abs("../..")
	failure.None(t, err)
	dir := pageDirectory(t, root)
	texts := map[string]string{}
	for _, page := range slices.Concat([]string{"../../README.md", "../../CONTRIBUTING.md"}, pages, more) {
		b, err := os.ReadFile(page)
		failure.None(t, err)
		texts[strings.TrimPrefix(page, "../../")] = string(b)
	}
	makefile, err := os.ReadFile("../../Makefile")
	failure.None(t, err)
	names := map[string]bool{"help": true}
	for _, v := range verbs(new(app.App)) {
		names[v.name] = true
	}
	t.Chdir(dir)
	for page, text := range texts {
		t.Run(page, func(t *testing.T) {
			checkPage(t, text, names, string(makefile))
		})
	}
}

// checkPage checks the verbs, make targets, plans and commands of a page.
func checkPage(t *testing.T, text string, verbs map[string]bool, makefile string) {
	t.Helper()
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
		targets[m[1]] = true
	}
	for _, m := range verbNamed.FindAllStringSubmatch(text, -1) {
		if !verbs[m[1]] {
			t.Errorf("%s: no such verb", m[0])
		}
	}
	for _, m := range wholePlan.FindAllStringSubmatch(text, -1) {
		if _, err := known().Parse([]byte(m[1])); err != nil {
			t.Errorf("a plan: %v", err)
		}
	}
	writePlans(t, text)
	for _, b := range blocksOf(t, text) {
		output := ""
		for _, args := range b.commands {
			line := strings.Join(args, " ")
			at := slices.Index(args, "plimsoll")
			if at < len(args)-1 &&
				(at == 0 || at > 0 && slices.Contains([]string{"ip", "podman", "taskset"}, args[0])) {
				output += checkOwn(t, args[at+1:])
			}
			if args[0] == "make" {
				targets[args[1]] = true
			}
			if !begins(line, slices.Values(carriedOut), "plimsoll ") &&
				!begins(line, maps.Keys(notCarriedOut), "") {
				t.Errorf(
					"%s: this test does not carry it out, and notCarriedOut has no reason",
					line,
				)
			}
		}
		if output != "" && b.shown != "" && !shows(b.shown, output) {
			t.Errorf("the page shows\n%s\nand the commands print\n%s", b.shown, output)
		}
	}
	for target := range targets {
		if !strings.Contains(makefile, "\n"+target+":") {
			t.Errorf("make %s: no such target", target)
		}
	}
}

// begins reports whether a line begins with one of some commands behind a prefix.
func begins(line string, commands iter.Seq[string], prefix string) bool {
	for c := range commands {
		if strings.HasPrefix(line+" ", prefix+c+" ") {
			return true
		}
	}
	return false
}

var (
	makeTarget = regexp.MustCompile("`make ([\\w-]+)")
	verbNamed  = regexp.MustCompile("(?:^|bin/|`)plimsoll ([a-z]+)")
	wholePlan  = regexp.MustCompile("(?s)```yaml\n(name: [^`]*?\ntarget:.*?)```")

	number = regexp.MustCompile(`\b[0-9a-f]{12,}\b|\d[\d.,:]*`)
	spaces = regexp.MustCompile(`[ ─-]+`)
)

// shows reports whether a page shows an output: its lines, but for numbers and the widths of
// columns. A line of … stands for any lines.
func shows(shown, output string) bool {
	lines := func(s string) []string {
		s = number.ReplaceAllString(strings.TrimSpace(s), "0")
		s = spaces.ReplaceAllString(s, " ")
		return strings.Split(s, "\n")
	}
	have, skip := lines(output), false
	for _, want := range lines(shown) {
		if want = strings.TrimSpace(want); want == "…" {
			skip = true
			continue
		}
		at := slices.IndexFunc(have, func(h string) bool { return strings.TrimSpace(h) == want })
		if at < 0 || at > 0 && !skip {
			return false
		}
		have, skip = have[at+1:], false
	}
	return skip || len(have) == 0
}

func TestShows(t *testing.T) {
	const output = "NAME   RUNS\na      12.5 ms\nb      7 ms\n"
	for shown, want := range map[string]bool{
		"NAME  RUNS\na     3 ms\nb     1,000 ms\n": true,
		"NAME  RUNS\n…":                            true,
		"…\nb     1 ms\n":                          true,
		"NAME  RUNS\nb     1 ms\n":                 false,
		"NAME  RUNS\na     3 ms\n":                 false,
		"NAME  RUNS\na     3 s\nb     1 ms\n":      false,
		"NAME  RUNS\n…\nc     1 ms\n":              false,
	} {
		if got := shows(shown, output); got != want {
			t.Errorf("%q shows the output: %v, want %v", shown, got, want)
		}
	}
}

// pageDirectory makes a directory in which the commands of the pages find their files.
func pageDirectory(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"examples", "contrib"} {
		failure.None(t, os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)))
	}
	for i, users := range []string{"16007", "16371"} {
		name := filepath.Join(dir, fmt.Sprintf("run%d", i+1), "results.txt")
		const part = "v%d:\n  Type: unbounded\n  DB Engine: mysql\n  Supported Users: %s\n  Errors: 0\n"
		results := fmt.Sprintf("Comparison result:\n"+part+part+"==========\n", 1, "14186", 2, users)
		writeText(t, name, results)
	}
	failure.None(t, os.MkdirAll(filepath.Join(dir, "etc", "plimsoll"), 0o755))
	writeText(t, filepath.Join(dir, "latencies.csv"), "base,new\n12.5,13\n")
	st := storetest.At(t, filepath.Join(dir, ".plimsoll"))
	storetest.PutComparison(t, st, "mine", storetest.Versions("v1", "v2"), 1, 0.88)
	return dir
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	failure.None(t, os.MkdirAll(filepath.Dir(name), 0o755))
	failure.None(t, os.WriteFile(name, []byte(text), 0o600))
}

// writePlans writes the plans that the commands of a page name without making them: the first one
// of the page, or an example.
func writePlans(t *testing.T, page string) {
	t.Helper()
	example, err := os.ReadFile("examples/bounded.yaml")
	failure.None(t, err)
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

// A block has shell commands of a page, and the block behind them, which has their output.
type block struct {
	commands [][]string
	shown    string
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:\n```(?:text)?\n(.*?)^```)?")

// blocksOf returns the commands that a shell would carry out for the blocks of a page.
func blocksOf(t *testing.T, page string) (blocks []block) {
	t.Helper()
	script := recorder
	for _, m := range shellBlock.FindAllStringSubmatch(page, -1) {
		code := strings.NewReplacer("bin/plimsoll ", "plimsoll ", "/etc/", "etc/").Replace(m[1])
		script += "record block\n(\n" + code + "\n)\n"
		blocks = append(blocks, block{shown: m[2]})
	}
	tools := t.TempDir()
	for _, name := range []string{"cat", "cp", "ls", "paste"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(tools, name))
		}
		failure.None(t, err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	record := filepath.Join(tools, "commands")
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", script)
	cmd.Env = []string{"PATH=" + tools, "COMMANDS=" + record, "NUMBER=1", "LC_ALL=C.UTF-8"}
	// an error of the shell itself
	if out, err := cmd.CombinedOutput(); bytes.Contains(out, []byte("bash: ")) {
		t.Errorf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(record)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	at := -1
	for one := range strings.SplitSeq(string(b), "\n\n") {
		switch args := strings.Split(one, "\n"); args[0] {
		case "":
		case "block":
			at++
		default:
			blocks[at].commands = append(blocks[at].commands, args)
		}
	}
	return blocks
}

// checkOwn carries out a command of ours and returns what it prints, or parses its flags and checks
// its plan.
func checkOwn(t *testing.T, args []string) string {
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
			if args[0] == "bisect" && strings.HasPrefix(a, "examples/") {
				b, err := os.ReadFile(a)
				failure.None(t, err)
				p, err := known().Parse(b)
				failure.None(t, err)
				failure.None(t, bisect.CheckPlan(p, a))
			}
		}
	}
	out := !placeholders && begins(line, slices.Values(carriedOut), "")
	if !out {
		args = append(args, "-h") // is reached if all flags before it are known
	}
	status, printed, errs := ranWith(t, args...)
	if status == exit.Usage || status == exit.Tool && args[0] != "doctor" ||
		!out && status != exit.OK {
		t.Errorf("plimsoll %s: status %d\n%s", line, status, errs)
	}
	if !out {
		return ""
	}
	return printed
}

// A verification that the docs print has an administrator's secret: without one it ends before it
// begins.
func TestVerifyInTheDocsHasASecret(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	n := 0
	for _, f := range append(files, "../../README.md") {
		b, err := os.ReadFile(f)
		failure.None(t, err)
		for line := range strings.Lines(string(b)) {
			if before, args, ok := strings.Cut(line, "plimsoll target verify "); ok &&
				!strings.Contains(before, "`") {
				n++
				if !strings.Contains(args, "-token-file ") &&
					!strings.Contains(before, "PLIMSOLL_ADMIN_") {
					t.Errorf("%s: %s", f, line)
				}
			}
		}
	}
	if n < 4 {
		t.Errorf("%d lines verify a server, want those of verify.md and sizing.md", n)
	}
}

package ci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/program"
	"plimsoll/record/store/storetest"
)

// A workflow is a job of a forge that calls the scripts of contrib/ci: it carries out the steps of
// an action as a runner of GitHub does, in their order, each by bash, until one fails.
type workflow struct {
	t       *testing.T
	dir     string            // of the runner
	repo    string            // the clone of the repository under test
	context map[string]string // what expressions mean
	env     []string

	log       string
	summary   string
	artifacts map[string]string // directories by name
}

type actionStep struct {
	ID, Name, Shell, Run, Uses string
	Env, With                  map[string]string
}

type action struct {
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct{ Steps []actionStep }
}

// openGates hold the gates open: the work of other tests on the machine voids no run.
const openGates = `
gates: {lag: {red: 60s}, late: {red: 100%}, users: {red: 1%}, cpu: {red: 100%}, core: {red: 100%}, sched: {red: 60s}, pause: {red: 60s}, gc: {red: 100%}, steal: {amber: 100%, red: 100%}, target_steal: {amber: 100%, red: 100%},
  others: {amber: 100%, red: 100%}, throttled: {red: 100%}, wait: {red: 100%}, inbox: {red: 60s}, memory: {red: 100%}, ports: {red: 100%}, bursts: {red: 1000x}, little: {red: 100%}}
`

const runScript = "bash --noprofile --norc -eo pipefail "

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// newWorkflow makes a runner with a clone of two commits, in which the file version has the text 1,
// then 2.
func newWorkflow(t *testing.T, env ...string) *workflow {
	t.Helper()
	//nolint:usetesting // the databases run as a user of their own, who must be able to pass through it
	dir, err := os.MkdirTemp("", "plimsoll-ci-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &workflow{t: t, dir: dir, artifacts: map[string]string{}, context: map[string]string{}}
	w.repo = filepath.Join(w.dir, "workspace")
	for _, d := range []string{w.repo, filepath.Join(w.dir, "temp"), filepath.Join(w.dir, "home")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	maps.Copy(w.context, map[string]string{
		"runner.temp":              filepath.Join(w.dir, "temp"),
		"github.server_url":        "https://forge.invalid",
		"github.repository":        "o/r",
		"github.action_ref":        "",
		"github.action_repository": "o/plimsoll",
		"github.run_id":            "7",
		"github.token":             "",
	})
	w.env = append(
		[]string{
			"PATH=" + os.Getenv("PATH"),
			"HOME=" + filepath.Join(w.dir, "home"),
			"GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@localhost",
			"GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@localhost",
		},
		env...)
	w.mustRun(
		"git init --quiet && echo 1 >version && git add . && git commit --quiet -m 1 && echo 2 >version && git commit --quiet -am 2",
	)
	return w
}

// bash runs a text in the clone and returns its status; what it prints is kept.
func (w *workflow) bash(text string, env ...string) int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir, cmd.Env = w.repo, slices.Concat(w.env, env)
	out, err := cmd.CombinedOutput()
	w.log += string(out)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return 0
}

func (w *workflow) mustRun(text string) {
	w.t.Helper()
	if status := w.bash(text); status != 0 {
		w.t.Fatalf("status %d\n%s", status, w.log)
	}
}

// value replaces the expressions of a text. An unknown one fails the test.
func (w *workflow) value(text string) string {
	return expression.ReplaceAllStringFunc(text, func(m string) string {
		found := ""
		for name := range strings.SplitSeq(expression.FindStringSubmatch(m)[1], " || ") {
			v, ok := w.context[name]
			if !ok && !strings.HasPrefix(name, "github.event.") {
				w.t.Errorf("the expression %s has no value on a runner", name)
			}
			found = cmp.Or(found, v)
		}
		return found
	})
}

// run carries out an action below the root of this repository, and returns the status of the step
// that failed.
func (w *workflow) run(path string, inputs map[string]string) int {
	w.t.Helper()
	name, err := filepath.Abs(filepath.Join("..", "..", path, "action.yml"))
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(data, &a); err != nil {
		w.t.Fatal(err)
	}
	for k, in := range a.Inputs {
		v, ok := inputs[k]
		if !ok {
			v = in.Default
		}
		w.context["inputs."+k] = w.value(v)
	}
	for k := range inputs {
		if _, ok := a.Inputs[k]; !ok {
			w.t.Fatalf("%s has no input %s", name, k)
		}
	}
	for i, s := range a.Runs.Steps {
		if strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
			w.artifacts[w.value(s.With["name"])] = w.value(s.With["path"])
			continue
		}
		if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
			w.t.Fatalf(
				"step %q: shell %q, run %q: want bash, and no expression in a command",
				s.Name,
				s.Shell,
				s.Run,
			)
		}
		file := func(kind string) string {
			return filepath.Join(w.dir, fmt.Sprintf("%s-%d", kind, i))
		}
		writeText(w.t, file("run"), s.Run)
		env := []string{
			"GITHUB_ACTION_PATH=" + filepath.Dir(name),
			"GITHUB_WORKSPACE=" + w.repo,
			"GITHUB_REPOSITORY=o/r",
			"GITHUB_OUTPUT=" + file("output"),
			"GITHUB_STEP_SUMMARY=" + file("summary"),
		}
		for k, v := range s.Env {
			env = append(env, k+"="+w.value(v))
		}
		status := w.bash(runScript+file("run"), env...)
		summary, _ := os.ReadFile(file("summary"))
		w.summary += string(summary)
		output, _ := os.ReadFile(file("output"))
		for line := range strings.Lines(string(output)) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
			w.context["steps."+s.ID+".outputs."+k] = v
		}
		if status != 0 {
			return status
		}
	}
	for k, out := range a.Outputs {
		w.context["outputs."+k] = w.value(out.Value)
	}
	return 0
}

// measured is the program with one verb replaced: compare brings a store that is there. STORED
// names it, and CALLED gets the arguments.
const measured = `#!/bin/bash
if [ "$1" = compare ]; then
  printf '%%s\n' "$@" >"$CALLED"
  [ -n "$STORED" ] || exit 2
  cp -R "$STORED" store
  exec %[1]q report -store store -print screen last
fi
exec %[1]q "$@"
`

// measuring returns a workflow whose comparison has such a ratio in so many blocks; none for 0
// blocks.
func measuring(t *testing.T, blocks int, ratio float64) *workflow {
	t.Helper()
	path, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	stored := ""
	if blocks > 0 {
		stored = filepath.Join(t.TempDir(), "store")
		storetest.PutComparison(
			t,
			storetest.At(t, stored),
			"pull",
			storetest.Versions("v1", "v2"),
			blocks,
			ratio,
		)
	}
	w := newWorkflow(t, "STORED="+stored)
	w.env = append(w.env, "CALLED="+filepath.Join(w.dir, "called"))
	tool := filepath.Join(w.dir, "plimsoll")
	if err := os.WriteFile(tool, fmt.Appendf(nil, measured, path), 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *workflow) inputs(more map[string]string) map[string]string {
	out := map[string]string{
		"build":    "mkdir -p bin && cp version bin/server",
		"result":   "bin/server",
		"plimsoll": filepath.Join(w.dir, "plimsoll"),
	}
	maps.Copy(out, more)
	return out
}

func TestActionVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		blocks int
		ratio  float64
		failOn string
		status int
		want   string // the verdict of the output
		has    string // in the summary
	}{
		{"worse", 6, 0.88, "", 3, "worse", "- **WORSE** · PostgreSQL: v2 is worse than v1"},
		{"worse is wanted", 6, 0.88, "invalid", 0, "worse", "- **WORSE** ·"},
		{"same", 6, 1, "", 0, "same or better", "- **SAME** ·"},
		{"inconclusive passes", 2, 1, "", 0, "inconclusive", "INDICATIVE"},
		{"inconclusive fails", 2, 1, "worse, inconclusive", 4, "inconclusive", "INDICATIVE"},
		{"nothing was measured", 0, 0, "none", 2, "none", "**No verdict**: `plimsoll compare` ended with status 2 before"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := measuring(t, tt.blocks, tt.ratio)
			inputs := w.inputs(map[string]string{"minutes": "8"})
			if tt.failOn != "" {
				inputs["fail-on"] = tt.failOn
			}
			status := w.run("", inputs)
			if status != tt.status || w.context["steps.compare.outputs.verdict"] != tt.want ||
				!strings.Contains(w.summary, tt.has) {
				t.Fatalf(
					"status %d, verdict %q; summary\n%s\nlog\n%s",
					status,
					w.context["steps.compare.outputs.verdict"],
					w.summary,
					w.log,
				)
			}
			kept := w.artifacts["plimsoll"]
			if comment, err := os.ReadFile(filepath.Join(kept, "comment.md")); err != nil ||
				string(comment) != w.summary {
				t.Errorf("the artifact has another comment than the summary: %v\n%s", err, comment)
			}
			for _, name := range []string{"report.html", "junit.xml", "pairs.csv"} {
				if _, err := os.Stat(filepath.Join(kept, name)); (err == nil) != (tt.blocks > 0) {
					t.Errorf("the artifact, %s: %v", name, err)
				}
			}
			called, err := os.ReadFile(filepath.Join(w.dir, "called"))
			work := filepath.Join(w.dir, "temp", "plimsoll")
			want := strings.Join(
				[]string{
					"compare",
					"-store",
					work + "/store",
					"-minutes",
					"8",
					"-save",
					work + "/report/plan.yaml",
					"base/bin/server",
					"head/bin/server",
					"",
				},
				"\n",
			)
			if err != nil || string(called) != want {
				t.Errorf("called with\n%s\nwant\n%s", called, want)
			}
			for arm, text := range map[string]string{"base": "1\n", "head": "2\n"} {
				if got, err := os.ReadFile(filepath.Join(work, arm, "bin", "server")); err != nil ||
					string(got) != text {
					t.Errorf("%s is built of %q, %v", arm, got, err)
				}
			}
		})
	}
}

// A mistake ends the job before anything is measured, and most of them before anything is built.
func TestActionRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		inputs map[string]string
		before string // a command in the clone
		status int
		want   []string
	}{
		{"all inputs at once", map[string]string{
			"build":    "",
			"result":   "",
			"minutes":  "ten",
			"fail-on":  "slower",
			"plimsoll": "/nowhere/plimsoll",
		}, "", 2,
			[]string{"build is empty: want the command", "give result (", "minutes is 'ten': want a whole number", "fail-on is 'slower': want worse", "there is no such program"}},
		{"no release", map[string]string{"plimsoll": ""}, "", 2, []string{"release is '': want one such as v1.2.0, or plimsoll with"}},
		{"shallow", nil, "git clone --quiet --depth 1 file://$PWD ../one && rm -rf .git && mv ../one/.git .", 2, []string{"HEAD^1 is not in this clone: check out with fetch-depth: 2"}},
		{"the same commit", map[string]string{"base": "HEAD"}, "", 2, []string{"base and head are the same commit"}},
		{"no build", map[string]string{"build": `test "$PLIMSOLL_ARM" = head`}, "", 1, []string{"the build of base (", ") failed: 'test \"$PLIMSOLL_ARM\" = head'"}},
		{"no result", map[string]string{"build": "true"}, "", 1, []string{"left no 'bin/server'"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := measuring(t, 0, 0)
			if tt.before != "" {
				w.mustRun(tt.before)
			}
			status := w.run("", w.inputs(tt.inputs))
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			for _, want := range tt.want {
				if !strings.Contains(w.log, want) {
					t.Errorf("want %q in\n%s", want, w.log)
				}
			}
			if _, err := os.Stat(filepath.Join(w.dir, "called")); err == nil {
				t.Error("something was measured")
			}
		})
	}
}

// The program is downloaded only where its archive has the checksum.
func TestActionInstalls(t *testing.T) {
	t.Parallel()
	path, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	forge := newForge(t)
	archive := fmt.Sprintf("plimsoll_1.2.3_linux_%s.tar.gz", map[string]string{
		"x86_64":  "amd64",
		"aarch64": "arm64",
	}[machine(t)])
	dir := filepath.Join(forge.files, "o", "plimsoll", "releases", "download", "v1.2.3")
	w := newWorkflow(t, "CURL_CA_BUNDLE="+forge.authority)
	w.context["github.server_url"], w.context["github.action_ref"] = forge.url, "v1.2.3"
	w.mustRun(fmt.Sprintf(
		"mkdir -p %[1]s && tar -czf %[1]s/%[2]s --transform s,^,in/, -C %[3]s plimsoll && cd %[1]s && sha256sum %[2]s >plimsoll_1.2.3_checksums.txt",
		dir,
		archive,
		filepath.Dir(path),
	))
	inputs := map[string]string{"build": "exit 9", "result": "bin/server"}
	if status := w.run("", inputs); status != 1 || !strings.Contains(w.log, "plimsoll ") ||
		!strings.Contains(w.log, "the build of base") {
		t.Errorf(
			"status %d, want the version of the program, and then the build\n%s",
			status,
			w.log,
		)
	}
	inputs["checksum"] = strings.Repeat("0", 64)
	if status := w.run("", inputs); status != 1 ||
		!strings.Contains(w.log, archive+" does not have the SHA-256 0000") {
		t.Errorf("status %d\n%s", status, w.log)
	}
	delete(inputs, "checksum")
	writeText(t, filepath.Join(dir, "plimsoll_1.2.3_checksums.txt"), "")
	if status := w.run("", inputs); status != 1 ||
		!strings.Contains(
			w.log,
			"does not have the SHA-256 of a line in the checksums of the release",
		) {
		t.Errorf("status %d\n%s", status, w.log)
	}
}

// The workflows of docs/ci.md are YAML, give the actions inputs that they have, and its table has
// each input.
func TestWorkflowsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]action{}
	for name, path := range map[string]string{
		"OWNER/plimsoll":                    "../../action.yml",
		"OWNER/plimsoll/contrib/ci/comment": "comment/action.yml",
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var a action
		if err := yaml.Unmarshal(data, &a); err != nil {
			t.Fatal(err)
		}
		inputs[name] = a
	}
	used := 0
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		var file struct {
			Jobs map[string]struct{ Steps []actionStep }
		}
		if err := yaml.Unmarshal([]byte(m[1]), &file); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
		for _, job := range file.Jobs {
			for _, s := range job.Steps {
				name, _, _ := strings.Cut(s.Uses, "@")
				for k := range s.With {
					if a, ours := inputs[name]; ours {
						used++
						if _, ok := a.Inputs[k]; !ok {
							t.Errorf("%s has no input %s", name, k)
						}
					}
				}
			}
		}
	}
	if used < 4 {
		t.Errorf("the workflows give %d inputs", used)
	}
	for k := range inputs["OWNER/plimsoll"].Inputs {
		if !strings.Contains(string(page), "`"+k+"`") {
			t.Errorf("the page does not have the input %s", k)
		}
	}
}

func machine(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "uname", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// The steps carry out a real comparison: both builds are servers, which a plan of the repository
// names, and one block is indicative.
func TestActionMeasures(t *testing.T) {
	t.Parallel()
	path, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorkflow(t, "PLIMSOLL_CALIBRATE=false", "SERVER="+path)
	text := `name: pull
target: {driver: refchat, args: ["-hash=bcrypt:4"]}
database: {engine: postgresql}
workload: {behavior: poster, pace: 0.1, login: warm}
bounded: {users: 10, ramp: 1s, settle: 1s, measure: 3s}
compare:
  mode: sequence
  arms: {base: {binary: ./base/bin/server, version: "1"}, new: {binary: ./head/bin/server, version: "2"}}
  blocks: 1
` + openGates
	writeText(t, filepath.Join(w.repo, "perf.yaml"), text)
	w.mustRun("git add . && git commit --quiet -m plan")
	inputs := map[string]string{
		"build":    `mkdir -p bin && cp "$SERVER" bin/server`,
		"plan":     "perf.yaml",
		"plimsoll": path,
		"fail-on":  "invalid",
	}
	if status := w.run("", inputs); status != 0 || w.context["outputs.verdict"] != "inconclusive" ||
		w.context["outputs.status"] != "4" {
		t.Fatalf(
			"status %d, verdict %q; want an indicative one\n%s",
			status,
			w.context["outputs.verdict"],
			w.log,
		)
	}
	for _, want := range []string{"### Performance: `1` vs `2`", "| typical(op) |", "Validity: 2 runs: 2 judged, none invalid"} {
		if !strings.Contains(w.summary, want) {
			t.Errorf("no %q in the summary\n%s", want, w.summary)
		}
	}
	if _, err := os.Stat(filepath.Join(w.artifacts["plimsoll"], "junit.xml")); err != nil {
		t.Error(err)
	}
}

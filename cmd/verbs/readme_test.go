package verbs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/rig"
)

// TestReadme checks the commands of the pages that a newcomer reads first: their plans, verbs, make targets and links.
func TestReadme(t *testing.T) {
	names := map[string]bool{"help": true}
	for _, v := range new(app).verbs() {
		names[v.name] = true
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"README.md", "docs/README.md", "docs/own-server.md", "docs/statuses.md"} {
		b, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1) {
			if _, err := known().Parse([]byte(m[1])); err != nil {
				t.Errorf("the plan of %s: %v", page, err)
			}
		}
		for _, m := range regexp.MustCompile("(?:bin/|`)plimsoll ([a-z]+)").FindAllStringSubmatch(text, -1) {
			if !names[m[1]] {
				t.Errorf("%s uses the verb %s, which does not exist", page, m[1])
			}
		}
		for _, m := range regexp.MustCompile("(?m)^make ([\\w-]+)|`make ([\\w-]+)").FindAllStringSubmatch(text, -1) {
			if target := m[1] + m[2]; !strings.Contains(string(makefile), "\n"+target+":") {
				t.Errorf("%s uses make %s, which is no target", page, target)
			}
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s points to %v", page, err)
			}
		}
		for _, name := range regexp.MustCompile(`(?m)[^/\w(](examples/[\w.-]+)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat("../../" + name[1]); err != nil {
				t.Errorf("%s names %v", page, err)
			}
		}
		switch page {
		case "README.md":
			if n := len(strings.Fields(text)); n > 700 {
				t.Errorf("README.md has %d words, at most 700", n)
			}
		case "docs/statuses.md":
			for _, status := range []string{"| 0 |", "| 1 |", "| 2 |", "| 3 |", "| 4 |", "| 5 |", "| 6 |"} {
				if !strings.Contains(text, status) {
					t.Errorf("the table of statuses in %s lacks %s", page, status)
				}
			}
		}
	}
}

// The workflow of docs/report.md comments on a verdict that fails, too, and ends with its status: the shell of GitHub
// Actions is bash -e.
func TestWorkflowOfAComment(t *testing.T) {
	b, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)In a\\s+workflow:\n\n```sh\n(.*?)```").FindSubmatch(b)
	if block == nil {
		t.Fatal("docs/report.md shows no workflow")
	}
	for _, want := range []int{rig.ExitOK, rig.ExitTool, rig.ExitWorse, rig.ExitInconclusive} {
		stubs := fmt.Sprintf("plimsoll() { if [ $1 = report ]; then echo $4; fi; return %d; }\ngh() { cp \"$5\" commented; }\n", want)
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", stubs+string(block[1]))
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "NUMBER=1")
		out, _ := cmd.CombinedOutput()
		commented, err := os.ReadFile(filepath.Join(cmd.Dir, "commented"))
		if got := cmd.ProcessState.ExitCode(); got != want || err != nil || string(commented) != "last\n" {
			t.Errorf("status %d, want %d; commented %q, %v\n%s", got, want, commented, err, out)
		}
	}
}

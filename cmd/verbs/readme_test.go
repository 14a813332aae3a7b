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

// TestReadme holds the first page to its length, and the page of the exit statuses to their number.
func TestReadme(t *testing.T) {
	read := func(page string) string {
		b, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if n := len(strings.Fields(read("README.md"))); n > 400 {
		t.Errorf("README.md has %d words, at most 400", n)
	}
	statuses := read("docs/statuses.md")
	for status := rig.ExitOK; status <= rig.ExitSLO; status++ {
		if !strings.Contains(statuses, fmt.Sprintf("| %d |", status)) {
			t.Errorf("the table of statuses lacks %d", status)
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

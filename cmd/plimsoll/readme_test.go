package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the README shows must work: its plan, its verbs, its make targets, its files.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if n := strings.Count(text, "\n"); n > 200 {
		t.Errorf("README.md has %d lines, at most 200", n)
	}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1) {
		if _, err := known().Parse([]byte(m[1])); err != nil {
			t.Errorf("the README's plan: %v", err)
		}
	}
	names := map[string]bool{}
	for _, v := range verbs() {
		names[v.name] = true
	}
	for _, m := range regexp.MustCompile(`bin/plimsoll (\w+)`).FindAllStringSubmatch(text, -1) {
		if !names[m[1]] {
			t.Errorf("the README uses the verb %s, which is none", m[1])
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^make (\\w+)|`make (\\w+)").FindAllStringSubmatch(text, -1) {
		if target := m[1] + m[2]; !strings.Contains(string(makefile), "\n"+target+":") {
			t.Errorf("the README uses make %s, which is no target", target)
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)|(examples/[\w.-]+)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat("../../" + m[1] + m[2]); err != nil {
			t.Errorf("the README points to %v", err)
		}
	}
	for _, status := range []string{"| 0 |", "| 1 |", "| 2 |", "| 3 |", "| 4 |", "| 5 |", "| 6 |"} {
		if !strings.Contains(text, status) {
			t.Errorf("the README's table of statuses lacks %s", status)
		}
	}
}

// The workflow of docs/report.md comments on a verdict that fails, too, and ends with its status: the shell of GitHub Actions is bash -e.
func TestWorkflowOfAComment(t *testing.T) {
	b, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)In a\nworkflow:\n\n```sh\n(.*?)```").FindSubmatch(b)
	if block == nil {
		t.Fatal("docs/report.md shows no workflow")
	}
	for _, want := range []int{exitOK, exitTool, exitWorse, exitInconclusive} {
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

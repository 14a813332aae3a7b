package main

import (
	"os"
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

package plan_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// named are the names that are known in the cases of testdata/problems.txt that say so.
var named = plan.Known{
	Drivers:    []string{"s", "server", "chat", "feed", "process", "external"},
	Topologies: []string{"chat", "process"},
	Arrivals:   []string{"poster"},
}

var problemCase = regexp.MustCompile(`(?ms)^== ([^\n]*?)(, with names)?\n(.*?)(^>> .*?)(?:^$\n|\z)`)

// TestProblemsGolden: each plan of testdata/problems.txt has the problems below it. Each has a
// remedy, and none a secret.
func TestProblemsGolden(t *testing.T) {
	src, err := os.ReadFile("testdata/problems.txt")
	failure.None(t, err)
	var all strings.Builder
	for _, c := range problemCase.FindAllStringSubmatch(string(src), -1) {
		name := c[1]
		names := c[2]
		text := c[3]
		var known plan.Known
		if names != "" {
			known = named
		}
		p, err := known.Parse([]byte(text))
		if err == nil || p != nil {
			t.Fatalf("%s: plan %v, error %v", name, p, err)
		}
		problems := strings.ReplaceAll(err.Error(), "\n", "\n>> ")
		for line := range strings.SplitSeq(problems, "\n") {
			if !strings.Contains(line, ";") || strings.Contains(line, "geheim") {
				t.Errorf("%s: %s: no remedy, or a secret", name, line)
			}
		}
		all.WriteString("== " + name + names + "\n" + text + ">> " + problems + "\n\n")
	}
	golden(t, "problems.txt", []byte(all.String()))
}

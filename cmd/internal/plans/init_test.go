package plans

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/verbtest"
)

// answered runs init with answers, and returns the status and what a person sees.
func answered(t *testing.T, file string, answers ...string) (status int, stdout, stderr string) {
	t.Helper()
	by := verbtest.Surroundings{Stdin: strings.Join(answers, "\n") + "\n"}
	return by.Run(t, Init, "-o", file)
}

// TestInitWritesGoodPlans: every combination of answers gives a plan that plan check calls good,
// and that its verb accepts.
func TestInitWritesGoodPlans(t *testing.T) {
	dir := t.TempDir()
	n := 0
	try := func(answers ...string) {
		n++
		file := filepath.Join(dir, fmt.Sprintf("%d.yaml", n))
		status, out, errs := answered(t, file, answers...)
		if status != exit.OK || !strings.Contains(out, file+": good") {
			t.Errorf("%q: status %d\n%s%s", answers, status, out, errs)
			return
		}
		if status, out, errs := verbtest.Run(t, Plan, "check", file); status != exit.OK ||
			!strings.Contains(out, ": good, sha256:") ||
			strings.Contains(out, "cannot be compared") {
			t.Errorf("%q: plan check has status %d\n%s%s", answers, status, out, errs)
		}
	}
	for _, users := range []string{"", "auto", "1", "2000"} {
		for _, minutes := range []string{"", "1", "90"} {
			for _, url := range []string{"", "chat.example.com:8065"} {
				for _, question := range []string{"", "hold", "capacity"} {
					try(url, question, users, minutes)
				}
				try(url, "compare", "http://other.example.com", users, minutes)
			}
			for _, engine := range []string{"", "mysql", "both"} {
				for _, question := range []string{"hold", "capacity"} {
					try(dir, question, engine, users, minutes)
				}
				for _, other := range []string{"", t.TempDir()} {
					try(dir, "compare", other, engine, users, minutes)
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("%d combinations", n)
	}
}

// A wrong answer ends init with an error that names the question, and nothing is written.
func TestInitRefusesAnswers(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ answers, want string }{
		{"nowhere", "no such file or directory"},
		{"chat.example.com", "write the address of a server as http://chat.example.com"},
		{"http://user:pass@host", "not an address of a server"},
		{"http://host|soak", `"soak": want hold, capacity, compare`},
		{"http://host|compare|" + dir, "want two URLs, or two directories"},
		{dir + "|compare|http://host", "want two URLs, or two directories"},
		{dir + "|hold|oracle", `"oracle": want postgresql, mysql, both`},
		{"http://host|hold|many", `"many": want a whole number from 1 to`},
		{"http://host|hold|0", `"0": want a whole number from 1 to`},
		{"http://host|hold|5|soon", `"soon": want a whole number from 1 to`},
	} {
		status, out, errs := answered(
			t,
			filepath.Join(dir, "p.yaml"),
			strings.Split(tt.answers, "|")...)
		if status != exit.Usage || out != "" || !strings.Contains(errs, tt.want) ||
			strings.Contains(errs, "pass@") {
			t.Errorf("%q: status %d\n%s%s\nwant %s", tt.answers, status, out, errs, tt.want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

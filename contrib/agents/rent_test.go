package agents_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// grouped writes a whole number with commas between thousands.
func grouped(n float64) string {
	digits := strconv.FormatFloat(n, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// TestRent: the columns of docs/agents-deploy.md that follow from measured figures agree with
// studies/results/benchmarks.json.
func TestRent(t *testing.T) {
	b, err := os.ReadFile(root + "/studies/results/benchmarks.json")
	if err != nil {
		t.Fatal(err)
	}
	var bench struct {
		Figures []struct {
			Name, Note string
			Value      struct{ Median float64 }
		}
	}
	if err := json.Unmarshal(b, &bench); err != nil {
		t.Fatal(err)
	}
	var perCore, kib float64
	for _, f := range bench.Figures {
		switch {
		case strings.HasPrefix(f.Name, "simulated users at default pace in one process on one core"):
			perCore = f.Value.Median
		case strings.HasPrefix(f.Name, "memory per connected simulated user"):
			m := regexp.MustCompile(`between two collections ([0-9.]+) KiB are resident`).
				FindStringSubmatch(f.Note)
			if m == nil {
				t.Fatalf("no memory between two collections in %q", f.Note)
			}
			if kib, err = strconv.ParseFloat(m[1], 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	if perCore == 0 || kib == 0 {
		t.Fatalf(
			"studies/results/benchmarks.json has %v users on a core and %v KiB for a user",
			perCore,
			kib,
		)
	}
	page, err := os.ReadFile(root + "/docs/agents-deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	const perSource = float64((65000 - 1025 + 1) * 9 / 10 / 2)
	for _, users := range []float64{1e4, 1e5, 1e6, 1e7} {
		row := fmt.Sprintf(
			"| %s | %s | %s | %.1f GiB | %s |",
			grouped(users),
			grouped(2*users),
			grouped(math.Ceil(users/perCore)),
			users*kib/(1<<20),
			grouped(math.Ceil(users/perSource)),
		)
		if !strings.Contains(string(page), "\n"+row) {
			t.Errorf("docs/agents-deploy.md lacks the row %s", row)
		}
	}
	for _, figure := range []string{grouped(perCore) + " users in one process", fmt.Sprint("users × ", kib, " KiB"), "users / " + grouped(perSource)} {
		if !strings.Contains(string(page), figure) {
			t.Errorf("docs/agents-deploy.md lacks the figure %q", figure)
		}
	}
}

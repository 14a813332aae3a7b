package verbs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
)

// TestReadme holds the first page to its length, and the page of the exit statuses to their number.
func TestReadme(t *testing.T) {
	read := func(page string) string {
		b, err := os.ReadFile("../../" + page)
		failure.None(t, err)
		return string(b)
	}
	if n := len(strings.Fields(read("README.md"))); n > 400 {
		t.Errorf("README.md has %d words, at most 400", n)
	}
	statuses := read("docs/statuses.md")
	for status := exit.OK; status <= exit.SLO; status++ {
		if !strings.Contains(statuses, fmt.Sprintf("| %d |", status)) {
			t.Errorf("the table of statuses lacks %d", status)
		}
	}
}

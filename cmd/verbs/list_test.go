package verbs

import (
	"strings"
	"testing"

	"plimsoll/run/store"
)

// The list of runs has the figures of bounded tests.
func TestListOfBoundedRuns(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putRun(t, st, storedRun{id: "20260101-000000-a", capacity: 1000, slower: 1})
	_, out, errs := inStore(t, root, "ls")
	head, row, _ := strings.Cut(out, "\n")
	if errs != "" || !strings.Contains(head, "USERS  PER S  P95 MS  ERRORS    CAPACITY") || !strings.Contains(row, "  50     300    19.5    0 of 600  1000") {
		t.Errorf("%s%s", errs, out)
	}
	if _, out, _ = inStore(t, root, "ls", "-json"); !strings.Contains(out, `"users": 50,`) || !strings.Contains(out, `"count": 600,`) {
		t.Error(out)
	}
}

package users

import (
	"testing"

	"plimsoll/load/workload"
)

// TestExceptions: the first one is kept, whichever process logged it.
func TestExceptions(t *testing.T) {
	t.Parallel()
	var e Exceptions
	for _, line := range []string{"login: refused", "agent 2, user 7: " + workload.Exception("read", "a.js:3: boom"),
		workload.Exception("write", "a.js:4: bang")} {
		e.Note(line)
	}
	if got := e.First(); got != "read: a.js:3: boom" {
		t.Errorf("the first is %q", got)
	}
}

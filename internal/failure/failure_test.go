package failure_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// notes is a Test that notes its failures.
type notes struct{ list []string }

func (n *notes) Helper() {}
func (n *notes) Errorf(format string, args ...any) {
	n.list = append(n.list, fmt.Sprintf(format, args...))
}
func (n *notes) Fatal(args ...any) { n.list = append(n.list, "fatal: "+fmt.Sprint(args...)) }

// Every error that is not as expected fails the test, and no other.
func TestExpectations(t *testing.T) {
	full := errors.New("no space left on sda")
	var n notes
	failure.None(&n, nil)
	failure.Says(&n, full, "no space", "sda")
	failure.Says(&n, failure.Of(1, full), "sda")
	if len(n.list) > 0 {
		t.Errorf("expected errors fail: %q", n.list)
	}
	failure.None(&n, full)
	failure.Says(&n, nil, "sda")
	failure.Says(&n, full, "no space", "sdb")
	want := []string{"fatal: no space left on sda", `error <nil>, want "sda" in it`, `error no space left on sda, want "sdb" in it`}
	if got := strings.Join(n.list, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

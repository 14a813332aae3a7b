package failure_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/failure"
)

// notes is a Test that notes its failures.
type notes struct{ list []string }

func (n *notes) Helper() {}
func (n *notes) Errorf(format string, args ...any) {
	n.list = append(n.list, fmt.Sprintf(format, args...))
}
func (n *notes) Fatal(args ...any) { n.list = append(n.list, "fatal: "+fmt.Sprint(args...)) }
func (n *notes) Skip(args ...any)  { n.list = append(n.list, "skip: "+fmt.Sprint(args...)) }

// Every error that is not as expected fails the test, and no other.
func TestExpectations(t *testing.T) {
	full := errors.New("no space left on sda")
	var n notes
	failure.None(&n, nil)
	failure.Says(&n, full, "no space", "sda")
	failure.Says(&n, failure.Of(1, full), "sda")
	failure.Is(&n, fmt.Errorf("writing: %w", full), full)
	failure.Gone(&n, "/no/such/file")
	failure.Want(&n, nil, "")
	failure.Want(&n, full, "no space")
	failure.Hides(&n, full, "hush")
	if len(n.list) > 0 {
		t.Errorf("expected errors fail: %q", n.list)
	}
	failure.None(&n, full)
	failure.Says(&n, nil, "sda")
	failure.Says(&n, full, "no space", "sdb")
	failure.Want(&n, full, "")
	failure.Want(&n, nil, "sda")
	failure.Hides(&n, full, "sda")
	failure.Hides(&n, nil, "hush")
	failure.Is(&n, nil, full)
	failure.Gone(&n, "/")
	want := []string{
		"fatal: no space left on sda", `error <nil>, want "sda" in it`, `error no space left on sda, want "sdb" in it`,
		`error no space left on sda, want none`, `error <nil>, want "sda" in it`,
		`error no space left on sda, want one without "sda"`, `error <nil>, want one without "hush"`,
		"error <nil>, want no space left on sda", "/ is there (<nil>)",
	}
	if got := strings.Join(n.list, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A host may lack what a test needs, but not under CI.
func TestLacks(t *testing.T) {
	for ci, want := range map[string]string{
		"":     "skip: no root",
		"true": "fatal: no root skip: no root",
	} {
		t.Setenv("CI", ci)
		var n notes
		failure.Lacks(&n, "no root")
		if got := strings.Join(n.list, " "); got != want {
			t.Errorf("CI is %q: %q, want %q", ci, got, want)
		}
	}
}

// What comes later is waited for, and what never comes ends the test after a minute.
func TestUnless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		calls := 0
		failure.Unless(&n, func() bool { calls++; return calls == 3 }, "it does not come")
		if calls != 3 || len(n.list) > 0 {
			t.Errorf("%d calls, %q", calls, n.list)
		}
		began := time.Now()
		failure.Unless(&n, func() bool {
			return time.Since(began) > time.Minute+time.Second
		}, "it does not come")
		if len(n.list) == 0 || n.list[0] != "fatal: it does not come" {
			t.Errorf("%q", n.list)
		}
	})
}

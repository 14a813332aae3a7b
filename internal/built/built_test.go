package built

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestThis(t *testing.T) {
	t.Cleanup(func() {
		version = ""
		commit = ""
		date = ""
	})
	if i := This(); i.Version == "" || i.Go != runtime.Version() ||
		!strings.Contains(i.Platform, "/") {
		t.Errorf("a build of a work tree is %+v", i)
	}
	version = "1.2.3"
	commit = "0123456789abcdef"
	date = "2026-11-27T17:28:19Z"
	want := "1.2.3 (commit 0123456789ab, 2026-11-27, " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	if got := This().String(); got != want {
		t.Errorf("a release is %q, want %q", got, want)
	}
	if got := (Info{
		Version:  "devel",
		Commit:   "abc",
		Modified: true,
		Go:       "go1",
		Platform: "p",
	}).String(); got != "devel (commit abc, modified, go1, p)" {
		t.Errorf("got %q", got)
	}
}

func TestNewer(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{Newer("2.0.0", 3, 2), "written by plimsoll 2.0.0, format 3; "},
		{Newer("", 3, 2), "written by a newer plimsoll, format 3; "},
		{NewerText("x 3", "x ", 2), "written by a newer plimsoll, format 3; "},
		{NewerJSON([]byte(`{"format": 3, "other": 1}`), "2.0.0", 2), "written by plimsoll 2.0.0, format 3; "},
		{NewerJSON([]byte(`{"format": 3, "tool": "2.1.0"}`), "2.0.0", 2), "written by plimsoll 2.1.0, format 3; "},
	} {
		if !errors.Is(c.err, ErrNewer) || !strings.HasPrefix(c.err.Error(), c.want) ||
			!strings.HasSuffix(c.err.Error(), " and reads up to 2: install a newer one") {
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
	for _, err := range []error{Newer("2.0.0", 2, 2), Newer("", 0, 2), NewerText("x 2", "x ", 2), NewerText("y 3", "x ", 2), NewerText("x many", "x ", 2),
		NewerJSON([]byte(`{"format": 2}`), "", 2), NewerJSON([]byte(`[`), "", 2), NewerJSON(nil, "", 2)} {
		if err != nil {
			t.Errorf("got %v, want none", err)
		}
	}
}

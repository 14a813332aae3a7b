package record

import (
	"strings"
	"testing"
)

// A server that closes the connections that it kept open is named, unless it is a matter of a few.
func TestRepeatedRequestsAreAFinding(t *testing.T) {
	for _, tt := range []struct {
		c    Connections
		bad  bool
		text string
	}{
		{Connections{}, false, ""},
		// An idle timeout shorter than the users' pauses.
		{Connections{Requests: 1000, Repeated: 0, Reopened: 400}, false, "400 found it closed"},
		{Connections{Requests: 100, Repeated: 9}, false, "9 were repeated"},
		{Connections{Requests: 1000, Repeated: 10}, false, "10 were repeated"},
		{Connections{Requests: 1000, Repeated: 11}, true, "11 were repeated"},
	} {
		f, bad := tt.c.Finding()
		if bad != tt.bad ||
			bad &&
				(f.Level != Amber || f.Value < f.Limit || !strings.Contains(f.Text, "11 of 1000 requests")) {
			t.Errorf("%+v: %v, %+v", tt.c, bad, f)
		}
		if got := tt.c.String(); !strings.Contains(got, tt.text) || (got == "") != (tt.text == "") {
			t.Errorf("%+v: %q", tt.c, got)
		}
	}
}

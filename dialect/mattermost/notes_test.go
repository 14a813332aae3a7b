package mattermost

import (
	"fmt"
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// A server that fails in more ways than are printed does not hide the proxy that refuses
// afterwards. The number of lines is bounded all the same.
func TestAProxyIsNotHiddenByOtherFailures(t *testing.T) {
	var lines []string
	n := new(notes)
	note := n.to(&workload.Env{Log: func(format string, args ...any) {
		lines = append(lines, fmt.Sprintf(format, args...))
	}})
	fail := func(times int, proxy string) (printed int) {
		before := len(lines)
		for i := range times {
			note(&api.OpError{
				Op:     fmt.Sprint("op", i),
				Class:  measure.Status4xx,
				Status: 403,
				Cause:  proxy,
			})
		}
		return len(lines) - before
	}
	if got := fail(mostTold+5, ""); got != mostTold {
		t.Errorf("%d failures are printed, want %d", got, mostTold)
	}
	if got := fail(mostTold+5, "forbidden by a proxy"); got != mostTold {
		t.Errorf("%d refusals by a proxy are printed after them, want %d", got, mostTold)
	}
}

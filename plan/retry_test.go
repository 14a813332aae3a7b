package plan

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// TestRetryIsTheTimeOfAThirdOfTheBlocks takes a run of 13 s and a search of 16 s with two windows
// of 1.5 s, and 6 s between runs: two blocks of four runs are 304 s.
func TestRetryIsTheTimeOfAThirdOfTheBlocks(t *testing.T) {
	text := `
name: t
target: {driver: s}
database: {engine: [postgresql, mysql]}
workload: {behavior: b, pace: 0.1}
bounded: {users: 90, ramp: 3s, settle: 2s, measure: 8s}
unbounded: {max_users: 900, budget: 16s}
compare: {arms: {base: {}, new: {}}, combine: true}
`
	p, err := Parse([]byte(text))
	failure.None(t, err)
	if p.Compare.Retry != 6*time.Minute || !strings.Contains(p.String(), "\n  retry: 6m\n") {
		t.Errorf("retry is %v, want 6m", p.Compare.Retry)
	}
	if n := p.SearchStart("mysql"); n != 90 {
		t.Errorf(
			"a search that knows nothing begins with %d users, want those of the bounded test",
			n,
		)
	}
	for value, want := range map[string]string{"0s": "", "90m": "", "-1s": "compare.retry"} {
		_, err := Parse(
			[]byte(strings.Replace(text, "combine: true", "combine: true, retry: "+value, 1)),
		)
		failure.Want(t, err, want)
	}
}

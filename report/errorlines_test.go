package report

import (
	"slices"
	"testing"
	"time"

	"plimsoll/record"
)

// Errors that differ in users, ids and amounts alone are one line with their count; another status
// is another kind.
func TestErrorLines(t *testing.T) {
	failed := func(at time.Duration, text string) record.Event {
		return record.Event{Kind: "error", At: at, Text: text}
	}
	got := ErrorLines([]record.Event{
		failed(
			time.Second,
			"user 4: GET /api/v4/users/m1cp7iqtwfgd9bkanegsjxgeqr: 500: pool of 18",
		),
		{Kind: "slo", Rule: "p99(op) < 2s"},
		failed(1500*time.Millisecond, "series stay in memory: no space left"),
		failed(
			2*time.Second,
			"user 117: GET /api/v4/users/abcdefghijklmnopqrstuvwxyz: 500: pool of 18",
		),
		failed(
			9*time.Second,
			"user 4: GET /api/v4/users/8zcp7iqtwfgd9bkanegsjxgeqr: 500: pool of 20",
		),
		failed(
			9*time.Second,
			"user 104: GET /api/v4/users/8zcp7iqtwfgd9bkanegsjxgeqr: 404: pool of 20",
		),
	})
	want := []string{
		"3 of one kind, 1.0 s to 9.0 s: user 4: GET /api/v4/users/m1cp7iqtwfgd9bkanegsjxgeqr: 500: pool of 18",
		"at 1.5 s: series stay in memory: no space left",
		"at 9.0 s: user 104: GET /api/v4/users/8zcp7iqtwfgd9bkanegsjxgeqr: 404: pool of 20",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

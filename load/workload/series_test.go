package workload

import "testing"

// TestSeriesOfScript: what a script counts is no operation, and neither steady nor charged with
// lags.
func TestSeriesOfScript(t *testing.T) {
	t.Parallel()
	for _, name := range []string{Iteration + "read", Check + "status is 200", Group + "front page"} {
		if !OfScript(name) || !Beyond(name) || Steady(name) || Operation(name) || OfAnswers(name) {
			t.Errorf("%s counts as an operation", name)
		}
	}
	for _, name := range []string{"GET /check", "checkout", "iteration"} {
		if OfScript(name) || Beyond(name) || !Steady(name) || !Operation(name) {
			t.Errorf("%s counts as no operation", name)
		}
	}
}

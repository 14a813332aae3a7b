package verdict

import "testing"

// TestAsManyFailedRunsAreTheSame calls equal counts the same, also of other numbers of runs,
// because blocks are run again; not where the shares differ clearly, nor where there are too few
// runs, or none that did not fail. No runs at all indicate nothing.
func TestAsManyFailedRunsAreTheSame(t *testing.T) {
	for _, tt := range []struct {
		base, fresh Attempts
		kind        Kind
		indicative  bool
	}{
		{Attempts{Runs: 8, Failed: 1}, Attempts{Runs: 8, Failed: 1}, Same, false},
		{Attempts{Runs: 9, Failed: 1}, Attempts{Runs: 8, Failed: 1}, Same, false},
		{Attempts{Runs: 8, Failed: 1}, Attempts{Runs: 9, Failed: 1}, Same, false},
		{Attempts{Runs: 8, Failed: 0}, Attempts{Runs: 8, Failed: 1}, Inconclusive, false},
		{Attempts{Runs: 100, Failed: 2}, Attempts{Runs: 2, Failed: 2}, Worse, false},
		{Attempts{Runs: 5, Failed: 1}, Attempts{Runs: 5, Failed: 1}, Inconclusive, true},
		{Attempts{Runs: 1, Failed: 1}, Attempts{Runs: 1, Failed: 1}, Inconclusive, true},
		{Attempts{Runs: 4, Failed: 0}, Attempts{Runs: 4, Failed: 1}, Inconclusive, true},
		{Attempts{Runs: 8, Failed: 8}, Attempts{Runs: 8, Failed: 8}, Inconclusive, false},
		{Attempts{Runs: 8, Failed: 8}, Attempts{Runs: 9, Failed: 8}, Inconclusive, false},
		{Attempts{}, Attempts{}, Inconclusive, false},
		{Attempts{}, Attempts{Runs: 1, Failed: 1}, Inconclusive, false},
	} {
		if r := JudgeFailed(tt.base, tt.fresh, Fixed(8)); r.Kind != tt.kind ||
			r.Indicative != tt.indicative {
			t.Errorf(
				"%d of %d against %d of %d: %s, indicative %v; want %s, %v",
				tt.fresh.Failed,
				tt.fresh.Runs,
				tt.base.Failed,
				tt.base.Runs,
				r.Kind,
				r.Indicative,
				tt.kind,
				tt.indicative,
			)
		}
	}
}

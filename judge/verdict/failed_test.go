package verdict

import "testing"

// TestAsManyFailedRunsAreTheSame calls equal counts the same, also of other numbers of runs, because blocks are run
// again; not where the shares differ clearly.
func TestAsManyFailedRunsAreTheSame(t *testing.T) {
	for _, tt := range []struct {
		base, fresh Attempts
		kind        Kind
	}{
		{Attempts{Runs: 8, Failed: 1}, Attempts{Runs: 8, Failed: 1}, Same},
		{Attempts{Runs: 9, Failed: 1}, Attempts{Runs: 8, Failed: 1}, Same},
		{Attempts{Runs: 8, Failed: 1}, Attempts{Runs: 9, Failed: 1}, Same},
		{Attempts{Runs: 8, Failed: 0}, Attempts{Runs: 8, Failed: 1}, Inconclusive},
		{Attempts{Runs: 100, Failed: 2}, Attempts{Runs: 2, Failed: 2}, Worse},
	} {
		if r := JudgeFailed(tt.base, tt.fresh, Fixed(8)); r.Kind != tt.kind {
			t.Errorf("%d of %d against %d of %d: %s, want %s", tt.fresh.Failed, tt.fresh.Runs, tt.base.Failed, tt.base.Runs, r.Kind, tt.kind)
		}
	}
}

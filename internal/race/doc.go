// Package race reports to tests whether the race detector is on. The detector slows a program five
// to ten times, takes several times the memory, makes further allocations, and drops a part of the
// values put into a [sync.Pool]: budgets of memory and allocations do not hold under it. Only tests
// import this package.
package race

// A Test is a *testing.T or *testing.B.
type Test interface {
	Helper()
	Skip(args ...any)
}

// SkipBudget skips a test of a budget of memory or allocations under the race detector. The test
// runs without it in the same CI.
func SkipBudget(t Test) {
	t.Helper()
	if Enabled {
		t.Skip("a budget of memory or allocations: the race detector makes allocations of its own")
	}
}

// Package require has the names that helpers for tests in Prometheus's package tsdb mention of
// testify. Each fails the test that calls it.
package require

// TestingT is a test.
type TestingT interface {
	Errorf(format string, args ...any)
	FailNow()
}

// Fail fails the test.
func Fail(t TestingT, _ string, _ ...any) {
	t.Errorf("built without testify")
	t.FailNow()
}

// Equal fails the test.
func Equal(t TestingT, _, _ any, _ ...any) { Fail(t, "") }

// Len fails the test.
func Len(t TestingT, _ any, _ int, _ ...any) { Fail(t, "") }

// True fails the test.
func True(t TestingT, _ bool, _ ...any) { Fail(t, "") }

// NoError fails the test.
func NoError(t TestingT, _ error, _ ...any) { Fail(t, "") }

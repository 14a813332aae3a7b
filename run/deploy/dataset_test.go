package deploy

import (
	"strings"
	"testing"
)

// A kept dump is found again with the same password of its users alone, and its name does not hold
// it.
func TestDumpsOfPasswords(t *testing.T) {
	a, b := ofPassword("correct horse"), ofPassword("battery staple")
	if ofPassword("") != "" || a == b || a != ofPassword("correct horse") ||
		strings.Contains(a, "horse") ||
		len(a) != 5 {
		t.Errorf("%q, %q", a, b)
	}
}

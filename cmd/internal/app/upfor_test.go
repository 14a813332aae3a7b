package app

import (
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/run/session"
)

// A system that stands by itself is made for the users of its plan's test, also when that is a
// ladder alone.
func TestUpForEachTest(t *testing.T) {
	const start = "name: up\ntarget: {driver: refnull}\nworkload: {behavior: poster}\n"
	for _, tt := range []struct {
		tests string
		users int
	}{
		{"bounded: {users: 7}\nunbounded: {max_users: 50}\nsizing: {steps: [3, 9]}\n", 7},
		{"unbounded: {max_users: 50}\n", 50},
		{"unbounded: {max_users: 50}\nsizing: {hold: 1s}\n", 50},
		{"sizing: {steps: [3, 9]}\n", 9},
		{"sizing: {steps: [3, 9]}\ncompare: {arms: {base: {}, new: {}}}\n", 9},
	} {
		p, err := new(App).Known().Parse([]byte(start + tt.tests))
		failure.None(t, err)
		p, pt := new(App).Program().UpFor(p)
		if p, err = new(App).Program().Narrow(p, &pt, 0); err != nil {
			t.Errorf("%s: %v", tt.tests, err)
			continue
		}
		if got := (&session.Session{Plan: p}).Users(pt); got != tt.users {
			t.Errorf("%s: made for %d users, want %d", tt.tests, got, tt.users)
		}
	}
}

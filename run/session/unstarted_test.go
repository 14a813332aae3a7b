package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/deploy"
	"plimsoll/target"
)

// A configuration that cannot be provisioned fails each run of its arm, with the server's log, and
// ends no comparison. That of the base does.
func TestArmThatCannotBeProvisionedFails(t *testing.T) {
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := parsed(
		t,
		"name: n\ntarget: {driver: process, binary: /bin/true}\nworkload: {behavior: poster}\nbounded: {users: 5}\ncompare: {arms: {base: {}, new: {}}}\n",
	)
	s := &Session{
		Program:  &Program{Args: []string{"compare"}},
		Plan:     p,
		Store:    st,
		Progress: silent(),
	}
	const log = "/state/new/app-0.log"
	cause := fmt.Errorf(
		"deploying new: %w: %w (log of the server: %s)",
		target.ErrProvision,
		errors.New("the pool is full"),
		log,
	)
	sys := &deploy.System{Deployment: deploy.Unprovisioned{
		Spec:  target.Spec{Name: "new", Driver: "process"},
		Cause: cause,
	}}
	for i := range 2 * mostUnstarted {
		r, _, err := s.Trial(t.Context(), sys, RunPart{Arm: "new", Comparison: "c", Bounded: true})
		if err != nil {
			t.Fatalf("run %d: %v", i+1, err)
		}
		f := r.Validity.Findings
		if r.Validity.Valid || len(f) != 1 || f[0].Gate != record.StartGate ||
			record.CauseOf(r.Validity) != record.ByTarget ||
			!strings.HasPrefix(f[0].Text, "the target could not be provisioned: ") ||
			!strings.Contains(f[0].Text, log) {
			t.Fatalf("run %d: %+v", i+1, r.Validity)
		}
	}
}

// Blocks of a duet are in a row only if no run of them started.
func TestUnstartedInARow(t *testing.T) {
	for _, tt := range []struct{ before, a, b, want int }{{0, 0, 0, 0}, {0, 1, 0, 0}, {2, 3, 0, 0}, {2, 3, 3, 3}} {
		if got := inARow(tt.before, []*Session{{starts: tt.a}, {starts: tt.b}}); got != tt.want {
			t.Errorf("%d before, then %d and %d: %d, want %d", tt.before, tt.a, tt.b, got, tt.want)
		}
	}
}

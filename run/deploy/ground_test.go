package deploy

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/target"
	"plimsoll/target/external"
)

// Rows of failures are counted for each arm and for all: an arm that never comes up ends a
// comparison, also if the other always does.
func TestRowsOfFailures(t *testing.T) {
	arm, _ := arms(t)
	base := arm("base")
	fresh := arm("new")
	other := arm("base mysql")
	failed := errors.New("install: exit status 1")
	fresh.Failed(failed)
	base.Succeeded()
	if n := fresh.Failed(failed).InARow; n != 2 {
		t.Errorf("the second failure of new is number %d of its row", n)
	}
	fresh.Succeeded()
	if n := fresh.Failed(failed).InARow; n != 1 {
		t.Errorf("after a success the failure is number %d of its row", n)
	}
	base.Failed(failed)
	if n := other.Failed(failed).InARow; n != 3 {
		t.Errorf("the third failure of all is number %d", n)
	}
}

// The objects of the first run are taken from its description when a comparison goes on.
func TestFirstIsRecalled(t *testing.T) {
	found := map[string]int64{"users": 40, "channels": 12, "posts": 0}
	f := New(Config{})
	f.Recall("", target.Description{})
	if f.ground.first[""] != nil {
		t.Errorf("of a state that was not checked: %v", f.ground.first[""])
	}
	f.Recall("", target.Description{Objects: found})
	f.Recall("", target.Description{Objects: map[string]int64{"users": 1}})
	if !maps.Equal(f.ground.first[""], found) {
		t.Errorf("the first run found %v, want %v", f.ground.first[""], found)
	}
}

// arms makes the arms of one server that commands prepare.
func arms(t *testing.T) (arm func(name string, reset ...string) *Installation, shared *ground) {
	t.Helper()
	url, shared := answering(t), newGround()
	return func(name string, reset ...string) *Installation {
		dep := deployed(t, target.Spec{Name: name, URL: url, ResetCmd: reset})
		return &Installation{Site: dep, key: name, ground: shared}
	}, shared
}

// A target that does not start from the state that a failed reset left is not its arm's failure,
// whichever arm the reset was made for. Without a reset in the plan it is.
func TestStartAfterABrokenReset(t *testing.T) {
	works := filepath.Join(t.TempDir(), "works")
	arm, shared := arms(t)
	base := arm("base", "/usr/bin/test", "-e", works)
	fresh := arm("new", "/usr/bin/test", "-e", works)
	unready := fmt.Errorf("after its install: %w", target.ErrStart)
	if got := fresh.Failed(unready).OfArm; got {
		t.Error("before any reset")
	}
	if err := os.WriteFile(works, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := base.reset(t.Context(), external.Turn{}); err != nil {
		t.Fatal(err)
	}
	if got := fresh.Failed(unready).OfArm; !got {
		t.Error("after a good reset")
	}
	if err := os.Remove(works); err != nil {
		t.Fatal(err)
	}
	if err := base.reset(t.Context(), external.Turn{}); err == nil || base.Failed(err).OfArm {
		t.Errorf("a reset that fails: %v", err)
	}
	if got := fresh.Failed(unready).OfArm; got {
		t.Error("after a failed reset")
	}
	if got := arm("new").Failed(unready).OfArm; got {
		t.Error("without a reset, after the failure of base")
	}
	delete(shared.broken, base.where()) // as prepare does
	if got := arm("new").Failed(unready).OfArm; !got {
		t.Error("without a reset")
	}
}

// After a broken start of one arm, the other one is not charged with what that may have left, until
// a reset has put the state back, or without a reset the target has started. The arm that broke it
// is.
func TestStartAfterABrokenStartOfTheOtherArm(t *testing.T) {
	unready := fmt.Errorf("after its install: %w", target.ErrStart)
	for _, command := range [][]string{{"/usr/bin/true"}, nil} {
		arm, shared := arms(t)
		base, fresh := arm("base", command...), arm("new", command...)
		inOrder := func(c *Installation) {
			t.Helper()
			if !c.Resets() {
				delete(shared.broken, c.where()) // as prepare does
			} else if err := c.reset(t.Context(), external.Turn{}); err != nil {
				t.Fatal(err)
			}
		}
		inOrder(base)
		for i, tt := range []struct {
			arm   *Installation
			cause error
			ofArm bool
		}{
			{fresh, unready, true},
			{base, unready, false},
			{base, unready, false},  // a second time, too
			{fresh, unready, false}, // what base left may keep it from starting
			{nil, nil, false},
			{base, unready, true},
			{base, unready, true}, // nobody else was there
			{nil, nil, false},
			{fresh, errors.New("install: exit status 1"), false}, // a command that broke off
			{base, unready, false},
		} {
			if tt.arm == nil {
				inOrder(base)
				continue
			}
			if got := tt.arm.Failed(tt.cause).OfArm; got != tt.ofArm {
				t.Errorf(
					"reset %q, step %d: the failure of %s is its own: %t",
					command,
					i,
					tt.arm.key,
					got,
				)
			}
		}
	}
}

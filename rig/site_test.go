package rig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/record"
	"plimsoll/target"
	"plimsoll/target/external"
)

func TestReleases(t *testing.T) {
	tests := []struct {
		want, has string
		is        bool
	}{
		{"11.0", "11.0.4", true},
		{"11.0", "11.1.0", false},
		{"11.1", "11.10.0", false},
		{"v11.0.4", "11.0.4", true},
		{"11.0.4", "11.0", false},
		{"11.1-rc2", "11.1.0-rc2", true},
		{"11.1-rc2", "11.1.0-rc1", false},
		{"11.1-rc2", "11.1.0", false},
		{"11.1", "11.1.0-rc2", false},
		{"11", "11.1.0", false},
		{"main", "main", true},
		{"main", "dev", false},
		{"4f2a91c", "4f2a91c0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true},
		{"4f2a91", "4f2a91c0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
		{"", "11.0.0", false},
	}
	for _, tt := range tests {
		if got := isRelease(tt.want, tt.has); got != tt.is {
			t.Errorf("isRelease(%q, %q) = %v", tt.want, tt.has, got)
		}
	}
	if got := named("11.1-rc2", []string{"11.1.0", "11.1.0-rc2"}); got != "11.1.0-rc2" {
		t.Errorf("named %q", got)
	}
	for want, early := range map[string]string{"11.1": "11.1.0-rc2", "v11.1.0": "11.1.0-rc2", "11.1-rc2": "", "11.1.0-rc2": "", "11.0": ""} {
		if got := candidate(want, []string{"11.1.0", "11.1.0-rc2"}); got != early {
			t.Errorf("the candidate of %s is %q, want %q", want, got, early)
		}
	}
	if got := candidate("11.1", []string{"11.1.0", "11.1.0-fips", "dev"}); got != "" {
		t.Errorf("%q is a candidate", got)
	}
	if got := named("11.2", []string{"11.1.0", "11.1.0-rc2"}); got != "11.1.0" {
		t.Errorf("named %q", got)
	}
}

// Rows of failures are counted for each arm and for all: an arm that never comes up ends a comparison, also if the
// other always does.
func TestRowsOfFailures(t *testing.T) {
	g := newGrounds()
	g.fail("new")
	g.succeed("base")
	if n := g.fail("new"); n != 2 {
		t.Errorf("the second failure of new is number %d of its row", n)
	}
	g.succeed("new")
	if n := g.fail("new"); n != 1 {
		t.Errorf("after a success the failure is number %d of its row", n)
	}
	g.fail("base")
	if n := g.fail("base mysql"); n != 3 {
		t.Errorf("the third failure of all is number %d", n)
	}
}

// What the first run found is read back from its description when a comparison goes on.
func TestFirstIsRecalled(t *testing.T) {
	found := map[string]int64{"users": 40, "channels": 12, "posts": 0}
	g := newGrounds()
	g.recallFirst("", target.Description{Settings: map[string]string{stateFact: "not checked"}})
	if g.first[""] != nil {
		t.Errorf("of a state that was not checked: %v", g.first[""])
	}
	g.recallFirst("", target.Description{Settings: map[string]string{stateFact: objectsText(found)}})
	g.recallFirst("", target.Description{Settings: map[string]string{stateFact: "1 users, 1 channels, 1 posts"}})
	if !maps.Equal(g.first[""], found) {
		t.Errorf("the first run found %v, want %v", g.first[""], found)
	}
}

func TestExcerptOfALongOutput(t *testing.T) {
	e := new(excerpt)
	for range 3 {
		if _, err := e.Write(bytes.Repeat([]byte("x"), mostCommandLog/2)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Write([]byte("the end")); err != nil {
		t.Fatal(err)
	}
	got := string(e.bytes())
	if len(got) > mostCommandLog+100 || !strings.HasSuffix(got, "the end") || !strings.Contains(got, "# 2097159 bytes are left out here") {
		t.Errorf("%d bytes, which end %q", len(got), got[len(got)-20:])
	}
}

// arms makes the arms of one server that commands prepare.
func arms(t *testing.T) (arm func(name string, reset ...string) *commanded, shared *grounds) {
	t.Helper()
	url, shared := answering(t), newGrounds()
	return func(name string, reset ...string) *commanded {
		dep := deployed(t, target.Spec{Name: name, URL: url, ResetCmd: reset})
		return &commanded{Site: dep, key: name, grounds: shared}
	}, shared
}

// A target that does not start from the state that a failed reset left is not its arm's failure, whichever arm the reset
// was made for. Without a reset in the plan it is.
func TestStartAfterABrokenReset(t *testing.T) {
	works := filepath.Join(t.TempDir(), "works")
	arm, shared := arms(t)
	base, fresh := arm("base", "/usr/bin/test", "-e", works), arm("new", "/usr/bin/test", "-e", works)
	unready := fmt.Errorf("after its install: %w", target.ErrStart)
	if got := fresh.gate(unready); got != record.DeployGate {
		t.Errorf("before any reset: %s", got)
	}
	if err := os.WriteFile(works, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := base.reset(t.Context(), external.Turn{}); err != nil {
		t.Fatal(err)
	}
	if got := fresh.gate(unready); got != record.StartGate {
		t.Errorf("after a good reset: %s", got)
	}
	if err := os.Remove(works); err != nil {
		t.Fatal(err)
	}
	if err := base.reset(t.Context(), external.Turn{}); err == nil || base.gate(err) != record.DeployGate {
		t.Errorf("a reset that fails: %v", err)
	}
	if got := fresh.gate(unready); got != record.DeployGate {
		t.Errorf("after a failed reset: %s", got)
	}
	if got := arm("new").gate(unready); got != record.DeployGate {
		t.Errorf("without a reset, after the failure of base: %s", got)
	}
	delete(shared.broken, base.where()) // as prepare does
	if got := arm("new").gate(unready); got != record.StartGate {
		t.Errorf("without a reset: %s", got)
	}
}

// After a broken start of one arm, the other one is not charged with what that may have left, until a reset has put the
// state back, or without a reset the target has started. The arm that broke it is.
func TestStartAfterABrokenStartOfTheOtherArm(t *testing.T) {
	unready := fmt.Errorf("after its install: %w", target.ErrStart)
	for _, command := range [][]string{{"/usr/bin/true"}, nil} {
		arm, shared := arms(t)
		base, fresh := arm("base", command...), arm("new", command...)
		inOrder := func(c *commanded) {
			t.Helper()
			if !c.Resets() {
				delete(shared.broken, c.where()) // as prepare does
			} else if err := c.reset(t.Context(), external.Turn{}); err != nil {
				t.Fatal(err)
			}
		}
		inOrder(base)
		for i, tt := range []struct {
			arm   *commanded
			cause error
			want  string
		}{
			{fresh, unready, record.StartGate},
			{base, unready, record.DeployGate},
			{base, unready, record.DeployGate},  // a second time, too
			{fresh, unready, record.DeployGate}, // what base left may keep it from starting
			{nil, nil, ""},
			{base, unready, record.StartGate},
			{base, unready, record.StartGate}, // nobody else was there
			{nil, nil, ""},
			{fresh, errors.New("install: exit status 1"), record.DeployGate}, // a command that broke off
			{base, unready, record.DeployGate},
		} {
			if tt.arm == nil {
				inOrder(base)
				continue
			}
			if got := tt.arm.gate(tt.cause); got != tt.want {
				t.Errorf("reset %q, step %d: the failure of %s is by %s, want %s", command, i, tt.arm.key, got, tt.want)
			}
		}
	}
}

package users

import (
	"strings"
	"testing"

	"plimsoll/internal/plain"
	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// TestExceptions: the first one is kept, whichever process logged it.
func TestExceptions(t *testing.T) {
	t.Parallel()
	var e Exceptions
	for _, line := range []string{"login: refused", "agent 2, user 7: " + workload.Exception("read", "a.js:3: boom"),
		workload.Exception("write", "a.js:4: bang")} {
		e.Note(line)
	}
	if got := e.First(); got != "read: a.js:3: boom" {
		t.Errorf("the first is %q", got)
	}
}

// setupDone is a behavior with the result of a setup.
type setupDone struct {
	workload.Behavior
	result string
}

func (p setupDone) Setup() []byte { return []byte(p.result) }

// TestScriptOf: a manifest has the result of a setup without secrets, and not more than it holds.
func TestScriptOf(t *testing.T) {
	t.Parallel()
	var hidden plain.Secrets
	hidden.Add("correct-horse-battery")
	p := &plan.Plan{Workload: plan.Workload{Script: "a.js", ScriptDigest: "sha256:1"}}
	of := func(result string) []engine.Part {
		return []engine.Part{{Name: "other"}, {Name: "script", Behavior: setupDone{result: result}}}
	}
	got := ScriptOf(p, of(`{"rooms":["a",1],"users":[{"name":"x","authToken":"t0k"}],"via":"correct-horse-battery"}`), &hidden)
	if got.Digest != "sha256:1" || strings.Contains(got.Setup, "t0k") || strings.Contains(got.Setup, "horse") ||
		!strings.Contains(got.Setup, `"rooms":["a",1]`) || !strings.Contains(got.Setup, `"authToken":"***"`) {
		t.Errorf("got %+v", got)
	}
	if got := ScriptOf(p, of(`"`+strings.Repeat("é", 60<<10)+`"`), &hidden); len(got.Setup) > mostSetup || got.SetupBytes != 120<<10+2 {
		t.Errorf("%d of %d bytes", len(got.Setup), got.SetupBytes)
	}
	if got := ScriptOf(p, of(""), &hidden); got.Setup != "" {
		t.Errorf("without a result: %+v", got)
	}
	if got := ScriptOf(new(plan.Plan), of("1"), &hidden); got != nil {
		t.Errorf("without a script: %+v", got)
	}
}

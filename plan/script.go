package plan

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
)

// Script is the behavior of users that do what a script says; see [Workload].
const Script = "script"

// ScriptPath returns the path of the plan's script for this process; empty without one.
func (w Workload) ScriptPath() string { return cmp.Or(w.ScriptAt, w.Script) }

// WithScriptAt returns a copy of the plan whose script is at another path for this process, and has
// this digest unless that is empty, as [Plan.WithUsersAt] does for the accounts.
func (p *Plan) WithScriptAt(path, digest string) *Plan {
	q := *p
	q.Workload.ScriptAt = path
	q.Workload.ScriptDigest = cmp.Or(q.Workload.ScriptDigest, digest)
	return &q
}

// WithBundle returns a copy of the plan with its script bundled.
func (p *Plan) WithBundle(text []byte) *Plan {
	q := *p
	q.Workload.Bundle = text
	return &q
}

// Scripted reports whether some users follow a script, whose operations have names of its own.
func (w Workload) Scripted() bool { return w.Script != "" }

// HasTest reports whether the plan has a test. One with a script may lack it: the script's options
// are the test then.
func (p *Plan) HasTest() bool { return p.Bounded != nil || p.Unbounded != nil || p.Sizing != nil }

// ScriptEndings are the endings of the names of scripts.
var ScriptEndings = []string{".js", ".mjs", ".ts", ".mts"}

var scriptFile = text.checked(func(s string) error {
	switch {
	case hasReference(s):
		return errors.New("holds a reference; want the path itself, which is no secret")
	case !slices.Contains(ScriptEndings, filepath.Ext(s)):
		return errors.New(clip(s) + " is no script; want the path of a file that ends in .js or .ts")
	}
	return nil
})

// fillScript sets the behavior that a script alone implies.
func (d *decoder) fillScript(w *Workload) {
	if w.Script != "" {
		fill(d, "workload.behavior", &w.Behavior, Script)
	}
}

// checkScript checks the settings beside a script; the script itself is not read here.
func (d *decoder) checkScript(w Workload, k Known) {
	const path, digest, behavior = "workload.script", "workload.script_digest", "workload.behavior"
	if w.Behavior == "" && !d.given(behavior) && d.good(path) {
		d.note(d.place(behavior), behavior, "is missing; write it")
	}
	if d.given(digest) && w.Script == "" && d.good(digest, path) {
		d.at(digest, "has no effect without script; remove it, or name the file")
	}
	_, runs := w.Mix()[Script]
	switch {
	case !d.good("workload"):
	case runs && w.Script == "" && slices.Contains(k.Behaviors, Script):
		at := behavior
		if w.Behavior != Script {
			at = "workload.with." + Script
		}
		d.at(at, "%s does what a script says; name its file, as in script: chat.js", Script)
	case !runs && w.Script != "":
		d.at(path, "no users follow it beside %s; write with: {%s: 10%%}, or leave out behavior",
			slices.Sorted(maps.Keys(w.Mix()))[0], Script)
	}
}

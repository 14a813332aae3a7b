package plan

import (
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// TestScript: a script alone is the behavior; its digest is of the content, wherever the file is
// for this process; and a plan may leave its test to the script.
func TestScript(t *testing.T) {
	t.Parallel()
	const head = "name: n\ntarget: {driver: external, url: http://a}\n"
	known := Known{Behaviors: []string{"b", Script}}
	p, err := known.Parse([]byte(head + "workload: {script: ../chat.ts}\n"))
	failure.None(t, err)
	if p.Workload.Behavior != Script || p.Workload.Share != 1 || p.HasTest() {
		t.Errorf("of a script alone: %+v", p.Workload)
	}
	sum := "sha256:" + strings.Repeat("0a", 32)
	q, r := p.WithScriptAt("/data/chat.ts", sum), p.WithScriptAt("/else/chat.ts", sum)
	again, err := known.Parse([]byte(q.String()))
	if err != nil || again.Workload.ScriptDigest != sum || again.Digest() != q.Digest() ||
		again.Workload.ScriptPath() != "../chat.ts" || q.Workload.ScriptPath() != "/data/chat.ts" {
		t.Errorf("with a place: %v\n%s", err, q)
	}
	other := p.WithScriptAt("/data/chat.ts", strings.Replace(sum, "0a", "0b", 1))
	if q.Digest() != r.Digest() || q.Digest() == other.Digest() {
		t.Error("the digest depends on the directory, or not on the content")
	}
	if q.WithoutFiles().String() == other.WithoutFiles().String() {
		t.Error("without paths, two scripts are the same")
	}
	const tests = "bounded: {users: 3}\n"
	for _, tt := range []struct{ name, workload, tests, want string }{
		{"beside another", "{behavior: b, with: {script: 10%}, script: a.js}", tests, ""},
		{"most", "{behavior: script, share: 90%, with: {b: 10%}, script: a.mjs}", tests, ""},
		{"neither", "{pace: 1}", tests, "3:11: workload.behavior: is missing; write it"},
		{"no script", "{behavior: script}", tests,
			"workload.behavior: script does what a script says; name its file, as in script: chat.js"},
		{"no script beside", "{behavior: b, with: {script: 10%}}", tests, "workload.with.script: script does"},
		{"nobody", "{behavior: b, script: a.js}", tests,
			"workload.script: no users follow it beside b; write with: {script: 10%}"},
		{"another file", "{script: a.yaml}", tests, `"a.yaml" is no script; want the path of a file that ends in .js or .ts`},
		{"a secret", "{script: \"${FILE:a}.js\"}", tests, "holds a reference"},
		{"only a digest", "{behavior: b, script_digest: \"" + sum + "\"}", tests, "workload.script_digest: has no effect"},
		{"a bad digest", "{script: a.js, script_digest: x}", tests, `"x" is no digest`},
		{"no test", "{behavior: b}", "", "has neither bounded nor unbounded nor sizing"},
		{"a comparison without a test", "{script: a.js}", "compare: {arms: {base: {}, new: {}}}\n",
			"has neither bounded nor unbounded nor sizing"},
	} {
		_, err := known.Parse([]byte(head + "workload: " + tt.workload + "\n" + tt.tests))
		failure.Want(t, err, tt.want)
	}
}

package verbs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/rig"
)

// TestPlanCheckPrintsTheMode prints how a comparison is carried out, and why.
func TestPlanCheckPrintsTheMode(t *testing.T) {
	const ours = "name: n\ntarget: {driver: refchat}\nworkload: {behavior: poster}\nbounded: {users: 5}\n"
	external := strings.Replace(ours, "driver: refchat", `driver: external, url: "http://127.0.0.1:1"`, 1)
	const arms = "compare: {arms: {base: {}, new: {}}}\n"
	for _, tt := range []struct{ text, mode, why string }{
		{ours, "", ""},
		{external + arms, "sequence", "the driver external starts nothing that could be paused"},
		{ours + strings.Replace(arms, "}}}", "}}, mode: sequence}", 1), "sequence", "compare.mode is sequence"},
		{ours + strings.Replace(arms, "}}}", "}}, mode: duet}", 1), "duet", "compare.mode is duet"},
		{ours + arms, "duet", "all arms are started on this host and can be paused"},
	} {
		check := func(args ...string) string {
			var out, errs bytes.Buffer
			a := &app{stdin: strings.NewReader(tt.text), stdout: &out, stderr: &errs, env: func(string) string { return "" }}
			if status := a.run(t.Context(), append([]string{"plan"}, args...)); status != rig.ExitOK {
				t.Fatalf("status %d: %s", status, &errs)
			}
			return out.String()
		}
		text := check("check", "-")
		if line := "\n  compare.mode: " + tt.mode + " (" + tt.why + ")\n"; tt.mode != "" && !strings.Contains(text, line) || tt.mode == "" && strings.Contains(text, "compare.mode") {
			t.Errorf("got %s, want %s", text, line)
		}
		var out struct {
			Mode string `json:"mode"`
			Why  string `json:"mode_why"`
		}
		if err := json.Unmarshal([]byte(check("-json", "check", "-")), &out); err != nil || out.Mode != tt.mode || out.Why != tt.why {
			t.Errorf("as JSON: %+v, %v; want %s (%s)", out, err, tt.mode, tt.why)
		}
	}
}

// TestPlanCheckRefusesTwoTests says of a comparison of two tests that are not combined what compare itself would.
func TestPlanCheckRefusesTwoTests(t *testing.T) {
	const two = "name: n\ntarget: {driver: refchat}\nworkload: {behavior: poster}\nbounded: {users: 5}\nunbounded: {max_users: 50}\n"
	for _, tt := range []struct {
		compare string
		refused bool
	}{
		{"compare: {arms: {base: {}, new: {}}}\n", true},
		{"compare: {arms: {base: {}, new: {}}, combine: true}\n", false},
	} {
		var out, errs bytes.Buffer
		a := &app{stdin: strings.NewReader(two + tt.compare), stdout: &out, stderr: &errs, env: func(string) string { return "" }}
		if status := a.run(t.Context(), []string{"plan", "check", "-"}); status != rig.ExitOK {
			t.Fatalf("status %d: %s", status, &errs)
		}
		if got := strings.Contains(out.String(), "it cannot be compared here: "); got != tt.refused || got != strings.Contains(out.String(), "set compare.combine") {
			t.Errorf("%s: %s", tt.compare, &out)
		}
	}
	examples, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, name := range examples {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// A file of another kind beside the plans is no plan, and other tests read those that are.
		if p, err := known().Parse(src); err == nil && p.Uncombined() != "" {
			t.Errorf("%s: %s", name, p.Uncombined())
		}
	}
}

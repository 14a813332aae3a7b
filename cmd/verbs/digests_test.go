package verbs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/store"
)

// everyReading are the verbs that read a stored comparison.
func everyReading(id string) [][]string {
	return [][]string{{"report", id}, {"report", "-print", "markdown", id}, {"judge", id}, {"report", "trend", id}, {"compare", "-resume", id}}
}

// A margin of 0.1pp that was changed to 99pp changed the verdict without a word.
func TestAlteredComparisonIsRefused(t *testing.T) {
	root := t.TempDir()
	st, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	path := filepath.Join(st.ComparisonDir(id), "comparison.json")
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	swap := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte {
			at := regexp.MustCompile(old).FindIndex(b)
			return slices.Concat(b[:at[0]], []byte(new), b[at[1]:])
		}
	}
	for _, tt := range []struct {
		name, member string
		alter        func([]byte) []byte
	}{
		{"a margin", "plan", swap(`errors: [0-9.]+pp`, "errors: 99pp")},
		{"the plan's digest", "plan_digest", swap(`"plan_digest": "sha256:.`, `"plan_digest": "sha256:x`)},
		{"blocks", "blocks", swap(`"blocks": 2`, `"blocks": 6`)},
		{"a run taken out", "runs", swap(`"valid": true`, `"valid": true, "dropped": true`)},
		{"looks that nobody planned", "looks", swap(`"blocks": 2,`, `"blocks": 2, "looks": [{"blocks": 2, "alpha": 0.2}],`)},
		{"the state", "state", swap(`"state": "sealed"`, `"state": "running"`)},
		{"a member of another case", "Plan", swap(`"plan_digest"`, `"Plan": "name: other\n", "plan_digest"`)},
		{"a member taken away", "ended", swap(`"ended": "[^"]*",`, "")},
		{"a member with its digest", "*", func(b []byte) []byte { return regexp.MustCompile(`"ended": "[^"]*",`).ReplaceAll(b, nil) }},
		{"no digests at all", "comparison.json has lost the digests", swap(`(?s),\s*"digests": \{.*?\}`, "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := tt.alter(bytes.Clone(was))
			if bytes.Equal(bad, was) {
				t.Fatal("nothing was altered")
			}
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			readings := everyReading(id)
			if strings.Contains(tt.member, "lost") {
				readings = readings[:4] // the comparison is complete, and that is found first
			}
			for _, args := range readings {
				status, out, errOut := inStore(t, root, args...)
				if status != rig.ExitUsage || out != "" || !strings.Contains(errOut, id) || !strings.Contains(errOut, tt.member) || !strings.Contains(errOut, "as it was, or") {
					t.Errorf("%s: status %d, want %d and %q with a remedy\n%s%s", args, status, rig.ExitUsage, tt.member, out, errOut)
				}
			}
			if _, _, errOut := inStore(t, root, "ls"); !strings.Contains(tt.member, "lost") && !strings.Contains(errOut, path+" is not what it was: "+tt.member) {
				t.Errorf("ls: %q", errOut)
			}
		})
	}
	if err := os.WriteFile(path, was, 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, errOut := inStore(t, root, "judge", id); status == rig.ExitUsage || errOut != "" {
		t.Errorf("as it was: status %d, %q", status, errOut)
	}
}

// A changed margin with recomputed digests contradicts the sealed manifests of the runs.
func TestMarginThatNoRunWasMadeWithIsRefused(t *testing.T) {
	root := t.TempDir()
	st, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	c, err := st.Comparison(id)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse([]byte(c.Plan))
	if err != nil {
		t.Fatal(err)
	}
	m := p.Compare.Margin["errors"]
	m.Value = 0.09
	p.Compare.Margin["errors"] = m
	c.Plan, c.PlanDigest = p.String(), p.Digest()
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	for _, args := range everyReading(id)[:4] {
		status, _, errOut := inStore(t, root, args...)
		if status != rig.ExitUsage || !strings.Contains(errOut, "it was made by another plan") || !strings.Contains(errOut, "errors: 9pp") || !strings.Contains(errOut, "and it was") {
			t.Errorf("%s: status %d, %q", args, status, errOut)
		}
	}
}

// A comparison of an earlier version has no digests: it is read, and a warning names the unprotected data.
func TestComparisonWithoutDigestsIsReadWithAWarning(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putComparison(t, st, "old", versions("v1", "v2"), 6, 0.88)
	path := filepath.Join(st.ComparisonDir("old"), "comparison.json")
	strip := func() {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(b, &members); err != nil {
			t.Fatal(err)
		}
		delete(members, "digests")
		if err := record.WriteJSON(path, members); err != nil {
			t.Fatal(err)
		}
	}
	strip()
	for range 2 { // the report does not give it digests, as if nothing could have happened before
		for _, args := range [][]string{{"report", "old"}, {"judge", "old"}, {"report", "trend", "old"}} {
			status, _, errOut := inStore(t, root, args...)
			if status == rig.ExitUsage || status == rig.ExitTool || !strings.Contains(errOut, "comparison old is of an earlier version and carries no digests") {
				t.Errorf("%s: status %d, %q", args, status, errOut)
			}
		}
	}
}

// listed matches a line of ls.
func listed(state, valid string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\S+ +\S+ \S+ +` + state + ` +` + valid + ` `)
}

// A run that was changed after it was sealed is never headed as sealed and valid.
func TestChangedRunIsNotHeadedValid(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse([]byte(keptPlan))
	if err != nil {
		t.Fatal(err)
	}
	r := keptRun(t, st, p, time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC), keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	id := r.Manifest.ID
	if status, out, errOut := inStore(t, root, "ls"); status != rig.ExitOK || errOut != "" || !listed("sealed", "yes").MatchString(out) {
		t.Fatalf("ls: status %d, %q\n%s", status, errOut, out)
	}
	for _, tt := range []struct {
		file  string
		alter func([]byte) []byte
	}{
		{record.ManifestFile, func(b []byte) []byte {
			return regexp.MustCompile(`"users": 7500`).ReplaceAll(b, []byte(`"users": 9900`))
		}},
		{record.WindowsFile, func(b []byte) []byte { return append(b, 0) }},
		{record.ValidityFile, func(b []byte) []byte { return append(b, '\n') }},
		{record.EventsFile, func(b []byte) []byte { return b[:len(b)-1] }},
		{"notes.txt", func([]byte) []byte { return []byte("mine") }},
	} {
		t.Run(tt.file, func(t *testing.T) {
			path := filepath.Join(r.Dir, tt.file)
			was, err := os.ReadFile(path)
			if err != nil && tt.file != "notes.txt" {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, tt.alter(bytes.Clone(was)), 0o644); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if was == nil {
					_ = os.Remove(path)
				} else if err := os.WriteFile(path, was, 0o644); err != nil {
					t.Error(err)
				}
			}()
			for range 2 { // the second time from the index
				_, out, errOut := inStore(t, root, "ls")
				if !listed("CHANGED", "no").MatchString(out) || strings.Contains(out, "sealed") || !strings.Contains(errOut, tt.file) {
					t.Errorf("ls: %q\n%s", errOut, out)
				}
			}
			if _, out, _ := inStore(t, root, "show", id); !strings.HasPrefix(out, "run "+id+": CHANGED since it was sealed, NOT VALID\n") || !strings.Contains(out, tt.file) {
				t.Errorf("show: %.200s", out)
			}
			if _, out, _ := inStore(t, root, "show", "-json", id); !strings.Contains(out, `"valid": false`) {
				t.Errorf("show -json: %.200s", out)
			}
			if status, _, errOut := inStore(t, root, "judge", "-base", id, "-new", id); status != rig.ExitUsage || !strings.Contains(errOut, "changed since") {
				t.Errorf("judge: status %d, %q", status, errOut)
			}
		})
	}
	if _, out, errOut := inStore(t, root, "ls"); !listed("sealed", "yes").MatchString(out) || errOut != "" {
		t.Errorf("as it was: %q\n%s", errOut, out)
	}
}

// A pilot decides nothing; one that was changed does not stop the report, and is not called valid in it.
func TestChangedPilotIsNotCalledValid(t *testing.T) {
	root := t.TempDir()
	st, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	c, err := st.Comparison(id)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := st.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Comparison == "" { // the run that the others are links to
			c.Runs = append([]record.ComparisonRun{{Run: e.ID, Arm: "base", Engine: "postgresql", Pilot: true, Valid: true}}, c.Runs...)
		}
	}
	if len(c.Runs) != 9 {
		t.Fatalf("%d runs", len(c.Runs))
	}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	pilot, err := st.Run(c.Runs[0].Run)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(pilot.Dir, record.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pilot.Dir, record.ManifestFile), bytes.ReplaceAll(b, []byte(`"users": 7500`), []byte(`"users": 9900`)), 0o644); err != nil {
		t.Fatal(err)
	}
	status, out, errOut := inStore(t, root, "report", "-print", "full", id)
	if status == rig.ExitUsage || status == rig.ExitTool || !strings.Contains(out, "changed since the run was sealed: manifest.json") {
		t.Errorf("status %d, %q, and the report does not name the change", status, errOut)
	}
}

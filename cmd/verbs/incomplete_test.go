package verbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/store"
)

// An incomplete comparison is never green: one that was killed or interrupted ends report and judge with 1, in all
// forms.
func TestIncompleteComparisonIsNotGreen(t *testing.T) {
	root := t.TempDir()
	st, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	c, err := st.Comparison(id)
	if err != nil {
		t.Fatal(err)
	}
	for state, want := range map[record.State]string{record.Running: "is under way, or was killed", record.Interrupted: "was interrupted: by hand"} {
		c.State, c.Why = state, "by hand"
		if err := st.SaveComparison(c); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"report", id}, {"report", "-print", "markdown", id}, {"judge", id}, {"judge", "-print", "junit", id}} {
			status, out, errOut := inStore(t, root, args...)
			if status != rig.ExitTool || !strings.Contains(out+errOut, want) {
				t.Errorf("%s, %s: status %d, want %d and %q\n%s%s", state, args, status, rig.ExitTool, want, out, errOut)
			}
			if args[0] == "judge" && strings.Contains(out, "<testsuites") && !strings.Contains(out, `name="complete"`) {
				t.Errorf("%s: JUnit says nothing of what is missing\n%s", state, out)
			}
		}
	}
}

// A comparison under way owns its files: no other process writes its record or its report.
func TestReportOfABusyComparison(t *testing.T) {
	root := t.TempDir()
	st, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	unlock, err := st.LockComparison(id)
	if err != nil {
		t.Fatal(err)
	}
	status, _, errOut := inStore(t, root, "report", id)
	if status != rig.ExitUsage || !strings.Contains(errOut, "is under way") || !strings.Contains(errOut, "-print markdown or -out DIR") {
		t.Errorf("status %d, %q", status, errOut)
	}
	texts := filepath.Join(t.TempDir(), "texts.yaml")
	if err := os.WriteFile(texts, []byte("comments: ours\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, errOut := inStore(t, root, "report", "-texts", texts, id); status != rig.ExitUsage || !strings.Contains(errOut, "is under way") {
		t.Errorf("-texts: status %d, %q", status, errOut)
	}
	if _, err := os.Stat(filepath.Join(st.ComparisonDir(id), "report.md")); err == nil {
		t.Error("-texts wrote a report beside a comparison under way")
	}
	unlock()
	if status, _, errOut := inStore(t, root, "report", id); status == rig.ExitUsage {
		t.Errorf("afterwards: status %d, %q", status, errOut)
	}
}

// A stored comparison is judged and reported by its plan, and not by flags for imported numbers; so is a stored
// sizing.
func TestStoredTakesNoFlagsOfGivenNumbers(t *testing.T) {
	root := t.TempDir()
	st, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	if err := st.SaveSizing(&record.Sizing{ID: "steps"}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"-margin=1%", "-better=lower", "-name=speed", "-unit=ms", "-arms=a,b", "-format=csv", "-databases=false"} {
		for _, stored := range [][]string{{"judge", id}, {"report", id}, {"report", "-print", "markdown", id}, {"report", "steps"}} {
			if stored[0] == "judge" && f == "-databases=false" {
				continue // which it takes
			}
			flag, _, _ := strings.Cut(f, "=")
			status, out, errOut := inStore(t, root, append([]string{stored[0], f}, stored[1:]...)...)
			if status != rig.ExitUsage || out != "" || !strings.Contains(errOut, flag+" applies to imported numbers only; ") || !strings.Contains(errOut, " by its own plan") {
				t.Errorf("%s %s: status %d, %q, %q", stored, f, status, out, errOut)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(st.ComparisonDir(id), "report.md")); err == nil {
		t.Error("a refused report was written")
	}
	if status, _, errOut := inStore(t, root, "judge", "-databases=false", id); status == rig.ExitUsage {
		t.Errorf("judge -databases=false: %q", errOut)
	}
}

// A trend takes the part of a comparison that is not complete, and reports that.
func TestTrendOfAnIncompleteComparison(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putComparison(t, st, "half", versions("v1", "v2"), 6, 0.88)
	c, err := st.Comparison("half")
	if err != nil {
		t.Fatal(err)
	}
	c.State, c.Why = record.Interrupted, "by hand"
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := inStore(t, root, "report", "trend", "half"); !strings.Contains(out, "comparison half is not complete (it was interrupted: by hand)") {
		t.Error(out)
	}
}

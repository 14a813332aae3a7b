package verbs

import (
	"strings"
	"testing"
	"time"

	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/store"
)

// The word last stands for what began last, wherever a run, comparison or sizing is named.
func TestLast(t *testing.T) {
	root := t.TempDir()
	if status, _, errs := inStore(t, root, "show", "last"); status != rig.ExitUsage || !strings.Contains(errs, "the last run: not in the store") {
		t.Errorf("an empty store: status %d, %q", status, errs)
	}
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putRun(t, st, storedRun{id: "20260102-000000-b", capacity: 1000, slower: 1})
	putRun(t, st, storedRun{id: "20260101-000000-a", capacity: 1000, slower: 1})
	if status, out, errs := inStore(t, root, "show", "last"); status != rig.ExitOK || !strings.HasPrefix(out, "run 20260102-000000-b: ") {
		t.Errorf("show: status %d, %q\n%s", status, errs, out)
	}
	if status, _, errs := inStore(t, root, "serve", "-prometheus", "last", "-listen", "nowhere"); !strings.Contains(errs, "20260102-000000-b") {
		t.Errorf("serve: status %d, %q", status, errs)
	}
	putComparison(t, st, "20260103-000000-c", versions("v1", "v2"), 6, 0.88)
	z := &record.Sizing{ID: "20260104-000000-d", Plan: "not a plan", Started: time.Unix(1, 0), State: record.Sealed}
	if err := st.SaveSizing(z); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := inStore(t, root, "report", "last"); !strings.Contains(errs, z.ID) {
		t.Errorf("report of the sizing: status %d, %q", status, errs)
	}
	for _, args := range [][]string{{"judge", "last"}, {"report", "trend", "last"}} {
		status, out, errs := inStore(t, root, args...)
		if status == rig.ExitUsage || status == rig.ExitTool || !strings.Contains(out, "v2") && args[0] == "report" {
			t.Errorf("%q: status %d, %q\n%s", args, status, errs, out)
		}
	}
}

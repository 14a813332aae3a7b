package verbs

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/run/record"
	"plimsoll/run/store"
)

// The pairs of a comparison by themselves never read same where the comparison did not: they have the number of
// failed runs, and the withheld verdicts.
func TestPairsKnowFailedRuns(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putComparison(t, st, "mine", storedPlan, 6, 1)
	kinds := func(t *testing.T, args ...string) map[string]verdict.Kind {
		t.Helper()
		_, text, errOut := inStore(t, root, append([]string{"judge", "-json"}, args...)...)
		var d struct {
			Verdicts []verdict.Verdict `json:"verdicts"`
		}
		if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Verdicts) != 1 {
			t.Fatalf("%s: %v, %q\n%s", args, err, errOut, text)
		}
		out := map[string]verdict.Kind{"": d.Verdicts[0].Kind}
		for _, r := range d.Verdicts[0].Results {
			out[r.Name] = r.Kind
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		cause record.Cause
		runs  int // of the new arm that are void
		want  map[string]verdict.Kind
	}{
		{"none", "", 0, map[string]verdict.Kind{"capacity": verdict.Same, "p95(post)": verdict.Same}},
		{"failed by the target", record.ByTarget, 2, map[string]verdict.Kind{"capacity": verdict.Same, verdict.FailedRuns: verdict.Inconclusive}},
		{"nearly all failed by the target", record.ByTarget, 60, map[string]verdict.Kind{"capacity": verdict.Same, verdict.FailedRuns: verdict.Worse, "": verdict.Worse}},
		{"void for no known cause", "", 2, map[string]verdict.Kind{"capacity": verdict.Inconclusive, "p95(post)": verdict.Inconclusive}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := st.Comparison("mine")
			if err != nil {
				t.Fatal(err)
			}
			c.Runs = c.Runs[:12]
			for range tt.runs {
				c.Runs = append(c.Runs, record.ComparisonRun{Run: "gone", Block: 1, Order: 2, Arm: "new", Engine: "postgresql", Dropped: true, Cause: tt.cause, Why: "stationary: it stood still"})
			}
			if err := st.SaveComparison(c); err != nil {
				t.Fatal(err)
			}
			whole := kinds(t, "-out", out, "mine")
			for name, want := range tt.want {
				if whole[name] != want {
					t.Errorf("the comparison: %q is %s, want %s", name, whole[name], want)
				}
			}
			if pairs := kinds(t, "-margin", "errors=0.025pp", filepath.Join(out, "pairs.csv")); !maps.Equal(pairs, whole) {
				t.Errorf("its pairs are judged %v, and the comparison %v", pairs, whole)
			}
		})
	}
}

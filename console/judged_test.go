package console

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/record"
)

// TestJudgedOfAReport has two arms, a pair with a bound, and an absolute endpoint.
func TestJudgedOfAReport(t *testing.T) {
	const text = `{"verdicts": [
	  {"engine": "mysql", "arm": "new", "why": ["one function changed"], "verdict": {"kind": "worse", "lead": "mysql: lead", "results": [
	    {"endpoint": {"name": "capacity", "unit": "users", "better": "higher", "margin": 0.05}, "kind": "worse", "n": 1, "alpha": 0.05,
	     "pairs": [{"block": 1, "base": 200, "new": 100}, {"block": 2, "base": 200, "new": 90, "new_censored": true}],
	     "effect": -0.5, "lo": -0.6, "hi": -0.4, "sentence": "capacity: worse: new is lower"}]}},
	  {"engine": "mysql", "arm": "other", "verdict": {"kind": "same", "results": [
	    {"endpoint": {"name": "capacity", "unit": "users", "better": "higher", "margin": 0.05}, "kind": "same", "n": 1, "alpha": 0.05,
	     "pairs": [{"block": 1, "base": 200, "new": 200}], "effect": 0, "lo": -0.02, "hi": 0.02, "lo90": -0.01, "hi90": 0.01},
	    {"endpoint": {"name": "errors", "unit": "%", "better": "lower", "margin": 0.1, "absolute": true}, "kind": "inconclusive", "n": 1,
	     "pairs": [{"block": 1, "base": 0, "new": 0.5}]}]}}],
	 "limiters": [{"engine": "mysql", "arm": "new", "searches": 2, "named": [{"name": "cpu app", "n": 2}], "rules": [{"name": "p99(op) < 2s", "n": 2}],
	  "at_least": 0, "stopped": [], "evidence": "the app's cores were busy"}]}`
	o, ok := concluded(&record.Comparison{Outcome: json.RawMessage(text)})
	if !ok {
		t.Fatal("nothing was concluded")
	}
	if got := resultText(o); got != "mysql new worse, mysql other same" {
		t.Errorf("results: %s", got)
	}
	out := map[string]any{}
	judgedInto(out, o)
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
	  "endpoints": [{"name": "capacity", "test": "unbounded", "unit": "users", "better": "higher", "primary": true},
	    {"name": "errors", "test": "bounded", "unit": "%", "better": "lower", "primary": true}],
	  "dots": [{"endpoint": "capacity", "engine": "mysql", "arm": "base", "values": [[1, 200], [2, 200]]},
	    {"endpoint": "capacity", "engine": "mysql", "arm": "new", "values": [[1, 100]]},
	    {"endpoint": "capacity", "engine": "mysql", "arm": "other", "values": [[1, 200]]},
	    {"endpoint": "errors", "engine": "mysql", "arm": "base", "values": [[1, 0]]},
	    {"endpoint": "errors", "engine": "mysql", "arm": "other", "values": [[1, 0.5]]}],
	  "differences": [
	    {"endpoint": "capacity", "engine": "mysql", "arm": "new", "n": 1, "pairs": [[1, -0.5]], "margin": 0.05, "absolute": false,
	     "kind": "worse", "text": "new is lower", "effect": -0.5, "lo": -0.6, "hi": -0.4, "level": 0.95},
	    {"endpoint": "capacity", "engine": "mysql", "arm": "other", "n": 1, "pairs": [[1, 0]], "margin": 0.05, "absolute": false, "kind": "same", "text": "",
	     "effect": 0, "lo": -0.01, "hi": 0.01, "level": 0.9},
	    {"endpoint": "errors", "engine": "mysql", "arm": "other", "n": 1, "pairs": [[1, 0.5]], "margin": 0.1, "absolute": true, "kind": "inconclusive", "text": ""}],
	  "limiters": [{"engine": "mysql", "arm": "new", "searches": 2, "named": [{"name": "cpu app", "n": 2}], "rules": [{"name": "p99(op) < 2s", "n": 2}],
	    "text": "the app's cores were busy"}],
	  "verdicts": [{"engine": "mysql", "arm": "new", "kind": "worse", "text": "lead", "indicative": false, "why": ["one function changed"]},
	    {"engine": "mysql", "arm": "other", "kind": "same", "text": "", "indicative": false}]}`
	var g, w any
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestVerdictOfTheStoreStands puts a report with another verdict beside a comparison, and changes
// the stored verdict.
func TestVerdictOfTheStoreStands(t *testing.T) {
	outcome := func(kind string) string {
		return `{"verdicts": [{"engine": "mysql", "arm": "new", "verdict": {"kind": "` + kind + `", "lead": "it is", "results": []}}]}`
	}
	st, _, srv := serve(t)
	c, err := st.Comparison("c1")
	if err != nil {
		t.Fatal(err)
	}
	c.Outcome = json.RawMessage(outcome("worse"))
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	dir := st.ComparisonDir("c1")
	if err := os.WriteFile(filepath.Join(dir, "report.json"), []byte(outcome("better")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/comparisons/c1", "/api/history"} {
		if _, body := getWith(t, srv, path); !strings.Contains(body, "worse") ||
			strings.Contains(body, "better") {
			t.Errorf("%s: %s", path, body)
		}
	}
	file := filepath.Join(dir, comparisonFile)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(b, []byte(`"worse"`), []byte(`"same!"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if resp, body := getWith(t, srv, "/api/comparisons/c1"); resp.StatusCode != 500 ||
		!strings.Contains(body, "outcome") {
		t.Errorf("a changed verdict: %s %s", resp.Status, body)
	}
	if _, body := getWith(t, srv, "/api/history"); strings.Contains(body, "same!") ||
		!strings.Contains(body, "outcome") {
		t.Errorf("a changed verdict in the history: %s", body)
	}
}

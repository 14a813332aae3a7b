package verbs

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/store"
	"plimsoll/watch/series"
)

// textDigest is the digest of a plan as it is written.
func textDigest(plan string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(plan))) }

// putComparison stores a comparison of blocks blocks, whose new arm has ratio times the capacity of the base.
func putComparison(t *testing.T, st *store.Store, id, plan string, blocks int, ratio float64) {
	t.Helper()
	plan = regexp.MustCompile(`blocks: \d+`).ReplaceAllString(plan, fmt.Sprintf("blocks: %d", blocks))
	c := &record.Comparison{ID: id, Plan: plan, PlanDigest: textDigest(plan), Arms: []string{"base", "new"}, Engines: []string{"postgresql"}, Blocks: blocks, State: record.Sealed}
	for b := 1; b <= blocks; b++ {
		n := string(rune('0' + b))
		level := 1000 + 7*float64(b*3%5)
		base := putRun(t, st, storedRun{id: id + "-b" + n, capacity: level, slower: 1})
		fresh := putRun(t, st, storedRun{id: id + "-n" + n, capacity: level * ratio * (1 + 0.002*float64(b*2%5-2)), slower: 1})
		c.Runs = append(c.Runs, record.ComparisonRun{Run: id + "-b" + n, Digest: base, Block: b, Order: 1, Arm: "base", Engine: "postgresql", Valid: true},
			record.ComparisonRun{Run: id + "-n" + n, Digest: fresh, Block: b, Order: 2, Arm: "new", Engine: "postgresql", Valid: true})
	}
	for _, r := range c.Runs { // no probe wrote anything
		db, err := series.Create(filepath.Join(st.Root(), "runs", r.Run, record.SeriesDir))
		for second := range 4 {
			if err == nil {
				err = db.Append(time.Unix(1e9+int64(second), 0), []series.Sample{{Name: "plimsoll_users", Labels: []series.Label{{Name: "state", Value: "active"}}, Value: 50}})
			}
		}
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
}

func versions(base, fresh string) string {
	return strings.Replace(storedPlan, "{base: {}, new: {}}", "{base: {version: "+base+"}, new: {version: "+fresh+"}}", 1)
}

// TestReportForms: all forms of a stored comparison elsewhere, one to standard output, and a person's texts in them.
func TestReportForms(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putComparison(t, st, "mine", versions("v1", "v2"), 6, 0.88)
	out := filepath.Join(t.TempDir(), "deep", "report")
	status, text, errOut := inStore(t, root, "report", "-out", out, "mine")
	if status != rig.ExitWorse || !strings.Contains(text, "WORSE") || !strings.Contains(errOut, "report.html") {
		t.Fatalf("status %d, %q\n%s", status, errOut, text)
	}
	for _, name := range []string{"report.html", "report.md", "report-full.md", "report.json", "report.csv", "pairs.csv", "junit.xml", "comment.md"} {
		if fi, err := os.Stat(filepath.Join(out, name)); err != nil || fi.Size() < 50 {
			t.Errorf("%s: %v", name, err)
		}
	}
	entries, err := os.ReadDir(st.ComparisonDir("mine"))
	if err != nil || len(entries) != 1 {
		t.Errorf("-out wrote beside the comparison too: %v, %v", entries, err)
	}
	// The pairs can be judged by themselves, by the margins of judge and of its flags: so clear a loss has the same
	// end by both.
	if status, text, errOut := inStore(t, root, "judge", "-margin", "capacity=5%", filepath.Join(out, "pairs.csv")); status != rig.ExitWorse || !strings.Contains(text, "capacity") {
		t.Errorf("status %d, %q\n%s", status, errOut, text)
	}
	status, text, _ = inStore(t, root, "report", "-print", "junit", "mine")
	if status != rig.ExitWorse || !strings.HasPrefix(text, "<?xml") || !strings.Contains(text, `<failure type="worse"`) {
		t.Errorf("status %d\n%s", status, text)
	}
	texts := filepath.Join(t.TempDir(), "texts.yaml")
	if err := os.WriteFile(texts, []byte("comments: We know, and *why*.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	status, text, _ = inStore(t, root, "report", "-texts", texts, "-print", "json", "mine")
	var doc struct {
		Comments      []string `json:"comments"`
		CommentsDraft []string `json:"comments_draft"`
		Drafted       bool     `json:"drafted_action_items"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || status != rig.ExitWorse || len(doc.Comments) != 1 || doc.Comments[0] != "We know, and *why*." || len(doc.CommentsDraft) == 0 || !doc.Drafted {
		t.Errorf("status %d, %v, %+v", status, err, doc)
	}
	// Texts alone: the report beside the comparison has them.
	if status, _, errOut := inStore(t, root, "report", "-texts", texts, "mine"); status != rig.ExitWorse {
		t.Errorf("status %d, %s", status, errOut)
	}
	if md, err := os.ReadFile(filepath.Join(st.ComparisonDir("mine"), "report.md")); err != nil || !strings.Contains(string(md), "- We know, and *why*.\n") || !strings.Contains(string(md), "Written by a person") {
		t.Errorf("%v\n%s", err, md)
	}
	if err := os.WriteFile(texts, []byte("comment: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, out, errOut := inStore(t, root, "report", "-texts", texts, "mine"); status != rig.ExitUsage || out != "" || !strings.Contains(errOut, `did you mean "comments"?`) {
		t.Errorf("status %d, %q, %q", status, out, errOut)
	}
}

// TestTrendOfStored: comparisons that share a release are chained by its version; arms without one are of their
// comparison alone.
func TestTrendOfStored(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putComparison(t, st, "one", versions("v1", "v2"), 6, 1)
	putComparison(t, st, "two", versions("v2", "v3"), 6, 0.85)
	putComparison(t, st, "other", storedPlan, 6, 1)
	putComparison(t, st, "another", storedPlan, 6, 1)
	status, text, errOut := inStore(t, root, "report", "trend", "-json", "one", "two", "other", "another")
	var d struct {
		Databases []struct {
			Database string
			Chains   []struct {
				Releases []struct {
					Release string
					Against struct{ Value, Lo, Hi float64 } `json:"against_first"`
				}
				Changes []struct{ Release string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil || status != rig.ExitOK || errOut != "" || len(d.Databases) != 1 || d.Databases[0].Database != "postgresql" {
		t.Fatalf("status %d, %q, %v\n%s", status, errOut, err, text)
	}
	chains := d.Databases[0].Chains
	if len(chains) != 3 || len(chains[0].Releases) != 3 || chains[1].Releases[0].Release != "base of other" || chains[2].Releases[1].Release != "new of another" {
		t.Fatalf("chains %+v", chains)
	}
	last := chains[0].Releases[2]
	if last.Release != "v3" || last.Against.Value > -0.14 || last.Against.Value < -0.16 || !(last.Against.Lo < last.Against.Value && last.Against.Value < last.Against.Hi) {
		t.Errorf("the last release is %+v", last)
	}
	if c := chains[0].Changes; len(c) != 1 || c[0].Release != "v3" || len(chains[1].Changes) != 0 {
		t.Errorf("changes %+v", c)
	}
	for _, tt := range []struct{ args, want string }{
		{"one one", "one is there twice: one comparison counts once"},
		{"on one", "comparison one is there twice"},
		{"one-b1", "one-b1 is a run: a trend is made of comparisons"},
		{"gone", "gone: there is no such file, and no such comparison in " + root},
	} {
		if status, out, errOut := inStore(t, root, append([]string{"report", "trend"}, strings.Fields(tt.args)...)...); status != rig.ExitUsage || out != "" || !strings.Contains(errOut, tt.want) {
			t.Errorf("%s: status %d, %q, %q", tt.args, status, out, errOut)
		}
	}
}

// TestTrendOfOwnDatabases: where each arm has a database of its own, their ratio stands under none of them.
func TestTrendOfOwnDatabases(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("{base: {}, new: {}}", "{base: {version: v1, database: mysql}, new: {version: v2, database: postgresql}}", "blocks: 1", "blocks: 3",
		"database: {engine: [postgresql]}\n", "").Replace(storedPlan)
	c := &record.Comparison{ID: "moved", Plan: text, PlanDigest: textDigest(text), Arms: []string{"base", "new"}, Engines: []string{""}, Blocks: 3, State: record.Sealed}
	for b := 1; b <= c.Blocks; b++ {
		for i, database := range []string{"MySQL", "PostgreSQL"} {
			id := fmt.Sprintf("moved-%d-%d", b, i)
			digest := putRun(t, st, storedRun{id: id, capacity: float64(1000 + 10*b + 100*i), slower: 1, database: database})
			c.Runs = append(c.Runs, record.ComparisonRun{Run: id, Digest: digest, Block: b, Order: i + 1, Arm: c.Arms[i], Valid: true})
		}
	}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	status, out, errOut := inStore(t, root, "report", "trend", "-json", "moved")
	var d struct {
		Databases []struct{ Database string }
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || status != rig.ExitOK || errOut != "" || len(d.Databases) != 1 || d.Databases[0].Database != "" {
		t.Errorf("status %d, %q, %v: want one database without a name\n%s", status, errOut, err, out)
	}
}

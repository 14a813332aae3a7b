package verbs

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/report"
	"plimsoll/rig"
	"plimsoll/run/record"
)

// armsOf returns the ids of the runs of both arms of a comparison, in no order.
func armsOf(c *record.Comparison) (base, fresh string) {
	var ids [2][]string
	for _, r := range c.Runs {
		i := slices.Index(c.Arms, r.Arm)
		ids[i] = append(ids[i], r.Run)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, list := range ids {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return strings.Join(ids[0], ","), strings.Join(ids[1], ",")
}

func readReport(t *testing.T, dir string) (d report.Document, raw map[string]any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err == nil {
		err = json.Unmarshal(b, &raw)
	}
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d, raw
}

// The report of the stored runs of a comparison is that of the comparison: the same cells, but for how it was compared,
// its name, and the time that it took.
func TestReportOfGatheredRuns(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	st, id := keptComparison(t, root, keptShape{seconds: 30, handlers: 1, methods: 1, ops: 20, blocks: 6})
	c, err := st.Comparison(id)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(t.TempDir(), "whole")
	wantStatus, _, errOut := inStore(t, root, "report", "-out", want, id)
	base, fresh := armsOf(c)
	before := treeOf(t, root)
	status, _, errOut2 := inStore(t, root, "report", "-out", out, "-base", base, "-new", fresh)
	if status != wantStatus || wantStatus == rig.ExitUsage || wantStatus == rig.ExitTool {
		t.Fatalf("status %d of gathered runs, %d of the comparison\n%s\n%s", status, wantStatus, errOut2, errOut)
	}
	if after := treeOf(t, root); !slices.Equal(before, after) {
		t.Errorf("the store was changed: %v", after)
	}
	whole, _ := readReport(t, want)
	gathered, _ := readReport(t, out)
	if whole.State.Judged != 6 || len(whole.Verdicts) != 2 || len(whole.Graphs) == 0 || len(whole.Limiters) == 0 {
		t.Fatalf("the report that is compared has %d blocks, %d verdicts, %d graphs and %d limiters", whole.State.Judged, len(whole.Verdicts), len(whole.Graphs), len(whole.Limiters))
	}
	if gathered.Protocol == nil || len(gathered.Protocol.Gathered) != 1 || !strings.Contains(gathered.Protocol.Gathered[0], "24 stored runs") {
		t.Errorf("how it was compared: %+v", gathered.Protocol)
	}
	sameReports(t, want, out)
	for _, sub := range []string{"graphs", report.PagesDir} {
		if n := len(treeOf(t, filepath.Join(want, sub))); n < 20 {
			t.Errorf("%s: %d files", sub, n)
		}
	}
}

// ofBlocks matches the time that blocks take, which is not known of runs that were not made together.
var ofBlocks = regexp.MustCompile(`(about )?[0-9]+ minutes?, `)

// sameReports holds that the report of the stored runs of a comparison, in the directory got, is that of the
// comparison: each member of its JSON but for how it was compared, its name, and the time that it took; each section of
// its text but for those; and the names of its graphs and pages.
func sameReports(t *testing.T, want, got string) {
	t.Helper()
	_, a := readReport(t, want)
	_, b := readReport(t, got)
	for _, raw := range []map[string]any{a, b} {
		delete(raw, "protocol")
		delete(raw, "comparison")
		delete(raw["state"].(map[string]any), "block_time") // stored runs were not made together
		rows := raw["setup"].([]any)
		raw["setup"] = slices.DeleteFunc(rows, func(r any) bool { return r.(map[string]any)["name"] == "Started" })
	}
	for key := range a {
		x, _ := json.Marshal(a[key])
		y, _ := json.Marshal(b[key])
		if x, y = ofBlocks.ReplaceAll(x, nil), ofBlocks.ReplaceAll(y, nil); !bytes.Equal(x, y) {
			t.Errorf("%s differs:\n%.600s\n%.600s", key, x, y)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d members, want %d", len(b), len(a))
	}
	for _, sub := range []string{"graphs", report.PagesDir} {
		if x, y := treeOf(t, filepath.Join(want, sub)), treeOf(t, filepath.Join(got, sub)); !slices.Equal(x, y) {
			t.Errorf("%s: %d files, want %d", sub, len(y), len(x))
		}
	}
	x, y := sectionsOf(t, want), sectionsOf(t, got)
	if len(x) < 10 {
		t.Errorf("the report has %d sections", len(x))
	}
	for name, text := range x {
		if strings.Contains(name, "How it was compared") {
			continue
		}
		text = ofBlocks.ReplaceAllString(text, "")
		if other, ok := y[name]; !ok || ofBlocks.ReplaceAllString(other, "") != text {
			t.Errorf("section %q differs:\n%s\n\nwant:\n%s", name, other, text)
		}
	}
}

// sectionsOf cuts the whole report in a directory into its sections, without the row of the setup on when it was made.
func sectionsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "report-full.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	name := ""
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			name = strings.TrimSpace(line)
			continue
		}
		if !strings.HasPrefix(line, "| Started ") {
			out[name] += line
		}
	}
	return out
}

// treeOf lists the files below a directory.
func treeOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

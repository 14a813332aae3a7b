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
	"plimsoll/run/store"
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

const gatheredPlan = `
name: one
target: {driver: external, url: "http://127.0.0.1:1", version: "11.0"}
workload: {behavior: poster}
bounded: {users: 50, ramp: 1s, settle: 1s, measure: 2s}
unbounded: {max_users: 2000, slo: ["mean(op) < 100ms"]}
`

// Runs of two plans that differ in the target alone are two arms; fewer than six pairs are indicative, and runs that had
// something else to do are refused with the lines that differ.
func TestGatherRunsOfTwoPlans(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	next := strings.NewReplacer("11.0", "11.1", "127.0.0.1:1", "127.0.0.1:2").Replace(gatheredPlan)
	putRun(t, st, storedRun{id: "b1", capacity: 1000, slower: 1, series: true, plan: gatheredPlan})
	putRun(t, st, storedRun{id: "b2", capacity: 1010, slower: 1, series: true, plan: gatheredPlan})
	putRun(t, st, storedRun{id: "n1", capacity: 700, slower: 1, series: true, plan: next})
	putRun(t, st, storedRun{id: "n2", capacity: 705, slower: 1, series: true, plan: next})
	putRun(t, st, storedRun{id: "seeded", capacity: 705, slower: 1, series: true, plan: strings.Replace(next, "poster}", "poster, params: {message_bytes: 9}}", 1) + "seed: 9\n"})
	putRun(t, st, storedRun{id: "slow", capacity: 700, slower: 1, series: true, plan: strings.Replace(next, "measure: 2s", "measure: 3s", 1)})
	putRun(t, st, storedRun{id: "rule", capacity: 700, slower: 1, series: true, plan: strings.Replace(next, "100ms", "200ms", 1)})
	putRun(t, st, storedRun{id: "disturbed", capacity: -700, slower: 1, series: true, plan: next, ended: "others"})
	for id, target := range map[string]string{"built": `{"digest":"aa"}`, "rebuilt": `{"digest":"bb"}`} {
		putRun(t, st, storedRun{id: id, capacity: 700, slower: 1, series: true, plan: next, target: target})
	}
	putRun(t, st, storedRun{id: "planless", capacity: 700, slower: 1})
	out := filepath.Join(t.TempDir(), "report")
	status, shown, errOut := inStore(t, root, "report", "-out", out, "-base", "b1,b2", "-new", "n1,n2")
	if status != rig.ExitInconclusive || !strings.Contains(shown, "indicative") {
		t.Fatalf("status %d: %s\n%s", status, errOut, shown)
	}
	d, _ := readReport(t, out)
	if d.Title != "Performance Comparison 11.0 vs 11.1" || d.State.Judged != 2 {
		t.Errorf("title %q, %d blocks", d.Title, d.State.Judged)
	}
	// Without -out nothing is written, which is stated.
	if status, _, errOut = inStore(t, root, "report", "-print", "comment", "-base", "b1,b2", "-new", "n1,seeded"); status != rig.ExitUsage || !strings.Contains(errOut, `"seed: 1", and "seed: 9"`) {
		t.Errorf("two plans in one arm: status %d: %s", status, errOut)
	}
	status, shown, errOut = inStore(t, root, "report", "-print", "full", "-base", "b1", "-new", "seeded")
	if status != rig.ExitInconclusive || !strings.Contains(errOut, "nothing is written") || !strings.Contains(shown, `the plans of the arms differ in more than the target: "seed: 1" in that of base, "seed: 9" in that of new`) || !strings.Contains(shown, "params") {
		t.Errorf("status %d: %s\n%s", status, errOut, shown)
	}
	for _, tt := range []struct{ base, fresh, want string }{
		{"b1", "slow", `runs b1 and slow had other things to do, by their plans "measure: 2s" and "measure: 3s"`},
		{"b1", "rule", `"- \"mean(op) < 100ms\"" and "- \"mean(op) < 200ms\""`},
		{"b1,b2", "n1", "2 runs by -base and 1 by -new: want pairs"},
		{"b1", "b1", "run b1 is there twice"},
		{"b1,n1", "n2,b2", "runs b1 and n1 are both given by -base"},
		{"1=b1", "1=n1", "1=b1: the blocks of stored runs are their order in time"},
		{"b1", "disturbed", "run disturbed: others on the host ended its search (gate others): its lower bound says nothing of the arm; leave it out"},
		{"b1,b2", "built,rebuilt", "runs built and rebuilt are both given by -new, and their targets are programs with the digests aa and bb; an arm is one build"},
		{"b1", "planless", "run planless: this version cannot read its plan"},
	} {
		status, shown, errOut := inStore(t, root, "report", "-base", tt.base, "-new", tt.fresh)
		if status != rig.ExitUsage || shown != "" || !strings.Contains(errOut, tt.want) {
			t.Errorf("%s and %s: status %d, stdout %q, stderr %swant %s", tt.base, tt.fresh, status, shown, errOut, tt.want)
		}
	}
	if status, _, errOut := inStore(t, root, "report", "-margin", "3%", "-base", "b1", "-new", "n1"); status != rig.ExitUsage || !strings.Contains(errOut, "-margin applies to imported numbers only") {
		t.Errorf("status %d: %s", status, errOut)
	}
}

// The content of a file of accounts makes runs alike or not, and its place does not: one arm has one content, and two
// arms with two are warned of.
func TestGatherRunsWithAccounts(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	from := func(dir, version string) string {
		return strings.NewReplacer("poster}", "poster, users_file: /"+dir+"/users.csv}", "11.0", version).Replace(gatheredPlan)
	}
	for _, r := range []struct{ id, plan, digest string }{
		{"b1", from("a", "11.0"), "sha256:aaaaaaaaaaaa"},
		{"b2", from("b", "11.0"), "sha256:aaaaaaaaaaaa"}, // the same file elsewhere
		{"b3", from("a", "11.0"), "sha256:bbbbbbbbbbbb"}, // another file in the same place
		{"n1", from("b", "11.1"), "sha256:aaaaaaaaaaaa"},
		{"n2", from("b", "11.1"), "sha256:aaaaaaaaaaaa"},
		{"n3", from("a", "11.1"), "sha256:bbbbbbbbbbbb"},
		{"made", strings.Replace(gatheredPlan, "11.0", "11.1", 1), ""},
	} {
		putRun(t, st, storedRun{id: r.id, capacity: 1000, slower: 1, series: true, plan: r.plan, accounts: r.digest})
	}
	const warned = "the users of the arms had different accounts: "
	for _, tt := range []struct {
		base, fresh, warning string
	}{
		{"b1,b2", "n1,n2", ""},
		{"b1", "n3", warned + "the 2000 accounts of a file with the digest sha256:aaaaaaaaaaaa in base, the 2000 accounts of a file with the digest sha256:bbbbbbbbbbbb in new"},
		{"b1", "made", warned + "the 2000 accounts of a file with the digest sha256:aaaaaaaaaaaa in base, accounts that were made in new"},
	} {
		status, shown, errOut := inStore(t, root, "report", "-print", "full", "-base", tt.base, "-new", tt.fresh)
		if status != rig.ExitInconclusive || strings.Contains(shown, warned) != (tt.warning != "") || !strings.Contains(shown, tt.warning) {
			t.Errorf("%s and %s: status %d, %s%s; want %q", tt.base, tt.fresh, status, errOut, shown, tt.warning)
		}
	}
	status, _, errOut := inStore(t, root, "report", "-print", "full", "-base", "b1,b3", "-new", "n1,n2")
	if want := "runs b1 and b3 are both given by -base, and their users had the 2000 accounts of a file with the digest sha256:aaaaaaaaaaaa and "; status != rig.ExitUsage || !strings.Contains(errOut, want) {
		t.Errorf("two contents in one arm: status %d, %s; want %s", status, errOut, want)
	}
}

package verbs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/store"
	"plimsoll/watch/series"
)

// A storedRun is a run that a test puts into a store: two seconds of posts, and a search.
type storedRun struct {
	id       string
	capacity float64 // users; at least so many when negative
	slower   float64 // factor of all latencies
	open     bool    // left unsealed, as by a kill
	invalid  bool
	unstable bool   // its search contradicts itself
	posts    int    // a second; default 300
	ended    string // by the gate of this name, its search
	plan     string
	target   string // its description
	database string // the name that its server reports
	series   bool   // it has some
	accounts string // digest of the file of its users' accounts
	lost     int    // acknowledged messages that could not be read back, of 90
	pilot    bool   // it only found where searches begin
}

func putRun(t *testing.T, st *store.Store, s storedRun) (digest string) {
	t.Helper()
	kind, users := record.Estimate, s.capacity
	if users < 0 {
		kind, users = record.AtLeast, -users
	}
	if s.unstable {
		kind = record.Unstable
	}
	found := &record.Capacity{Kind: kind, Users: users}
	if s.ended != "" {
		found.Rule = record.ByGate + s.ended
	}
	var system json.RawMessage
	switch {
	case s.target != "":
		system = json.RawMessage(s.target)
	case s.database != "":
		system = json.RawMessage(fmt.Sprintf(`{"database": {"name": %q}}`, s.database))
	}
	var accounts *record.AccountsFile
	if s.accounts != "" {
		accounts = &record.AccountsFile{Name: "users.csv", Rows: 2000, Digest: s.accounts}
	}
	w, err := st.Create(record.Manifest{ID: s.id, Plan: s.plan, Target: system, Capacity: found, Accounts: accounts, Epoch: time.Unix(1e9, 0), Pilot: s.pilot,
		Phases: []record.Phase{{Name: "measure", To: 2 * time.Second, Users: 50}, {Name: "search", From: 2 * time.Second, To: 3 * time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	if s.series {
		db, err := series.Create(filepath.Join(w.Dir(), record.SeriesDir))
		for second := range 4 {
			var users []series.Sample
			for _, state := range []string{"active", "desired"} {
				users = append(users, series.Sample{Name: "plimsoll_users", Labels: []series.Label{{Name: "state", Value: state}}, Value: 50})
			}
			if err == nil {
				err = db.Append(time.Unix(1e9+int64(second), 0), users)
			}
		}
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for second := range 2 {
		post := measure.NewWindow("post")
		n := cmp.Or(s.posts, 300)
		for i := range n {
			d := time.Duration(s.slower * (10 + float64(i)/30) * float64(time.Millisecond))
			post.Response.Record(d)
			post.Service.Record(d)
		}
		post.Classes[measure.OK] = uint64(n)
		if err := w.Windows(second, []*measure.Window{post}); err != nil {
			t.Fatal(err)
		}
	}
	if s.lost > 0 {
		a := workload.AuditResult{Expected: 90, Readable: 90 - s.lost, Missing: s.lost}
		if err := w.Users(record.Users{Phase: "measure", Audit: &record.Audit{AuditResult: a}}); err != nil {
			t.Fatal(err)
		}
	}
	if s.open {
		return ""
	}
	v := record.Validity{Valid: !s.invalid}
	if s.invalid {
		v.Findings = []record.Finding{{Level: record.Red, Gate: "lag", Text: "the generator was late"}}
	}
	if digest, err = w.Seal(t.Context(), v, ""); err != nil {
		t.Fatal(err)
	}
	return digest
}

// inStore runs the program with a store.
func inStore(t *testing.T, root string, args ...string) (status int, out, errOut string) {
	t.Helper()
	return ranWith(t, append(args, "-store", root)...)
}

func TestJudgeStoredRuns(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	var base, fresh []string
	for i := range 6 {
		n := string(rune('1' + i))
		putRun(t, st, storedRun{id: "b" + n, capacity: 1000 + float64(i), slower: 1 + float64(i)/1000})
		putRun(t, st, storedRun{id: "n" + n, capacity: 880 - float64(i), slower: 1})
		base, fresh = append(base, "b"+n), append(fresh, "n"+n)
	}
	status, out, errOut := inStore(t, root, "judge", "-base", strings.Join(base, ","), "-new", strings.Join(fresh, ","))
	if status != rig.ExitWorse || errOut != "" || !strings.HasPrefix(out, "new is worse than base: capacity 12.") {
		t.Errorf("status %d, %q\n%s", status, errOut, out)
	}
	for _, want := range []string{"  p95(post)  same ", "  p99(op)    same ", "  errors     same "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	// By its directory, a run is the same.
	status, out, _ = inStore(t, root, "judge", "-base", filepath.Join(root, "runs", "b1"), "-new", "n1")
	if status != rig.ExitInconclusive || !strings.Contains(out, "one pair is indicative only") {
		t.Errorf("status %d\n%s", status, out)
	}
	// A capacity that is only a bound leaves the order.
	putRun(t, st, storedRun{id: "bound", capacity: -1000, slower: 1})
	if _, out, _ = inStore(t, root, "judge", "-md", "-base", "bound", "-new", "n1"); !strings.Contains(out, "| >= 1000 |") {
		t.Errorf("a bound became a number:\n%s", out)
	}

	putRun(t, st, storedRun{id: "open", capacity: 1000, slower: 1, open: true})
	putRun(t, st, storedRun{id: "invalid", capacity: 1000, slower: 1, invalid: true})
	putRun(t, st, storedRun{id: "changed", capacity: 1000, slower: 1})
	events := filepath.Join(root, "runs", "changed", "events.jsonl")
	if err := os.WriteFile(events, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	putRun(t, st, storedRun{id: "disturbed", capacity: -700, slower: 1, ended: "others"})
	putRun(t, st, storedRun{id: "late", unstable: true, slower: 1, ended: "lag"})
	putRun(t, st, storedRun{id: "pilot", capacity: 1000, slower: 1, pilot: true})
	for _, tt := range []struct{ run, want string }{
		{"pilot", "run pilot is a pilot, which only finds numbers of users for other runs: leave it out"},
		{"disturbed", "run disturbed: others on the host ended its search (gate others): its lower bound says nothing of the arm; leave it out"},
		{"late", "run late: the load generator ended its search (gate lag): no level was confirmed before that, which says nothing of the arm; leave it out"},
		{"open", "run open is truncated: it is running, not sealed"},
		{"invalid", "run invalid is not valid (lag: the generator was late): no verdict rests on it"},
		{"changed", "run changed was changed since it was sealed: events.jsonl"},
		{"b1", "b1 is there twice (b1): one run counts once"},
		{filepath.Join(root, "runs", "b1"), "run b1 is there twice: one run counts once"},
		{"gone", `gone: neither a file nor a stored run: run "gone": not in the store (` + root + ")"},
	} {
		status, out, errOut := inStore(t, root, "judge", "-base", "b1", "-new", tt.run)
		if status != rig.ExitUsage || out != "" || errOut != "plimsoll judge: "+tt.want+"\n" {
			t.Errorf("%s: status %d, stdout %q\ngot  %swant plimsoll judge: %s", tt.run, status, out, errOut, tt.want)
		}
	}
}

const storedPlan = `
name: t
target: {driver: refchat}
database: {engine: [postgresql]}
workload: {behavior: poster}
bounded: {users: 50, ramp: 1s, settle: 1s, measure: 2s}
unbounded: {max_users: 2000, slo: ["mean(op) < 100ms"]}
compare: {arms: {base: {}, new: {}}, combine: true, blocks: 1}
`

// A stored comparison is judged again by its id, and its report is left alone.
func TestJudgeStoredComparison(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	base, fresh := putRun(t, st, storedRun{id: "b1", capacity: 1000, slower: 1}), putRun(t, st, storedRun{id: "n1", capacity: 990, slower: 1})
	c := &record.Comparison{ID: "mine", Plan: storedPlan, PlanDigest: textDigest(storedPlan), Arms: []string{"base", "new"}, Engines: []string{"postgresql"}, Blocks: 1, State: record.Sealed, Runs: []record.ComparisonRun{
		{Run: "b1", Digest: base, Block: 1, Order: 1, Arm: "base", Engine: "postgresql", Valid: true}, {Run: "n1", Digest: fresh, Block: 1, Order: 2, Arm: "new", Engine: "postgresql", Valid: true}}}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	status, out, errOut := inStore(t, root, "judge", "-md", "mine")
	if status != rig.ExitInconclusive || errOut != "" {
		t.Errorf("status %d, %q", status, errOut)
	}
	got := tables(out)
	if want := [][]string{{"Test", "base", "new", "Delta"}, {"postgresql", "1000", "990", "-1.00%"}}; !equal(got["Supported users in unbounded test"], want) {
		t.Errorf("got %q\n%s", got["Supported users in unbounded test"], out)
	}
	if len(got["Blocks to say the same"]) < 2 {
		t.Errorf("no table of blocks:\n%s", out)
	}
	entries, err := os.ReadDir(st.ComparisonDir("mine"))
	if err != nil || len(entries) != 1 {
		t.Errorf("judge wrote a report: %v, %v", entries, err)
	}
	if status, _, errOut := inStore(t, root, "judge", "gone"); status != rig.ExitUsage || errOut != "plimsoll judge: gone: there is no such file, and no such comparison in "+root+"\n" {
		t.Errorf("status %d, %q", status, errOut)
	}
}

// The directory of a comparison in the store stands for its id; any other directory is an error that names the
// accepted arguments.
func TestJudgeOfADirectory(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putComparison(t, st, "mine", storedPlan, 1, 0.99)
	dir, elsewhere, tools := st.ComparisonDir("mine"), t.TempDir(), t.TempDir()
	missing := filepath.Join(elsewhere, "missing")
	// load-test-ng writes one, too.
	if err := os.WriteFile(filepath.Join(tools, "comparison.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"judge", "report"} {
		if status, out, errOut := inStore(t, root, verb, "-print", "markdown", dir+"/"); status != rig.ExitInconclusive || errOut != "" || out == "" {
			t.Errorf("%s: status %d, %q\n%s", verb, status, errOut, out)
		}
		for _, tt := range []struct{ name, root, dir, want string }{
			{"of another store", elsewhere, dir, dir + " is in another store than " + elsewhere + ": add -store " + root},
			{"without a store", missing, dir, dir + " is in another store than " + missing + ": add -store " + root},
			{"of files", root, tools, tools + " is a directory, and there is no such comparison"},
			{"of files, without a store", missing, tools, tools + " is a directory, and there is no store in " + missing},
			{"of a run", root, filepath.Join(root, "runs", "mine-b1"), "is a directory, and there is no such comparison"},
		} {
			status, out, errOut := inStore(t, tt.root, verb, tt.dir)
			if status != rig.ExitUsage || out != "" || !strings.HasPrefix(errOut, "plimsoll "+verb+": ") || !strings.Contains(errOut, tt.want) || strings.Count(errOut, "\n") != 1 {
				t.Errorf("%s, %s: status %d, %q, %q; want 2 and %q", verb, tt.name, status, out, errOut, tt.want)
			}
		}
	}
}

// A reason why one database cannot be judged is not reported for the other.
func TestJudgeStoredSkipsByDatabase(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(storedPlan, "[postgresql]", "[postgresql, mysql]", 1)
	c := &record.Comparison{ID: "two", Plan: text, PlanDigest: textDigest(text), Arms: []string{"base", "new"},
		Engines: []string{"postgresql", "mysql"}, Blocks: 1, State: record.Sealed}
	for i, e := range c.Engines {
		for k, arm := range c.Arms {
			id := e + arm
			digest := putRun(t, st, storedRun{id: id, capacity: 1000, slower: 1, posts: []int{300, 100}[i]})
			c.Runs = append(c.Runs, record.ComparisonRun{Run: id, Digest: digest, Block: 1, Order: 2*i + k + 1, Arm: arm, Engine: e, Valid: true})
		}
	}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	_, out, _ := inStore(t, root, "judge", "two")
	if strings.Contains(out, "not judged: p99(op) (") || !strings.Contains(out, "not judged: p99(op) of mysql (") {
		t.Error(out)
	}
	_, out, _ = inStore(t, root, "judge", "-print", "junit", "two")
	first, _, _ := strings.Cut(out, "</testsuite>")
	if strings.Count(first, `<testcase name="p99(op)"`) != 1 {
		t.Errorf("postgresql has p99(op) more than once:\n%s", first)
	}
}

// Capacities under different rules, and of users who do different things, answer different questions.
func TestJudgeStoredRunsOfDifferentPlans(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putRun(t, st, storedRun{id: "b1", capacity: 1000, slower: 1, plan: storedPlan})
	putRun(t, st, storedRun{id: "n1", capacity: 1300, slower: 1, plan: strings.Replace(storedPlan, "< 100ms", "< 300ms", 1)})
	putRun(t, st, storedRun{id: "n2", capacity: 1300, slower: 1, plan: strings.Replace(storedPlan, "{behavior: poster}", "{behavior: poster, pace: 0.5}", 1)})
	putRun(t, st, storedRun{id: "n3", capacity: 1001, slower: 1, plan: strings.Replace(storedPlan, "{behavior: poster}", "{behavior: poster, params: {team: other}}", 1)})
	for id, accounts := range map[string]string{"a1": "sha256:aa", "a2": "sha256:aa", "a3": "sha256:bb"} { // a2 from another directory
		of := strings.Replace(storedPlan, "{behavior: poster}", "{behavior: poster, users_file: /"+map[bool]string{true: "b", false: "a"}[id == "a2"]+"/users.csv}", 1)
		putRun(t, st, storedRun{id: id, capacity: 1001, slower: 1, plan: of, accounts: accounts})
	}
	for n, base := range map[string]string{"n1": "b1", "n2": "b1", "a1": "b1", "a3": "a1"} {
		status, out, errOut := inStore(t, root, "judge", "-base", base, "-new", n)
		if status != rig.ExitUsage || out != "" || !strings.Contains(errOut, "runs that did different things are no replicates") {
			t.Errorf("%s: status %d, %q\n%s", n, status, errOut, out)
		}
	}
	if status, _, errOut := inStore(t, root, "judge", "-base", "a1", "-new", "a2"); status != rig.ExitInconclusive || errOut != "" {
		t.Errorf("of the same accounts in another directory: status %d, %q", status, errOut)
	}
	if status, _, errOut := inStore(t, root, "judge", "-base", "b1", "-new", "n3"); status != rig.ExitInconclusive || errOut != "" {
		t.Errorf("of another team: status %d, %q", status, errOut)
	}
}

// TestAStoredComparisonKeepsItsEndpoints judges a comparison that was stored before costs were endpoints by those
// that its plan lists.
func TestAStoredComparisonKeepsItsEndpoints(t *testing.T) {
	p, err := plan.Parse([]byte(storedPlan))
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []bool{false, true} {
		if old {
			delete(p.Compare.Margin, "cost(app)")
			delete(p.Compare.Margin, "cost(db)")
		}
		root := t.TempDir()
		st, err := store.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		putComparison(t, st, "mine", p.String(), 1, 0.99)
		for _, verb := range []string{"judge", "report"} {
			_, out, errOut := inStore(t, root, verb, "-print", "json", "mine")
			if asked := strings.Contains(out, "cost(app)"); asked == old || !strings.Contains(out, "p95(post)") {
				t.Errorf("%s of a plan without costs %v: cost(app) in it %v, %s", verb, old, asked, errOut)
			}
		}
	}
}

// TestJudgeStoredRunsByTheErrorMarginOfTheirPlans judges errors of stored runs by the margin of their plans, or that
// of -margin; never by a looser one of its own.
func TestJudgeStoredRunsByTheErrorMarginOfTheirPlans(t *testing.T) {
	alone := strings.Replace(storedPlan, "compare: {arms: {base: {}, new: {}}, combine: true, blocks: 1}\n", "", 1)
	for _, tt := range []struct {
		name, plan string
		flags      []string
		want       string
	}{
		{"no plan", "", nil, `"margin": 0.1,`},
		{"the usual one", alone, nil, `"margin": 0.025,`},
		{"of a rule", strings.Replace(alone, `["mean(op) < 100ms"]`, `["rate(errors) < 0.01%"]`, 1), nil, `"margin": 0.01,`},
		{"stated in the plan", strings.Replace(storedPlan, "blocks: 1", "blocks: 1, margin: {errors: 0.05pp}", 1), nil, `"margin": 0.05,`},
		{"stated now", alone, []string{"-margin", "errors=0.2pp"}, `"margin": 0.2,`},
	} {
		root := t.TempDir()
		st, err := store.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		putRun(t, st, storedRun{id: "b", capacity: 1000, slower: 1, plan: tt.plan})
		putRun(t, st, storedRun{id: "n", capacity: 1000, slower: 1, plan: tt.plan})
		_, out, errOut := inStore(t, root, append([]string{"judge", "-print", "json", "-base", "b", "-new", "n"}, tt.flags...)...)
		_, errorsOf, _ := strings.Cut(out, `"name": "errors"`)
		if !strings.Contains(errorsOf[:min(len(errorsOf), 200)], tt.want) {
			t.Errorf("%s: want %s: %s %s", tt.name, tt.want, errOut, errorsOf[:min(len(errorsOf), 200)])
		}
	}
}

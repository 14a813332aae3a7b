package verbs

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
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

	comparison string               // that it is of
	cell       record.ComparisonRun // its place in it
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
	var of string
	if s.plan != "" {
		of = textDigest(s.plan)
	}
	w, err := st.Create(record.Manifest{ID: s.id, Plan: s.plan, PlanDigest: of, Target: system, Capacity: found, Accounts: accounts, Epoch: time.Unix(1e9, 0).Add(time.Duration(4*s.cell.Block+s.cell.Order) * time.Millisecond),
		Block: s.cell.Block, Order: s.cell.Order, Arm: s.cell.Arm, Engine: s.cell.Engine, Pilot: s.pilot, Comparison: s.comparison, InDigests: s.comparison != "",
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

// storeAt opens the store in a directory.
func storeAt(tb testing.TB, root string) *store.Store {
	tb.Helper()
	st, err := store.Open(root)
	if err != nil {
		tb.Fatal(err)
	}
	return st
}

// inStore runs the program with a store.
func inStore(t *testing.T, root string, args ...string) (status int, out, errOut string) {
	t.Helper()
	return ranWith(t, append(args, "-store", root)...)
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

// textDigest is the digest of a plan as it is written.
func textDigest(plan string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(plan))) }

// putComparison stores a comparison of blocks blocks, whose new arm has ratio times the capacity of the base.
func putComparison(t *testing.T, st *store.Store, id, text string, blocks int, ratio float64) {
	t.Helper()
	text = regexp.MustCompile(`blocks: \d+`).ReplaceAllString(text, fmt.Sprintf("blocks: %d", blocks))
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := &record.Comparison{ID: id, Plan: text, PlanDigest: textDigest(text), Arms: []string{"base", "new"}, Engines: p.Engines(), Blocks: blocks, State: record.Sealed}
	for b := 1; b <= blocks; b++ {
		level := 1000 + 7*float64(b*3%5)
		of := map[string]float64{"base": level, "new": level * ratio * (1 + 0.002*float64(b*2%5-2))}
		order := 0
		for _, engine := range c.Engines {
			for _, arm := range c.Arms {
				order++
				cell := record.ComparisonRun{Run: fmt.Sprintf("%s-%c%d", id, arm[0], b), Block: b, Order: order, Arm: arm, Engine: engine, Valid: true}
				if order > 2 {
					cell.Run += "-" + engine
				}
				cell.Digest = putRun(t, st, storedRun{id: cell.Run, capacity: of[arm], slower: 1, series: true, plan: text, comparison: id, cell: cell})
				c.Runs = append(c.Runs, cell)
			}
		}
	}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
}

func versions(base, fresh string) string {
	return strings.Replace(storedPlan, "{base: {}, new: {}}", "{base: {version: "+base+"}, new: {version: "+fresh+"}}", 1)
}

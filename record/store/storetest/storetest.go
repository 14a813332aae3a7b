// Package storetest puts runs and comparisons into the stores of tests.
package storetest

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

// A StoredRun is a run that a test puts into a store: two seconds of posts, and a search.
type StoredRun struct {
	ID       string
	Capacity float64 // users; at least so many when negative
	Slower   float64 // factor of all latencies
	Open     bool    // left unsealed, as by a kill
	Invalid  bool
	Unstable bool   // its search contradicts itself
	Posts    int    // a second; default 300
	Ended    string // by the gate of this name, its search
	Plan     string
	Target   string // its description
	Database string // the name that its server reports
	Series   bool   // it has some
	Accounts string // digest of the file of its users' accounts
	Lost     int    // acknowledged messages that could not be read back, of 90
	Pilot    bool   // it only found where searches begin

	Comparison string               // that it is of
	Cell       record.ComparisonRun // its place in it
}

// Put puts a run into a store, and returns its digest: "" for one that is left unsealed.
func Put(t *testing.T, st *store.Store, s StoredRun) (digest string) {
	t.Helper()
	w, err := st.Create(s.manifest())
	if err != nil {
		t.Fatal(err)
	}
	if s.Series {
		putSeries(t, filepath.Join(w.Dir(), record.SeriesDir))
	}
	s.putPosts(t, w)
	if s.Lost > 0 {
		a := workload.AuditResult{Expected: 90, Readable: 90 - s.Lost, Missing: s.Lost}
		if err := w.Users(record.Users{
			Phase: "measure",
			Audit: &record.Audit{AuditResult: a},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if s.Open {
		return ""
	}
	v := record.Validity{Valid: !s.Invalid}
	if s.Invalid {
		v.Findings = []record.Finding{{
			Level: record.Red,
			Gate:  "lag",
			Text:  "the generator was late",
		}}
	}
	if digest, err = w.Seal(t.Context(), v, ""); err != nil {
		t.Fatal(err)
	}
	return digest
}

// manifest returns the manifest of the run.
func (s StoredRun) manifest() record.Manifest {
	kind, users := record.Estimate, s.Capacity
	if users < 0 {
		kind, users = record.AtLeast, -users
	}
	if s.Unstable {
		kind = record.Unstable
	}
	found := &record.Capacity{Kind: kind, Users: users}
	if s.Ended != "" {
		found.Rule = record.ByGate + s.Ended
	}
	var system json.RawMessage
	switch {
	case s.Target != "":
		system = json.RawMessage(s.Target)
	case s.Database != "":
		system = json.RawMessage(fmt.Sprintf(`{"database": {"name": %q}}`, s.Database))
	}
	var accounts *record.AccountsFile
	if s.Accounts != "" {
		accounts = &record.AccountsFile{Name: "users.csv", Rows: 2000, Digest: s.Accounts}
	}
	var of string
	if s.Plan != "" {
		of = TextDigest(s.Plan)
	}
	return record.Manifest{
		ID:         s.ID,
		Plan:       s.Plan,
		PlanDigest: of,
		Target:     system,
		Capacity:   found,
		Accounts:   accounts,
		Epoch: time.Unix(1e9, 0).
			Add(time.Duration(4*s.Cell.Block+s.Cell.Order) * time.Millisecond),
		Block:      s.Cell.Block,
		Order:      s.Cell.Order,
		Arm:        s.Cell.Arm,
		Engine:     s.Cell.Engine,
		Pilot:      s.Pilot,
		Comparison: s.Comparison,
		InDigests:  s.Comparison != "",
		Phases: []record.Phase{{
			Name:  "measure",
			To:    2 * time.Second,
			Users: 50,
		}, {Name: "search", From: 2 * time.Second, To: 3 * time.Second}},
	}
}

// putPosts writes the posts of two seconds.
func (s StoredRun) putPosts(t *testing.T, w *record.Writer) {
	t.Helper()
	for second := range 2 {
		post := measure.NewWindow("post")
		n := cmp.Or(s.Posts, 300)
		for i := range n {
			d := time.Duration(s.Slower * (10 + float64(i)/30) * float64(time.Millisecond))
			post.Response.Record(d)
			post.Service.Record(d)
		}
		post.Classes[measure.OK] = uint64(n)
		if err := w.Windows(second, []*measure.Window{post}); err != nil {
			t.Fatal(err)
		}
	}
}

// putSeries writes the users of four seconds as series.
func putSeries(t *testing.T, dir string) {
	t.Helper()
	db, err := series.Create(dir)
	for second := range 4 {
		var users []series.Sample
		for _, state := range []string{"active", "desired"} {
			users = append(users, series.Sample{
				Name:   "plimsoll_users",
				Labels: []series.Label{{Name: "state", Value: state}},
				Value:  50,
			})
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

// At opens the store in a directory.
func At(tb testing.TB, root string) *store.Store {
	tb.Helper()
	st, err := store.Open(root)
	if err != nil {
		tb.Fatal(err)
	}
	return st
}

// Plan is the plan of stored runs and comparisons.
const Plan = `
name: t
target: {driver: refchat}
database: {engine: [postgresql]}
workload: {behavior: poster}
bounded: {users: 50, ramp: 1s, settle: 1s, measure: 2s}
unbounded: {max_users: 2000, slo: ["mean(op) < 100ms"]}
compare: {arms: {base: {}, new: {}}, combine: true, blocks: 1}
`

// TextDigest is the digest of a plan as it is written.
func TextDigest(plan string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(plan))) }

// PutComparison stores a comparison of blocks blocks, whose new arm has ratio times the capacity of
// the base.
func PutComparison(t *testing.T, st *store.Store, id, text string, blocks int, ratio float64) {
	t.Helper()
	text = regexp.MustCompile(`blocks: \d+`).
		ReplaceAllString(text, fmt.Sprintf("blocks: %d", blocks))
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := &record.Comparison{
		ID:         id,
		Plan:       text,
		PlanDigest: TextDigest(text),
		Arms:       []string{"base", "new"},
		Engines:    p.Engines(),
		Blocks:     blocks,
		State:      record.Sealed,
	}
	for b := 1; b <= blocks; b++ {
		level := 1000 + 7*float64(b*3%5)
		of := map[string]float64{"base": level, "new": level * ratio * (1 + 0.002*float64(b*2%5-2))}
		order := 0
		for _, engine := range c.Engines {
			for _, arm := range c.Arms {
				order++
				cell := record.ComparisonRun{
					Run:    fmt.Sprintf("%s-%c%d", id, arm[0], b),
					Block:  b,
					Order:  order,
					Arm:    arm,
					Engine: engine,
					Valid:  true,
				}
				if order > 2 {
					cell.Run += "-" + engine
				}
				cell.Digest = Put(t, st, StoredRun{
					ID:         cell.Run,
					Capacity:   of[arm],
					Slower:     1,
					Series:     true,
					Plan:       text,
					Comparison: id,
					Cell:       cell,
				})
				c.Runs = append(c.Runs, cell)
			}
		}
	}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
}

// Versions returns [Plan] with the versions of its arms.
func Versions(base, fresh string) string {
	return strings.Replace(
		Plan,
		"{base: {}, new: {}}",
		"{base: {version: "+base+"}, new: {version: "+fresh+"}}",
		1,
	)
}

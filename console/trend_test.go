package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/record/store"
)

// compared puts a comparison of two releases into a store, with supported users by block of each.
func compared(
	t *testing.T,
	st *store.Store,
	id string,
	at int64,
	base, fresh string,
	users [2][]float64,
) {
	t.Helper()
	text := fmt.Sprintf(`name: nightly
target: {driver: refchat}
database: {engine: [postgresql]}
workload: {behavior: poster}
unbounded: {max_users: 2000, slo: ["p99(op) < 2s"]}
compare:
  arms: {base: {version: "%s"}, new: {version: "%s"}}
  blocks: %d
`, base, fresh, len(users[0]))
	sum := sha256.Sum256([]byte(text))
	c := &record.Comparison{
		ID:         id,
		Name:       "nightly",
		Plan:       text,
		PlanDigest: "sha256:" + hex.EncodeToString(sum[:]),
		State:      record.Sealed,
		Arms:       []string{"base", "new"},
		Engines:    []string{"postgresql"},
		Blocks:     len(users[0]),
		Started:    time.Unix(at, 0).UTC(),
	}
	for i, arm := range c.Arms {
		for b, n := range users[i] {
			run := fmt.Sprintf("%s-%s-%d", id, arm, b+1)
			w, err := st.Create(record.Manifest{
				ID:         run,
				Name:       "nightly",
				Plan:       text,
				PlanDigest: c.PlanDigest,
				Arm:        arm,
				Engine:     "postgresql",
				Comparison: id,
				Block:      b + 1,
				Order:      i + 1,
				Epoch:      time.Unix(at, 0).UTC(),
				Capacity:   &record.Capacity{Kind: record.Estimate, Users: n},
				Phases:     []record.Phase{{Name: "search", To: time.Second}},
			})
			if err != nil {
				t.Fatal(err)
			}
			post := measure.NewWindow("post")
			post.Response.RecordN(10*time.Millisecond, 100)
			post.Classes[measure.OK] = 100
			if err := w.Windows(0, []*measure.Window{post}); err != nil {
				t.Fatal(err)
			}
			digest, err := w.Seal(t.Context(), record.Validity{Valid: true}, "")
			if err != nil {
				t.Fatal(err)
			}
			c.Runs = append(c.Runs, record.ComparisonRun{
				Run:    run,
				Digest: digest,
				Block:  b + 1,
				Order:  i + 1,
				Arm:    arm,
				Engine: "postgresql",
				Valid:  true,
			})
		}
	}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
}

// TestTrend multiplies ratios along a chain: users of different comparisons are never divided by
// each other.
func TestTrend(t *testing.T) {
	st, s, srv := serve(t)
	compared(
		t,
		st,
		"second",
		2_000_000,
		"11.1",
		"11.2",
		[2][]float64{{220, 222, 218}, {198, 199.8, 196.2}},
	)
	compared(
		t,
		st,
		"first",
		1_000_000,
		"11.0",
		"11.1",
		[2][]float64{{100, 101, 99}, {110, 111.1, 108.9}},
	)
	type trend struct {
		Lines    []trendLine
		Warnings []string
	}
	read := func(query string) (out trend) {
		t.Helper()
		resp, body := ask(t, srv, "GET", "/api/trend"+query, "")
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status, body)
		}
		(checker{contract(t)}).answered(t, "/api/trend", "/api/trend", body)
		if err := json.Unmarshal([]byte(body), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := read("")
	// The comparison c1 of the store has no plan, and says so.
	if len(got.Lines) != 1 || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "c1") {
		t.Fatalf("%+v", got)
	}
	l := got.Lines[0]
	if l.Plan != "nightly" || l.Engine != "postgresql" ||
		l.Endpoint != "supported users against 11.0" ||
		l.Unit != "%" ||
		len(l.Points) != 3 {
		t.Fatalf("%+v", l)
	}
	for i, want := range []struct {
		version, id string
		value       float64
	}{{"11.0", "first", 0}, {"11.1", "first", 10}, {"11.2", "second", -1}} {
		p := l.Points[i]
		if p.Version != want.version || p.ID != want.id || math.Abs(p.Value-want.value) > 1e-6 ||
			p.Lo == nil ||
			*p.Lo > p.Value+1e-6 ||
			*p.Hi < p.Value-1e-6 {
			t.Errorf("point %d: %+v, want %+v", i, p, want)
		}
	}
	if got := read("?plan=other"); len(got.Lines) != 0 {
		t.Errorf("lines of another plan: %+v", got.Lines)
	}
	// A run that is altered takes its comparison out, once the file of the comparison is another.
	if err := os.WriteFile(filepath.Join(st.Root(), "runs", "second-new-1", record.WindowsFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(""); len(got.Lines) != 1 || len(got.Lines[0].Points) != 3 {
		t.Errorf("judged again: %+v", got)
	}
	s.trends = newRemembered[released](mostReleases)
	if got := read(""); len(got.Lines[0].Points) != 2 || len(got.Warnings) != 2 {
		t.Errorf("an altered run counts: %+v", got)
	}
}

// TestRemembered makes a value once for a file, again when it is another, and keeps no more than it
// may.
func TestRemembered(t *testing.T) {
	dir, made := t.TempDir(), 0
	c := newRemembered[int](2)
	path := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	write := func(i int, text string) {
		t.Helper()
		if err := os.WriteFile(path(i), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	of := func(i int) int {
		t.Helper()
		v, err := c.of(path(i), func() (int, error) { made++; return made, nil })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i := range 3 {
		write(i, "a")
	}
	if first, again := of(0), of(0); first != 1 || again != 1 || of(1) != 2 || of(0) != 1 {
		t.Errorf("made %d times", made)
	}
	if of(2) != 3 || len(c.by) != 2 || of(0) != 1 || of(1) != 4 { // 1 was used longest ago
		t.Errorf("made %d times, %d kept", made, len(c.by))
	}
	write(0, "longer")
	if of(0) != 5 {
		t.Error("a file that has grown is the old one")
	}
	// Of the same size and time, but another file.
	at := time.Unix(1e9, 0)
	if err := os.Chtimes(path(0), at, at); err != nil {
		t.Fatal(err)
	}
	was := of(0)
	write(7, "longer")
	if err := os.Chtimes(path(7), at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path(7), path(0)); err != nil {
		t.Fatal(err)
	}
	if of(0) == was {
		t.Error("a file that was replaced is the old one")
	}
	if _, err := c.of(path(99), func() (int, error) { return 1, nil }); err == nil {
		t.Error("a file that is not there has a value")
	}
}

// TestSeriesAPI opens the series of a run once, keeps no more than it may, and closes what nobody
// uses.
func TestSeriesAPI(t *testing.T) {
	st, s, srv := serve(t)
	open := map[string]int{}
	s.opened = newOpened(func(dir string) (http.Handler, func(), error) {
		if _, err := os.Stat(filepath.Dir(dir)); err != nil {
			return nil, nil, err
		}
		open[dir]++
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"path": %q, "query": %q}`, r.URL.Path, r.URL.RawQuery)
		}), func() { open[dir]-- }, nil
	})
	for range 2 {
		if resp, body := ask(t, srv, "GET", "/api/runs/sealed-1/prometheus/api/v1/query?query=up", ""); resp.StatusCode != 200 ||
			body != `{"path": "/api/v1/query", "query": "query=up"}` {
			t.Fatal(resp.Status, body)
		}
	}
	dir := filepath.Join(st.Root(), "runs", "sealed-1", record.SeriesDir)
	if open[dir] != 1 {
		t.Errorf("opened %d times", open[dir])
	}
	for path, want := range map[string]int{
		"/api/runs/gone/prometheus/api/v1/query":   404,
		"/api/runs/..%2fx/prometheus/api/v1/query": 404,
	} {
		if resp, body := ask(t, srv, "GET", path, ""); resp.StatusCode != want {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
	if resp, body := ask(t, srv, "POST", "/api/runs/sealed-1/prometheus/api/v1/query", ""); resp.StatusCode != 403 {
		t.Errorf("POST: %s %s", resp.Status, body)
	}
	_, hold, err := s.opened.take(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostOpen + 3 {
		other := filepath.Join(t.TempDir(), "series")
		_, release, err := s.opened.take(other)
		if err != nil {
			t.Fatal(i, err)
		}
		release()
	}
	if len(s.opened.by) != mostOpen || open[dir] != 1 {
		t.Errorf("%d are open, the one in use %d times", len(s.opened.by), open[dir])
	}
	s.opened.look(time.Now().Add(2 * openFor))
	if len(s.opened.by) != 1 {
		t.Errorf("%d are open after a long pause", len(s.opened.by))
	}
	s.opened.close()
	if hold(); open[dir] != 0 || len(s.opened.by) != 0 {
		t.Errorf("%d are open after the end: %v", len(s.opened.by), open)
	}
	if _, _, err := s.opened.take(dir); err == nil {
		t.Error("opened after the end")
	}
}

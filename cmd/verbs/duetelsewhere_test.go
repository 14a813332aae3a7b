package verbs

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/evidence"
	"plimsoll/internal/failure"
	"plimsoll/plan"
	"plimsoll/record"
)

// elsewherePlan compares two versions on servers that are up already, in turns. About 10 posts fall
// into a turn.
const elsewherePlan = `
name: elsewhere
seed: 7
target:
  driver: external
  ready: /api/v4/system/ping
  install: [DIR/install]
  env: {HERE: "DIR"}
  verify: {version: none}
  timeouts: {ready: 20s}
workload: {behavior: poster, pace: 0.002, params: {admin_password: "${FILE:DIR/password}"}}
bounded: {users: 4, ramp: 0s, settle: 500ms, measure: 2s}
compare:
  arms: {base: {version: "1.0", url: "BLUE"}, new: {version: "1.0-1", url: "GREEN"}}
  mode: duet
  slice: 100ms
  blocks: BLOCKS
  swap: SWAP
  retry: 0s
` + openGates

// A journal notes which server was posted to, in the order of the posts.
type journal struct {
	mu    sync.Mutex
	posts []string
}

func (j *journal) add(server string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.posts = append(j.posts, server)
	n := 0
	for _, s := range j.posts {
		if s == server {
			n++
		}
	}
	return n
}

// stretches returns how often each server was posted to in a row.
func (j *journal) stretches() (all []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	last := ""
	for _, s := range j.posts {
		if s != last {
			all = append(all, 0)
		}
		last = s
		all[len(all)-1]++
	}
	return all
}

// serveElsewhere serves refnull at an address of its own until it was posted to so often; 0: until
// the end of the test.
func serveElsewhere(t *testing.T, name, address string, j *journal, posts int) (at string) {
	t.Helper()
	listener, err := net.Listen("tcp", address+":0")
	failure.None(t, err)
	forward := nullProxy(t)
	server := &http.Server{ReadHeaderTimeout: time.Minute}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/posts") &&
			j.add(name) == posts {
			_ = server.Close()
		}
		forward.ServeHTTP(w, r)
	})
	served := inBackground(func() error { return server.Serve(listener) })
	t.Cleanup(func() { _ = server.Close(); <-served })
	return "http://" + listener.Addr().String()
}

// compareElsewhere carries elsewherePlan out.
func compareElsewhere(
	t *testing.T,
	blue, green, blocks, swap string,
) (dir string, status int, root string, output *safeBuffer) {
	t.Helper()
	dir = commandDir(t, nil)
	install := "#!/bin/sh\nset -eu\necho \"$PLIMSOLL_BLOCK $PLIMSOLL_ARM $PLIMSOLL_VERSION $PLIMSOLL_URL\" >> \"$HERE/installed\"\n"
	failure.None(t, os.WriteFile(filepath.Join(dir, "install"), []byte(install), 0o700))
	cmd, root, output := startPlan(
		t,
		strings.NewReplacer("DIR", dir, "BLUE", blue, "GREEN", green, "BLOCKS", blocks, "SWAP", swap).
			Replace(elsewherePlan),
		"compare",
	)
	return dir, wait(t, cmd, 3*time.Minute, output), root, output
}

// TestDuetElsewhere compares two equal servers that nobody pauses: their posts come in turns, the
// arms exchange their addresses from one block to the other, and nothing is found.
func TestDuetElsewhere(t *testing.T) {
	t.Parallel()
	j := new(journal)
	blue := serveElsewhere(t, "blue", "127.0.0.1", j, 0)
	green := serveElsewhere(t, "green", "127.0.0.2", j, 0)
	dir, status, root, output := compareElsewhere(t, blue, green, "2", "true")
	if status != exit.Inconclusive {
		t.Errorf("status %d, want %d of two blocks of equal servers", status, exit.Inconclusive)
	}
	if !strings.Contains(
		output.String(),
		"base and new are both on this host, and nothing is paused",
	) {
		t.Error("there is no warning that both are on this host")
	}
	stretches, posts := j.stretches(), 0
	for _, n := range stretches {
		posts += n
	}
	// Posts of two loads at the same time would come in stretches of 2.
	if mean := float64(posts) / float64(len(stretches)); len(stretches) < 20 || mean < 4 {
		t.Errorf("%d posts in %d stretches: they did not come in turns", posts, len(stretches))
	}
	installed, err := os.ReadFile(filepath.Join(dir, "installed"))
	failure.None(t, err)
	p, err := plan.ParseStored([]byte(
		strings.NewReplacer("DIR", dir, "BLUE", blue, "GREEN", green, "BLOCKS", "2", "SWAP", "true").
			Replace(elsewherePlan),
	))
	failure.None(t, err)
	swapped := 0
	var want []string
	for block := 1; block <= 2; block++ {
		for _, arm := range p.Compare.Arms {
			place := p.Place(arm.Name, block)
			want = append(
				want,
				fmt.Sprintf("%d %s %s %s", block, arm.Name, arm.Version, place.URL[0]),
			)
			if place.Name != arm.Name {
				swapped++
			}
		}
	}
	got := strings.Split(strings.TrimSpace(string(installed)), "\n")
	slices.Sort(got)
	if slices.Sort(want); swapped != 2 || !slices.Equal(got, want) {
		t.Errorf("installed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, c, runs := deployedRuns(t, root)
	if c.Mode != plan.ModeDuet || c.State != record.Sealed || len(runs) != 4 {
		t.Fatalf("mode %s, state %s, %d runs", c.Mode, c.State, len(runs))
	}
	for _, r := range runs {
		m := r.Manifest
		d, _ := evidence.TargetOf(m)
		if at := p.Place(m.Arm, m.Block).URL; !slices.Equal(d.URLs, at) {
			t.Errorf("block %d: the run of %s was at %v, want %v", m.Block, m.Arm, d.URLs, at)
		}
		if x := m.Duet; !r.Validity.Valid || x == nil || x.PausedBy != record.PausedByNothing ||
			x.Turns < 5 ||
			x.Foreign <= 0 ||
			x.Pausing != 0 {
			t.Errorf("block %d, %s: %+v, %+v", m.Block, m.Arm, r.Validity.Findings, x)
		}
		checkServed(t, r)
	}
	report, err := os.ReadFile(filepath.Join(root, "store", "comparisons", c.ID, "report-full.md"))
	failure.None(t, err)
	for _, want := range []string{"both arms were up elsewhere at once", "which cannot be paused", "The arms exchanged their addresses", "base at the address of new, new at the address of base",
		"are both on this host"} {
		if !strings.Contains(string(report), want) {
			t.Errorf("the report does not have %q", want)
		}
	}
	if strings.Contains(string(report), "was paused") {
		t.Error("the report has a server that was paused")
	}
	if t.Failed() {
		t.Log(output)
	}
}

// TestArmElsewhereDiesAlone: a server that is gone in the middle of a duet makes its own run void,
// and no other.
func TestArmElsewhereDiesAlone(t *testing.T) {
	t.Parallel()
	j := new(journal)
	_, status, root, output := compareElsewhere(
		t,
		serveElsewhere(t, "blue", "127.0.0.1", j, 0),
		serveElsewhere(t, "green", "127.0.0.2", j, 60),
		"1",
		"false",
	)
	if status != exit.Invalid {
		t.Errorf("status %d, want %d: there is no pair", status, exit.Invalid)
	}
	_, c, runs := duetOf(t, root, output)
	base, dies := runs["base"], runs["new"]
	if c.State != record.Sealed || base == nil || dies == nil {
		t.Fatalf("state %s, runs %+v\n%s", c.State, c.Runs, output)
	}
	if !base.Validity.Valid {
		t.Errorf("the other arm's run is not valid: %+v", base.Validity.Findings)
	}
	checkServed(t, base)
	if dies.Validity.Valid || record.CauseOf(dies.Validity) != record.ByTarget {
		t.Errorf(
			"the arm's run is valid: %v, by %q: %+v",
			dies.Validity.Valid,
			record.CauseOf(dies.Validity),
			dies.Validity.Findings,
		)
	}
	if t.Failed() {
		t.Log(output)
	}
}

package console

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/run/live"
)

// looking is a server over a store, until the function that it returns is called.
func looking(t *testing.T, c Config) (*Console, *httptest.Server, func()) {
	t.Helper()
	s := New(c)
	srv := httptest.NewServer(s.Handler())
	ctx, cancel := context.WithCancel(t.Context())
	looked := make(chan struct{})
	quick(s.hub)
	go func() { defer close(looked); s.hub.look(ctx) }()
	return s, srv, func() { cancel(); close(s.closing); <-looked; srv.Close() }
}

// TestRestart ends a server that has followed a run, while that goes on: the next one shows the
// same past.
func TestRestart(t *testing.T) {
	st := newStore(t)
	w, err := st.Create(record.Manifest{
		ID:    testRun,
		Name:  "quickstart",
		Epoch: time.Unix(200, 0).UTC(),
	})
	if err != nil {
		t.Fatal(err)
	}
	pub, err := live.Open(w.Dir(), func(live.Order) (string, error) { return "", errors.New("no") })
	if err != nil {
		t.Fatal(err)
	}
	defer pub.Close(live.Ending{State: "ended"})
	lines := 0
	event := func(e record.Event) {
		t.Helper()
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
		lines++
	}
	event(record.Event{Kind: "phase", Phase: "ramp"})
	var log []live.LogLine
	second := func(k int) {
		t.Helper()
		at := time.Duration(k) * time.Second
		if k == 3 {
			event(record.Event{At: 2 * time.Second, Kind: "phase", Phase: "measure"})
			log = []live.LogLine{{
				N:    1,
				Kind: "phase",
				Text: "ramp",
			}, {N: lines, At: 2, Kind: "phase", Text: "measure"}}
		}
		post := measure.NewWindow("post")
		post.Response.RecordN(10*time.Millisecond, uint32(10*k))
		post.Classes[measure.OK] = uint64(10 * k)
		if err := w.Windows(k-1, []*measure.Window{post}); err != nil {
			t.Fatal(err)
		}
		event(record.Event{At: at, Kind: "users", Users: 7 * k})
		ms := float64(post.Response.Quantile(0.5).Microseconds()) / 1e3
		f := &live.Frame{
			V:        live.Version,
			Kind:     live.KindRun,
			ID:       testRun,
			Seq:      int64(k),
			At:       at.Seconds(),
			Phase:    "ramp",
			Ops:      float64(10 * k),
			Rules:    []live.Rule{},
			Log:      log,
			Users:    live.UserCount{Active: 7 * k},
			Response: &live.Quantiles{P50: ms, P95: ms, P99: ms},
			Phases:   []live.PhaseSpan{{Name: "ramp"}},
		}
		if k >= 3 {
			two := 2.0
			f.Phase = "measure"
			f.Phases = []live.PhaseSpan{{Name: "ramp", To: &two}, {Name: "measure", From: 2}}
		}
		pub.Publish(f)
	}
	past := func(srv *httptest.Server) map[string]any {
		t.Helper()
		name, p := follow(t, srv, "")()
		if name != "past" {
			t.Fatalf("%s %v", name, p)
		}
		// it is in the run's series, which this one has not
		delete(p["series"].(map[string]any), "users.wanted")
		return p
	}
	one, srv, end := looking(t, Config{Store: st, Open: Viewer})
	for k := 1; k <= 4; k++ {
		second(k)
		until(t, one, int64(k))
	}
	// A second that is being written has histograms, and no users yet.
	if err := w.Windows(4, nil); err != nil {
		t.Fatal(err)
	}
	before := past(srv)
	end()
	two, srv, end := looking(t, Config{Store: st, Open: Viewer})
	defer end()
	until(t, two, 4)
	after := past(srv)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Fatalf("before -, after the restart +:\n%s", diff)
	}
	if n := len(after["t"].([]any)); n != 4 || len(after["log"].([]any)) != 2 {
		t.Fatalf("%d seconds, log %v", n, after["log"])
	}
	// It goes on from there, and no second is there twice.
	second(5)
	until(t, two, 5)
	if ts := past(srv)["t"]; !cmp.Equal(ts, []any{1.0, 2.0, 3.0, 4.0, 5.0}) {
		t.Fatal(ts)
	}
}

// TestSecondFrameOfASecond shows an agent that is lost while the run's clock stands: the frame has
// the same second.
func TestSecondFrameOfASecond(t *testing.T) {
	st, s, srv := serve(t)
	p := publish(t, st)
	p.frame(1)
	until(t, s, 1)
	next := follow(t, srv, "")
	if name, _ := next(); name != "past" {
		t.Fatal(name)
	}
	if name, f := next(); name != "frame" || f["seq"] != 1.0 {
		t.Fatal(name, f)
	}
	p.frame(1) // again, as a publisher repeats it: no new event
	p.line(map[string]any{
		"kind":   "run",
		"id":     testRun,
		"seq":    1,
		"at":     1,
		"agents": []any{map[string]any{"name": "agent 2 of 3", "state": "lost"}},
	})
	name, f := next()
	if agents, _ := f["agents"].([]any); name != "frame" || f["seq"] != 1.0 || len(agents) != 1 ||
		agents[0].(map[string]any)["state"] != "lost" {
		t.Fatal(name, f)
	}
	if fol := s.hub.run(testRun); len(fol.cols.t) != 1 {
		t.Errorf("%d seconds", len(fol.cols.t))
	}
}

const publishesIn = "PLIMSOLL_TEST_PUBLISHES_IN"

// TestPublishes is the process that [TestKilled] kills; by itself it does nothing.
func TestPublishes(t *testing.T) {
	dir := os.Getenv(publishesIn)
	if dir == "" {
		return
	}
	pub, err := live.Open(dir, func(live.Order) (string, error) { return "", errors.New("no") })
	if err != nil {
		t.Fatal(err)
	}
	for seq := int64(1); seq < 2000; seq++ { // it does not outlive the test by much
		pub.Publish(&live.Frame{
			V:    live.Version,
			Kind: live.KindRun,
			ID:   filepath.Base(dir),
			Seq:  seq,
			At:   float64(seq),
		})
		time.Sleep(20 * time.Millisecond)
	}
}

// TestKilled kills the process of a run: its stream ends as died, and so do the list and the
// history, although its files are new. A run may take diedAfter to be sealed, and the server an
// eighth more to see it: that is below three seconds.
func TestKilled(t *testing.T) {
	if diedAfter+diedAfter/8 >= 3*time.Second {
		t.Fatalf("a run that has died is shown so after %v", diedAfter)
	}
	st, s, srv := serve(t)
	dir := filepath.Join(st.Root(), "runs", testRun)
	now := time.Now()
	if err := os.Chtimes(filepath.Join(dir, record.WindowsFile), now, now); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPublishes$")
	cmd.Env = append(os.Environ(), publishesIn+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	until(t, s, 1)
	next := follow(t, srv, "")
	if name, _ := next(); name != "past" {
		t.Fatal(name)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for {
		name, data := next()
		if name == "frame" || name == "past" {
			continue
		}
		if name != "end" || data["state"] != "died" {
			t.Fatal(name, data)
		}
		break
	}
	for _, path := range []string{"/api/live", "/api/history?q=" + testRun, "/api/runs/" + testRun} {
		if _, body := ask(t, srv, "GET", path, ""); !strings.Contains(body, `"state":"died"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	var f map[string]any
	if err := json.Unmarshal(s.hub.run(testRun).frame, &f); err != nil || f["id"] != testRun {
		t.Errorf("the last frame: %v, %v", f, err)
	}
}

// TestLookIsDue looks at a directory each time while something new is in it, and seldom when not.
func TestLookIsDue(t *testing.T) {
	st := newStore(t)
	h, dir := newHub(st), filepath.Join(st.Root(), "runs")
	if h.due("runs", time.Time{}) {
		t.Error("there is no such directory yet")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, tt := range []struct {
		name           string
		changed, asked time.Duration // ago
		want           bool
	}{{"something new", time.Second, time.Millisecond, true}, {"nothing new", 2 * freshFor, time.Millisecond, false}, {"nothing new, long ago", 2 * freshFor, idleEvery, true}} {
		at := now.Add(-tt.changed)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		if got := h.due("runs", now.Add(-tt.asked)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if !h.due("runs", time.Time{}) {
		t.Error("the first look is not due")
	}
}

// TestWholeHasDied shows a comparison whose process is gone, although its file has it as running.
func TestWholeHasDied(t *testing.T) {
	st, s, srv := serve(t)
	c := &record.Comparison{
		ID:      "c2",
		Name:    "quickstart",
		State:   record.Running,
		Arms:    []string{"base", "new"},
		Blocks:  3,
		Started: time.Now(),
	}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	state := func(want string) {
		t.Helper()
		for _, path := range []string{"/api/history?q=c2", "/api/comparisons/c2"} {
			if _, body := ask(t, srv, "GET", path, ""); !strings.Contains(
				body,
				`"state":"`+want+`"`,
			) {
				t.Errorf("%s: %s, want %s", path, body, want)
			}
		}
	}
	state("running")
	f := newFollowed("comparison", st.ComparisonDir("c2"))
	s.hub.mu.Lock()
	s.hub.runs["c2"] = f
	s.hub.mu.Unlock()
	state("running")
	f.finish(map[string]any{"state": "died"})
	state("died")
}

// TestKilledUnseen shows a comparison that was killed while no console ran, by the socket that it
// left; and one that goes on, of which this console has not heard yet.
func TestKilledUnseen(t *testing.T) {
	st, _, srv := serve(t)
	for id, want := range map[string]string{"c3": "died", "c4": "running"} {
		if err := st.SaveComparison(&record.Comparison{
			ID:      id,
			Name:    "quickstart",
			State:   record.Running,
			Arms:    []string{"base", "new"},
			Blocks:  3,
			Started: time.Now(),
		}); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{
			Name: filepath.Join(st.ComparisonDir(id), live.SocketName),
			Net:  "unix",
		})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		defer l.Close()
		if want == "died" {
			l.Close()
		}
		for _, path := range []string{"/api/history?q=" + id, "/api/comparisons/" + id} {
			if _, body := ask(t, srv, "GET", path, ""); !strings.Contains(
				body,
				`"state":"`+want+`"`,
			) {
				t.Errorf("%s: %s, want %s", path, body, want)
			}
		}
	}
}

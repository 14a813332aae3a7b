package console

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/live"
)

const testRun = "20261124-084500-quickstart-a1b2"

// serve returns a server of a store with a sealed run, one under way and a comparison.
func serve(t *testing.T) (*store.Store, *Console, *httptest.Server) {
	t.Helper()
	st := newStore(t)
	w, err := st.Create(record.Manifest{
		ID:       "sealed-1",
		Name:     "small",
		Epoch:    time.Unix(100, 0).UTC(),
		Arm:      "base",
		Engine:   "postgresql",
		Phases:   []record.Phase{{Name: "measure", To: 2 * time.Second}},
		Capacity: &record.Capacity{Kind: record.Estimate, Users: 321},
	})
	if err != nil {
		t.Fatal(err)
	}
	for second := range 2 {
		one := measure.NewWindow("post")
		one.Response.RecordN(10*time.Millisecond, 8)
		one.Classes[measure.OK], one.Classes[measure.Timeout] = 8, 1
		if err := w.Windows(second, []*measure.Window{one}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Event(record.Event{Kind: "note", Text: "<b>a note</b>"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Users(record.Users{Audit: &record.Audit{AuditResult: workload.AuditResult{
		Expected: 90,
		Readable: 87,
		Missing:  3,
	}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(context.Background(), record.Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Create(record.Manifest{
		ID:    testRun,
		Name:  "quickstart",
		Epoch: time.Unix(200, 0).UTC(),
		Arm:   "base",
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(st.Root(), "runs", testRun, record.WindowsFile), time.Unix(300, 0), time.Unix(300, 0)); err != nil {
		t.Fatal(err)
	}
	c := &record.Comparison{
		ID:      "c1",
		Name:    "quickstart",
		State:   record.Sealed,
		Arms:    []string{"base", "new"},
		Engines: []string{"mysql"},
		Blocks:  3,
	}
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	if err := st.SaveSizing(&record.Sizing{
		ID:    "s1",
		Name:  "box",
		State: record.Sealed,
		Steps: []record.SizingStep{{Users: 200, Run: "sealed-1"}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(st.ComparisonDir("c1"), "report.html"), []byte("<p>report"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, srv, end := looking(t, Config{Store: st, Version: "test", Open: Viewer})
	t.Cleanup(end)
	return st, s, srv
}

// quick lets a hub look often and give up soon.
func quick(h *hub) { h.every, h.patience = 10*time.Millisecond, 200*time.Millisecond }

// send sends a request with further header lines, and returns the answer; it follows nothing.
func send(
	t *testing.T,
	srv *httptest.Server,
	method, path, body string,
	header ...string,
) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// ask sends a request to a host; empty is the server's own.
func ask(t *testing.T, srv *httptest.Server, method, path, host string) (*http.Response, string) {
	t.Helper()
	if host == "" {
		return send(t, srv, method, path, "")
	}
	return send(t, srv, method, path, "", "Host: "+host)
}

// newStore returns an empty store.
func newStore(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestAnswersAreNoOperations reads a run in which statuses were counted beside their operations:
// each failure counts once, and an operation that ended in an expected answer has not failed.
func TestAnswersAreNoOperations(t *testing.T) {
	st, _, srv := serve(t)
	w, err := st.Create(record.Manifest{
		ID:     "answered",
		Name:   "small",
		Phases: []record.Phase{{Name: "measure", To: time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	window := func(name string, classes map[measure.Class]uint64) *measure.Window {
		one := measure.NewWindow(name)
		for class, n := range classes {
			one.Classes[class] = n
		}
		return one
	}
	if err := w.Windows(0, []*measure.Window{
		window("expected_404 gone get_thread", map[measure.Class]uint64{measure.Status4xx: 5}),
		window("get_thread", map[measure.Class]uint64{measure.OK: 9}),
		window("http_503 post", map[measure.Class]uint64{measure.Status5xx: 4}),
		window("post", map[measure.Class]uint64{
			measure.OK:        20,
			measure.Status5xx: 7,
			measure.Timeout:   2,
		}),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(t.Context(), record.Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Failures   []live.FailureRow
		Operations []live.Operation
	}
	for _, path := range []string{"errors", "operations"} {
		if _, body := getWith(t, srv, "/api/runs/answered/"+path); json.Unmarshal(
			[]byte(body),
			&got,
		) != nil {
			t.Fatal(body)
		}
	}
	want := []live.FailureRow{{
		Class: "5xx",
		Op:    "post",
		Text:  "503",
		Count: 4,
	}, {Class: "5xx", Op: "post", Count: 3}, {Class: "timeout", Op: "post", Count: 2}}
	if !slices.Equal(got.Failures, want) {
		t.Errorf("failures %+v, want %+v", got.Failures, want)
	}
	if o := got.Operations; len(o) != 2 || o[0].Name != "get_thread" || o[0].Errors != 0 ||
		o[1].Name != "post" ||
		o[1].Errors != 9 {
		t.Errorf("operations %+v", o)
	}
}

func TestRoutes(t *testing.T) {
	_, _, srv := serve(t)
	for path, want := range map[string][]string{
		"/api/session":                              {`"role":"viewer"`, `"login":false`, `"version":"test"`},
		"/api/live":                                 {`{"items":[]}`},
		"/api/history":                              {`"id":"sealed-1"`, `"result":"0 users, 9/s, p95 10 ms, errors 2 of 18; capacity 321 users"`, `"state":"died"`, `"kind":"comparison"`, `"kind":"sizing"`, `"total":4`, `"href":"/api/documents/comparisons/c1/report.html"`},
		"/api/history?kind=run&limit=1&offset=1":    {`"id":"sealed-1"`, `"total":2`},
		"/api/history?q=SMALL+base":                 {`"total":1`},
		"/api/runs/sealed-1":                        {`"state":"sealed"`, `"valid":true`, `"phases":[{"from":0,"name":"measure","to":2}]`, `"gates":[]`},
		"/api/runs/sealed-1/series":                 {`"t":[1,2]`, `"ops":{"mean":[9,9]}`, `"errors.timeout":{"mean":[1,1]}`, `"replace":true`, `"step":1`},
		"/api/runs/sealed-1/series?op=post":         {`"rate":{"mean":[9,9]}`},
		"/api/runs/sealed-1/operations":             {`"name":"post"`, `"count":18`, `"errors":2`, `"rate":9`, `"phase":"measure"`},
		"/api/runs/sealed-1/errors":                 {`"class":"timeout"`, `"op":"post"`, `"count":2`, `"first":0`, `"last":1`},
		"/api/runs/sealed-1/events":                 {`"kind":"note"`, `\u003cb\u003ea note`, `"n":1`},
		"/api/comparisons/c1":                       {`"state":"sealed"`, `"blocks":3`, `"dots":[]`},
		"/api/sizings/s1":                           {`"run":"sealed-1"`, `"users":200`, `"valid":true`, `"lost":3`, `"text":"opening series directory`},
		"/api/documents/comparisons/c1/report.html": {"<p>report"},
		"/":             {"<!doctype html>", "/app.js"},
		"/licenses.txt": {"preact"},
	} {
		resp, body := ask(t, srv, "GET", path, "")
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: %s", path, resp.Status, body)
		}
		for _, w := range want {
			if !strings.Contains(strings.ToLower(body), strings.ToLower(w)) {
				t.Errorf("%s: %.600s lacks %s", path, body, w)
			}
		}
		csp := resp.Header.Get("Content-Security-Policy")
		if own := !strings.HasPrefix(path, "/api/documents/"); own && csp != policy ||
			!own && !strings.HasPrefix(csp, "sandbox allow-scripts;") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" ||
			resp.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: header %v", path, resp.Header)
		}
	}
}

func TestRefused(t *testing.T) {
	st, s, srv := serve(t)
	if err := os.Symlink("/etc/hostname", filepath.Join(st.ComparisonDir("c1"), "link.html")); err != nil {
		t.Fatal(err)
	}
	port := srv.URL[strings.LastIndexByte(srv.URL, ':'):]
	for _, c := range []struct {
		method, path, host string
		status             int
	}{
		{"GET", "/", "evil.example" + port, 403},
		{"GET", "/api/live", "evil.example", 403},
		{"GET", "/api/live", "127.0.0.1:1", 403},
		{"GET", "/api/live", "localhost" + port, 200},
		{"GET", "/api/live", "[::1]" + port, 200},
		{"POST", "/api/live/" + testRun + "/stop", "", 403}, // a viewer
		{"POST", "/api/start", "", 403},
		{"POST", "/api/history", "", 403},
		{"POST", "/api/login", "", 415},
		{"DELETE", "/", "", 405},
		{"HEAD", "/", "", 200},
		// this server has none
		{"GET", "/api/runs/sealed-1/prometheus/api/v1/query?query=up", "", 404},
		{"GET", "/api/live/" + testRun + "/stop", "", 404},
		{"GET", "/api/nothing", "", 404},
		{"GET", "/nothing", "", 404},
		{"GET", "/api/runs/sealed", "", 404}, // a prefix is not an id
		{"GET", "/api/runs/..%2fcomparisons", "", 404},
		{"GET", "/api/comparisons/c", "", 404},
		{"GET", "/api/live/nothing/stream", "", 404},
		{"GET", "/api/history?limit=501", "", 400},
		{"GET", "/api/documents/runs/sealed-1/manifest.json", "", 404},
		{"GET", "/api/documents/comparisons/c1/..%2f..%2fruns%2fx.html", "", 404},
		{"GET", "/api/documents/comparisons/%2e%2e/report.html", "", 404},
		{"GET", "/api/documents/comparisons/c1/link.html", "", 404},
		{"GET", "/api/documents/other/c1/report.html", "", 404},
	} {
		resp, body := ask(t, srv, c.method, c.path, c.host)
		if resp.StatusCode != c.status || c.status >= 400 && !strings.Contains(body, `"error":"`) {
			t.Errorf(
				"%s %s of %q: %s: %s, want %d",
				c.method,
				c.path,
				c.host,
				resp.Status,
				body,
				c.status,
			)
		}
	}
	for address, want := range map[string]string{
		"0.0.0.0:0":      "-tokens",
		":0":             "-tokens",
		"192.0.2.1:7575": "-tokens",
		"example.org:80": "-tokens",
		"7575":           "want an address",
	} {
		if l, _, _, err := s.Listen(Listening{Address: address}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
}

// A publisher plays a run that publishes.
type publisher struct {
	t testing.TB
	l net.Listener
	c net.Conn
}

func publish(t *testing.T, st *store.Store) *publisher {
	t.Helper()
	dir := t.TempDir()
	// The store's path is longer than an address may be: the socket is made by a short one and
	// moved.
	l, err := net.Listen("unix", filepath.Join(dir, live.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := os.Rename(filepath.Join(dir, live.SocketName), filepath.Join(st.Root(), "runs", testRun, live.SocketName)); err != nil {
		t.Fatal(err)
	}
	if err := l.(*net.UnixListener).SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); l.Close() })
	return &publisher{t, l, c}
}

// frame sends the example of the contract as the frame of a second.
func (p *publisher) frame(seq int) {
	p.t.Helper()
	b, err := os.ReadFile("testdata/frame-search.json")
	if err != nil {
		p.t.Fatal(err)
	}
	var f map[string]any
	if err := json.Unmarshal(b, &f); err != nil {
		p.t.Fatal(err)
	}
	f["seq"] = seq
	f["at"] = seq
	f["ops"] = 100 + seq
	f["unknown"] = "handed on"
	p.line(f)
}

func (p *publisher) line(v any) {
	p.t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.c.Write(append(b, '\n')); err != nil {
		p.t.Fatal(err)
	}
}

// follow opens the stream; each call of the function that it returns gives the next event.
func follow(
	t *testing.T,
	srv *httptest.Server,
	last string,
) func() (name string, data map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(
		ctx,
		"GET",
		srv.URL+"/api/live/"+testRun+"/stream"+last,
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	in := bufio.NewReader(resp.Body)
	return func() (name string, data map[string]any) {
		t.Helper()
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatalf("the stream: %v", err)
			}
			if after, ok := strings.CutPrefix(line, "event: "); ok {
				name = strings.TrimSpace(after)
			}
			if after, ok := strings.CutPrefix(line, "data: "); ok {
				if err := json.Unmarshal([]byte(after), &data); err != nil {
					t.Fatal(err)
				}
				return name, data
			}
		}
	}
}

// until waits for the server to have a frame.
func until(t *testing.T, s *Console, seq int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if f := s.hub.run(testRun); f != nil {
			f.mu.Lock()
			at := f.seq
			f.mu.Unlock()
			if at >= seq {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("frame %d did not come", seq)
		}
	}
}

func TestStream(t *testing.T) {
	st, s, srv := serve(t)
	p := publish(t, st)
	for seq := 1; seq <= 3; seq++ {
		p.frame(seq)
	}
	p.line("not a frame")
	until(t, s, 3)
	next := follow(t, srv, "")
	name, past := next()
	ops := past["series"].(map[string]any)["ops"].(map[string]any)["mean"]
	if name != "past" || fmt.Sprint(past["t"]) != "[1 2 3]" || fmt.Sprint(ops) != "[101 102 103]" ||
		past["replace"] != true {
		t.Fatalf("%s %v", name, past)
	}
	if name, f := next(); name != "frame" || f["seq"] != 3.0 || f["unknown"] != "handed on" {
		t.Fatalf("%s %v", name, f)
	}
	p.frame(4)
	if name, f := next(); name != "frame" || f["seq"] != 4.0 {
		t.Fatalf("%s %v", name, f)
	}
	if _, body := ask(t, srv, "GET", "/api/live", ""); !strings.Contains(
		body,
		`"state":"running"`,
	) ||
		!strings.Contains(body, `"verb":"capacity"`) {
		t.Fatal(body)
	}
	// Who comes back gets what it lacks, and no second twice.
	again := follow(t, srv, "?last=2")
	if name, past := again(); name != "past" || fmt.Sprint(past["t"]) != "[3 4]" ||
		past["replace"] != false {
		t.Fatalf("%s %v", name, past)
	}
	p.line(map[string]any{"kind": "end", "state": "ended", "valid": true})
	if name, end := next(); name != "end" || end["state"] != "ended" || end["valid"] != true {
		t.Fatalf("%s %v", name, end)
	}
}

// TestSlowReader takes events as a reader does that was away for a hundred frames: the past and the
// newest, no queue.
func TestSlowReader(t *testing.T) {
	st, s, _ := serve(t)
	p := publish(t, st)
	for seq := 1; seq <= 100; seq++ {
		p.frame(seq)
	}
	until(t, s, 100)
	text, _, now, over := s.hub.run(testRun).events(heardUpTo{seq: 40, frames: 40, past: true})
	if n := strings.Count(text, "event: "); n != 2 || now.seq != 100 || over ||
		!strings.Contains(text, `"t":[41,42,`) ||
		!strings.Contains(text, "id: 100\n") {
		t.Fatalf("%d events up to %d, over %v: %.300s", n, now.seq, over, text)
	}
}

func TestDied(t *testing.T) {
	st, s, srv := serve(t)
	p := publish(t, st)
	p.frame(1)
	until(t, s, 1)
	next := follow(t, srv, "")
	next()
	next()
	p.l.Close()
	p.c.Close()
	if name, end := next(); name != "end" || end["state"] != "died" || end["why"] == "" {
		t.Fatalf("%s %v", name, end)
	}
	if _, body := ask(t, srv, "GET", "/api/live", ""); !strings.Contains(body, `"state":"died"`) {
		t.Fatal(body)
	}
}

// TestColumnsMerge adds two hours: points merge in pairs with least, mean and greatest, and older
// ones go.
func TestColumnsMerge(t *testing.T) {
	c := newColumns(mostPoints, kept)
	for s := 1; s <= 10000; s++ {
		c.add(float64(s), map[string]float64{"ops": float64(s)})
	}
	if last := len(c.t) - 1; len(c.t) > mostPoints || c.step != 4 && c.step != 2 ||
		c.t[last]-c.t[0] > kept {
		t.Fatalf("%d points of %v s, from %v to %v", len(c.t), c.step, c.t[0], c.t[last])
	}
	whole := newColumns(mostPoints, mostSeconds) // of a stored run
	for s := 1; s <= 10000; s++ {
		whole.add(float64(s), map[string]float64{"ops": float64(s)})
	}
	if whole.t[0] != whole.step || len(whole.t) > mostPoints {
		t.Fatalf("a stored run begins at %v, with %d points", whole.t[0], len(whole.t))
	}
	for i, p := range c.by["ops"] {
		if p.max != c.t[i] || p.min != c.t[i]-c.step+1 || p.mean != (p.min+p.max)/2 {
			t.Fatalf("point %d at %v: %+v", i, c.t[i], p)
		}
	}
}

package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
)

// getWith sends a GET with further header lines.
func getWith(
	t *testing.T,
	srv *httptest.Server,
	path string,
	header ...string,
) (*http.Response, string) {
	t.Helper()
	return send(t, srv, "GET", path, "", header...)
}

// TestOtherPagesMakeNoWork refuses reads that come from another page: it would not see the answer,
// but the host would work for it.
func TestOtherPagesMakeNoWork(t *testing.T) {
	_, _, srv := serve(t)
	const report = "/api/documents/comparisons/c1/report.html"
	for _, c := range []struct {
		path, site, mode string
		want             int
	}{
		{"/api/trend", "cross-site", "no-cors", 403},
		{"/api/history", "same-site", "cors", 403},
		{"/api/history", "same-origin", "cors", 200},
		{"/api/history", "none", "navigate", 200},
		{"/api/history", "cross-site", "navigate", 403},
		{report, "cross-site", "no-cors", 403},
		{report, "cross-site", "navigate", 200}, // a link in a mail
		{report, "same-origin", "navigate", 200},
		{"/", "cross-site", "navigate", 200},
	} {
		if resp, body := getWith(t, srv, c.path, "Sec-Fetch-Site: "+c.site, "Sec-Fetch-Mode: "+c.mode); resp.StatusCode != c.want {
			t.Errorf(
				"%s of %s by %s: %s %.200s, want %d",
				c.path,
				c.site,
				c.mode,
				resp.Status,
				body,
				c.want,
			)
		}
	}
}

// TestLoopbackHosts takes every address of the loopback device for a name of this server, and no
// name but localhost.
func TestLoopbackHosts(t *testing.T) {
	_, s, srv := serve(t)
	port := srv.URL[strings.LastIndexByte(srv.URL, ':'):]
	for host, want := range map[string]int{
		"127.0.0.2" + port:              200,
		"127.1.2.3" + port:              200,
		"[::1]" + port:                  200,
		"10.0.0.1" + port:               403,
		"0.0.0.0" + port:                403,
		"127.0.0.1.evil.example" + port: 403,
		"localhost.evil.example" + port: 403,
		"":                              200,
	} {
		if resp, _ := getWith(t, srv, "/api/session", "Host: "+host); resp.StatusCode != want {
			t.Errorf("host %q: %s, want %d", host, resp.Status, want)
		}
	}
	l, url, _, err := s.Listen(Listening{Address: "127.0.0.2:0"})
	if err != nil || !strings.HasPrefix(url, "http://127.0.0.2:") {
		t.Fatal(url, err)
	}
	_ = l.Close()
}

// TestDocumentsAreFiles asks for a pipe, whose opening would wait for its writer.
func TestDocumentsAreFiles(t *testing.T) {
	st, _, srv := serve(t)
	if err := syscall.Mkfifo(filepath.Join(st.ComparisonDir("c1"), "pipe.html"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(st.ComparisonDir("c1"), "dir.html"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe.html", "dir.html"} {
		if resp, body := getWith(t, srv, "/api/documents/comparisons/c1/"+name); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s %s", name, resp.Status, body)
		}
	}
	if resp, body := getWith(t, srv, "/api/documents/comparisons/c1/report.html", "Range: bytes=0-2"); resp.StatusCode != http.StatusPartialContent ||
		body != "<p>" {
		t.Errorf("a range: %s %s", resp.Status, body)
	}
}

// TestPathsBeforeTheLogin writes the paths of the API in other ways: nobody reads it without a
// login.
func TestPathsBeforeTheLogin(t *testing.T) {
	st := newStore(t)
	s := New(Config{Store: st, Tokens: tokens(t)})
	for _, path := range []string{"/api/history", "//api/history", "/./api/history", "/x/../api/history", "/api//history", "/%61pi/history", "/api/session/../history"} {
		req := httptest.NewRequest("GET", "http://127.0.0.1/", nil)
		req.URL.Path = path
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, req)
		if w.Code == http.StatusOK || strings.Contains(w.Body.String(), `"items"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestOneSessionABrowser logs in twice: the first cookie is worth nothing then.
func TestOneSessionABrowser(t *testing.T) {
	st := newStore(t)
	s := New(Config{Store: st, Tokens: tokens(t)})
	login := func(cookie string) string {
		t.Helper()
		req := httptest.NewRequest(
			"POST",
			"http://127.0.0.1/api/login",
			strings.NewReader(`{"token": "`+viewerToken+`"}`),
		)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Cookie", cookieName+"="+cookie)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, req)
		for _, c := range w.Result().Cookies() {
			if c.Name == cookieName && c.Value != cookie {
				return c.Value
			}
		}
		t.Fatalf("%d %s", w.Code, w.Body)
		return ""
	}
	role := func(cookie string) Role {
		t.Helper()
		req := httptest.NewRequest("GET", "http://127.0.0.1/", nil)
		req.Header.Set("Cookie", cookieName+"="+cookie)
		return s.access.of(req)
	}
	// A cookie that was set by somebody else is not taken over.
	first := login("chosen-by-another")
	if role("chosen-by-another") != Nobody || role(first) != Viewer {
		t.Error("the cookie of another is a session")
	}
	if second := login(first); role(first) != Nobody || role(second) != Viewer ||
		len(s.access.sessions) != 1 {
		t.Errorf("%d sessions", len(s.access.sessions))
	}
}

// TestPlanIsNoFlag has a plan whose name is one, in the directory of the server itself.
func TestPlanIsNoFlag(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("-users=5.yaml", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	st := newStore(t)
	parsed := 0
	s := New(Config{Store: st, Plans: ".", Parse: func([]byte) (*plan.Plan, error) {
		parsed++
		return &plan.Plan{Name: "x", Bounded: &plan.Bounded{}}, nil
	}})
	args, err := s.plans.arguments(request{Plan: "-users=5.yaml", Verb: "run"})
	if err != nil {
		t.Fatal(err)
	}
	if last := args[len(args)-1]; !filepath.IsAbs(last) || filepath.Base(last) != "-users=5.yaml" {
		t.Errorf("%q", args)
	}
	if _, err := s.plans.list(); err != nil || parsed != 1 {
		t.Errorf("parsed %d times: %v", parsed, err)
	}
}

// TestLimiterIsSharedByBrowsers asks for the limiter of a run under way at the same time: it is
// looked for once.
func TestLimiterIsSharedByBrowsers(t *testing.T) {
	st, s, srv := serve(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if resp, err := http.Get(srv.URL + "/api/runs/" + testRun + "/limiter"); err != nil ||
				resp.StatusCode != http.StatusOK {
				t.Errorf("%v %v", resp, err)
			} else {
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	was := s.soFar.by[testRun]
	var out map[string]any
	_, body := getWith(t, srv, "/api/runs/"+testRun+"/limiter")
	if err := json.Unmarshal([]byte(body), &out); err != nil || out["so_far"] != true {
		t.Fatal(body, err)
	}
	if now := s.soFar.by[testRun]; !now.at.Equal(was.at) {
		t.Error("it was looked for again")
	}
	if _, ok := s.soFar.get(testRun, was.at.Add(limitAgain)); ok {
		t.Error("it is kept for too long")
	}
	for i := range 3 * mostLimits {
		s.soFar.put(fmt.Sprint(i), was.at, 1)
	}
	if n := len(s.soFar.by); n > mostLimits {
		t.Errorf("%d are kept", n)
	}
	// Of a run that is over it is kept as long as its manifest is the same.
	w, err := st.Create(record.Manifest{ID: "over"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(t.Context(), record.Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	if resp, body := getWith(t, srv, "/api/runs/over/limiter"); resp.StatusCode != http.StatusOK ||
		!strings.Contains(body, `"so_far":false`) {
		t.Fatal(resp.Status, body)
	}
	if _, ok := s.limits.by[filepath.Join(st.Root(), "runs", "over", record.ManifestFile)]; !ok {
		t.Errorf("kept: %v", s.limits.by)
	}
}

// TestLimiterOfARunThatHasEnded requests the limiter of a run while it is under way, and just after
// its end: the first answer is not served as the limiter of the whole run.
func TestLimiterOfARunThatHasEnded(t *testing.T) {
	st, _, srv := serve(t)
	w, err := st.Create(record.Manifest{ID: "ends"})
	if err != nil {
		t.Fatal(err)
	}
	soFar := func(want bool) {
		t.Helper()
		resp, body := getWith(t, srv, "/api/runs/ends/limiter")
		if resp.StatusCode != http.StatusOK ||
			!strings.Contains(body, fmt.Sprintf(`"so_far":%v`, want)) {
			t.Errorf("%s: %s, want so_far %v", resp.Status, body, want)
		}
	}
	soFar(true)
	if _, err := w.Seal(t.Context(), record.Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	soFar(false)
	soFar(false) // as it is kept
}

// TestRunPageShowsDamagedSeries changes a byte of a run's series.
func TestRunPageShowsDamagedSeries(t *testing.T) {
	st, _, srv := serve(t)
	w, err := st.Create(record.Manifest{ID: "with-series", Epoch: time.Unix(100, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(st.Root(), "runs", "with-series", record.SeriesDir, "index")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("series"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(t.Context(), record.Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	if _, body := getWith(t, srv, "/api/runs/with-series"); !strings.Contains(
		body,
		`"valid":true`,
	) {
		t.Fatal(body)
	}
	if err := os.WriteFile(file, []byte("sEries"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, body := getWith(t, srv, "/api/runs/with-series")
	if !strings.Contains(body, `"valid":false`) ||
		!strings.Contains(body, "changed since the run was sealed: series/index") {
		t.Errorf("the page: %s", body)
	}
}

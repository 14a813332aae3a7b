package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

func TestScrape(t *testing.T) {
	var accept atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accept.Store(r.Header.Get("Accept"))
		switch r.URL.Path {
		case "/ok":
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprint(w, strings.Repeat("x 1\n", 5000))
		case "/denied":
			http.Error(w, "no", http.StatusForbidden)
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "x 1\n")
		case "/slow":
			<-r.Context().Done()
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		case "/endless":
			b := make([]byte, 1<<20)
			for {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		}
	}))
	defer srv.Close()
	for path, want := range map[string]string{
		"/ok":      "",
		"/denied":  "403",
		"/moved":   "302",
		"/cut":     "unexpected EOF",
		"/slow":    "deadline",
		"/endless": "larger than 16 MiB",
		"/header":  "server response headers exceeded 65536 bytes",
	} {
		t.Run(path[1:], func(t *testing.T) {
			s, err := NewScrape(srv.URL+path+"?token=geheim", nil)
			failure.None(t, err)
			defer s.Close()
			wait := 20 * time.Second
			if path == "/slow" {
				wait = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			body, kind, err := s.Scrape(ctx)
			if want != "" {
				failure.Says(t, err, want)
				failure.Hides(t, err, "geheim")
				return
			}
			if err != nil || len(body) != 20000 || kind != "text/plain; version=0.0.4" {
				t.Errorf("%d bytes of %q, %v", len(body), kind, err)
			}
			if got := accept.Load().(string); !strings.Contains(got, "openmetrics") {
				t.Errorf("Accept: %s", got)
			}
			if body2, _, err := s.Scrape(ctx); err != nil || len(body2) != 20000 {
				t.Errorf("again: %d bytes, %v", len(body2), err)
			}
			if s.Labels()["instance"] == "" {
				t.Error("no label instance")
			}
		})
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	s, err := NewScrape(gone.URL+"/metrics?token=geheim", nil)
	failure.None(t, err)
	if _, _, err := s.Scrape(t.Context()); err == nil || strings.Contains(err.Error(), "geheim") ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestNewScrapeRefuses(t *testing.T) {
	for _, u := range []string{"", "localhost:8067/metrics", "ftp://h/m", "http://", "http://user:geheim@h:port/", "http://%zz"} {
		_, err := NewScrape(u, nil)
		failure.Hides(t, err, "geheim")
	}
	s, err := NewScrape(
		"http://user:geheim@host:1/metrics?t=geheim",
		map[string]string{"instance": "app-0"},
	)
	failure.None(t, err)
	if s.Name() != "scrape host:1/metrics" || s.Labels()["instance"] != "app-0" {
		t.Errorf("name %q, labels %v", s.Name(), s.Labels())
	}
}

// growing is a page whose only series has a label more each time, and many from the third on.
type growing struct{ asked int }

func (g *growing) Name() string              { return "scrape growing" }
func (g *growing) Labels() map[string]string { return map[string]string{"instance": "app-0"} }
func (g *growing) Scrape(context.Context) ([]byte, string, error) {
	g.asked++
	n := g.asked
	if n > 2 {
		n += series.MaxLabels
	}
	var b strings.Builder
	b.WriteString("x{")
	for i := range n {
		fmt.Fprintf(&b, "l%d=\"v\",", i)
	}
	return []byte(b.String() + "} 1\n"), "", nil
}

// TestScrapeThatGrowsIsAFailedSample: a page that would fill the memory is a failure of its probe
// with the reason, and its health is stored.
func TestScrapeThatGrowsIsAFailedSample(t *testing.T) {
	db, err := series.Create(t.TempDir())
	failure.None(t, err)
	defer db.Close()
	r := NewRunner(db, 0)
	r.AddScraper(&growing{})
	p, start := r.probes[0], time.Now()
	for n := range 5 { // as Run does at each tick
		at := start.Add(time.Duration(n) * time.Second)
		r.note(p, at, time.Millisecond, r.sample(t.Context(), p, at), 0)
	}
	st := r.Status()[0]
	if st.Samples != 2 || st.Failures != 3 ||
		!strings.Contains(fmt.Sprint(st.LastErr), "labels; want at most 64") {
		t.Errorf("%+v", st)
	}
	for query, want := range map[string]float64{
		"up":                            0,
		"plimsoll_probe_up":             0,
		"plimsoll_probe_failures_total": 3,
	} {
		got, err := db.Query(t.Context(), query, start.Add(4*time.Second))
		if err != nil || len(got) != 1 || got[0].Value != want {
			t.Errorf("%s: %v, %v; want %v", query, got, err, want)
		}
	}
}

// The end of Run cuts a scrape off, which is not a failure of the target.
func TestRunnerEndsDuringScrape(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer srv.Close()
	s, err := NewScrape(srv.URL, nil)
	failure.None(t, err)
	defer s.Close()
	r := NewRunner(&memory{}, time.Hour)
	r.AddScraper(s)
	ctx, cancel := context.WithTimeoutCause(
		t.Context(),
		100*time.Millisecond,
		errors.New("end of the run"),
	)
	defer cancel()
	failure.None(t, r.Run(ctx))
	if st := r.Status()[0]; st.Failures != 0 {
		t.Errorf("status %+v", st)
	}
}

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
		"/ok": "", "/denied": "403", "/moved": "302", "/cut": "unexpected EOF", "/slow": "deadline", "/endless": "larger than 64 MiB",
	} {
		t.Run(path[1:], func(t *testing.T) {
			s, err := NewScrape(srv.URL+path+"?token=geheim", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			wait := 20 * time.Second
			if path == "/slow" {
				wait = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			body, kind, err := s.Scrape(ctx)
			if want != "" {
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
					t.Errorf("error %v, want %q and no secret", err, want)
				}
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
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Scrape(t.Context()); err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestNewScrapeRefuses(t *testing.T) {
	for _, u := range []string{"", "localhost:8067/metrics", "ftp://h/m", "http://", "http://user:geheim@h:port/", "http://%zz"} {
		_, err := NewScrape(u, nil)
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("NewScrape(%q): %v", u, err)
		}
	}
	s, err := NewScrape("http://user:geheim@host:1/metrics?t=geheim", map[string]string{"instance": "app-0"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Name() != "scrape host:1/metrics" || s.Labels()["instance"] != "app-0" {
		t.Errorf("name %q, labels %v", s.Name(), s.Labels())
	}
}

// What Run ends cuts a scrape off; that is not a failure of the target.
func TestRunnerEndsDuringScrape(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	s, err := NewScrape(srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := NewRunner(&memory{}, time.Hour)
	r.AddScraper(s)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("end of the run"))
	defer cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if st := r.Status()[0]; st.Failures != 0 {
		t.Errorf("status %+v", st)
	}
}

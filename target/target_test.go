package target_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/lab"
)

func TestJoin(t *testing.T) {
	tests := []struct{ base, ref, want string }{
		{"http://h:1", "/ping", "http://h:1/ping"},
		{"http://h:1/", "/ping", "http://h:1/ping"},
		{"http://h:1/sub", "ping", "http://h:1/sub/ping"},
		{"http://h:1", "", "http://h:1"},
		{"http://h:1", "http://other:2/x", "http://other:2/x"},
	}
	for _, tt := range tests {
		if got := target.Join(tt.base, tt.ref); got != tt.want {
			t.Errorf("Join(%q, %q) = %q, want %q", tt.base, tt.ref, got, tt.want)
		}
	}
}

func TestWaitReady(t *testing.T) {
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" && asked.Add(1) >= 3 {
			return
		}
		http.Error(w, "not yet", http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := target.WaitReady(ctx, srv.URL+"/late", nil); err != nil || asked.Load() != 3 {
		t.Errorf("WaitReady() = %v after %d questions, want nil after 3", err, asked.Load())
	}
	ended := make(chan struct{})
	close(ended)
	failure.Says(t, target.WaitReady(ctx, srv.URL+"/never", ended), "ended before")
	short, cancel := context.WithTimeoutCause(
		t.Context(),
		100*time.Millisecond,
		errors.New("too late"),
	)
	defer cancel()
	err := target.WaitReady(short, srv.URL+"/never", nil)
	failure.Says(t, err, "too late", "503")
}

// fake is a deployment whose only process is this test's child.
type fake struct {
	target.Deployment
	url  string
	pids map[string][]int
}

func (f fake) URLs() []string         { return []string{f.url} }
func (f fake) MetricsURLs() []string  { return nil }
func (f fake) PIDs() map[string][]int { return f.pids }
func (f fake) Describe() target.Description {
	return target.Description{
		Driver:    "fake",
		Instances: 1,
	}
}

func TestState(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	ok := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer ok.Close()
	p, err := lab.Start(t.Context(), lab.Spec{Path: "/bin/sleep", Args: []string{"300"}})
	failure.None(t, err)
	defer func() { failure.None(t, p.Kill()) }()
	dir := t.TempDir()
	failure.Is(t, failure.Of(target.Load(dir)), target.ErrNotUp)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	failure.None(t, target.Save(dir, fake{
		url:  srv.URL,
		pids: map[string][]int{"app": {p.PID()}},
	}, "/ready", now))
	s, err := target.Load(dir)
	failure.None(t, err)
	me, err := lab.Identify(os.Getpid())
	failure.None(t, err)
	network, err := os.Readlink("/proc/self/ns/net")
	failure.None(t, err)
	want := target.StateFile{
		Description: target.Description{Driver: "fake", Instances: 1},
		URLs:        []string{srv.URL},
		Ready:       []string{srv.URL + "/ready"},
		Started:     now,
		Owner:       me,
		Network:     network,
		Processes:   map[string][]lab.Identity{"app": {p.Identity()}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	st := s.Status(t.Context(), nil)
	if !st.Owned || st.Ready || !strings.Contains(st.Why, "404") || len(st.PIDs["app"]) != 1 {
		t.Errorf("status %+v, want owned, not ready because of 404, one process", st)
	}
	// One in another network gets no request from here: another server may have its address.
	away := s
	away.Network, away.Ready = "net:[1]", []string{ok.URL}
	if st := away.Status(t.Context(), nil); st.Ready ||
		!strings.Contains(st.Why, "another network") {
		t.Errorf("in another network: %+v", st)
	}
	away.Network = network
	if st := away.Status(t.Context(), nil); !st.Ready {
		t.Errorf("in this network: %+v", st)
	}
	failure.Says(t, target.Down(t.Context(), dir), "must stop it itself")
	failure.None(t, target.Forget(dir))
	failure.Is(t, failure.Of(target.Load(dir)), target.ErrNotUp)
}

// A second target in the same directory would take the file of the first, which nobody finds then.
func TestTheStateOfAnotherTargetStays(t *testing.T) {
	p, err := lab.Start(t.Context(), lab.Spec{Path: "/bin/sleep", Args: []string{"300"}})
	failure.None(t, err)
	defer func() { _ = p.Kill() }()
	dir := t.TempDir()
	b, err := json.Marshal(target.StateFile{
		URLs:  []string{"http://127.0.0.1:1"},
		Owner: p.Identity(),
	})
	failure.None(t, err)
	failure.None(t, os.WriteFile(filepath.Join(dir, "target.json"), b, 0o600))
	other := fake{url: "http://127.0.0.1:2"}
	failure.Is(t, target.Save(dir, other, "", time.Now()), target.ErrUp)
	if s, err := target.Load(dir); err != nil || len(s.URLs) != 1 ||
		s.URLs[0] != "http://127.0.0.1:1" {
		t.Errorf("the state file: %+v, %v; want that of the first target", s, err)
	}
	failure.None(t, p.Kill())
	for range 2 { // after a program that is gone, and again by this one
		failure.None(t, target.Save(dir, other, "", time.Now()))
	}
}

func TestLoadBrokenState(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "target.json")
	failure.None(t, os.WriteFile(name, []byte("{"), 0o600))
	failure.Says(t, failure.Of(target.Load(dir)), name)
}

// TestStateTellsNoSecret: an address may hold a token, and the file is for all to read.
func TestStateTellsNoSecret(t *testing.T) {
	dir := t.TempDir()
	failure.None(t, target.Save(dir, metered{fake{url: "http://127.0.0.1:1"}}, "/r", time.Now()))
	if b, err := os.ReadFile(filepath.Join(dir, "target.json")); err != nil ||
		strings.Contains(string(b), "hush-hush") ||
		!strings.Contains(string(b), "/metrics?...") {
		t.Errorf("%v; the state file: %s", err, b)
	}
}

type metered struct{ fake }

func (metered) MetricsURLs() []string {
	return []string{"http://127.0.0.1:1/metrics?token=hush-hush"}
}

package rig

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/internal/plain"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/external"
)

// TestVersionOfAServer: a version that is not the arm's, and one that cannot be read, are errors that name the server;
// the description has the version that was found, and not that of the plan.
func TestVersionOfAServer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(srv.Close)
	var names []string
	var fails error
	d := &dialect.Dialect{Name: "d", Behaviors: dialect.Registry{"b": nil}, Release: func(_ context.Context, env workload.Env) ([]string, error) {
		if env.URL != srv.URL {
			t.Errorf("%s was asked, not %s", env.URL, srv.URL)
		}
		return names, fails
	}}
	d.Behaviors["b"] = func() workload.Behavior { return nil }
	s := &Session{Program: &Program{Dialects: dialect.Set{d}}, Plan: &plan.Plan{Workload: plan.Workload{Behavior: "b"}}}
	dep, err := new(external.Driver).Deploy(t.Context(), target.Spec{Name: "new", Version: "11.1-rc2", URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	sys := &System{Deployment: dep, speaks: s.Dialects, secrets: func(string) string { return "" }}
	sys.commanded = &commanded{Site: dep.(*external.Site), want: "11.1-rc2", grounds: newGrounds()}
	names = []string{"11.1.0", "11.1.0-rc2"}
	if err := s.checkRelease(t.Context(), sys); err != nil || dep.Describe().Version != "11.1.0-rc2" {
		t.Errorf("%v, version %s", err, dep.Describe().Version)
	}
	sys.commanded.want = "11.1"
	if err := s.checkRelease(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "reports the version 11.1.0, 11.1.0-rc2, and the arm is 11.1:") {
		t.Errorf("a candidate of the release: %v", err)
	}
	sys.commanded.want = "11.1-rc2"
	names = []string{"11.0.4"}
	if err := s.checkRelease(t.Context(), sys); err == nil || !strings.Contains(err.Error(), srv.URL+" reports the version 11.0.4, and the arm is 11.1-rc2") || dep.Describe().Version != "11.0.4" {
		t.Errorf("%v, version %s", err, dep.Describe().Version)
	}
	fails = errors.New("it answers nonsense")
	if err := s.checkRelease(t.Context(), sys); !errors.Is(err, fails) {
		t.Errorf("%v", err)
	}
	// Of several servers each is asked: the second may be an old one.
	second := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(second.Close)
	d.Release = func(_ context.Context, env workload.Env) ([]string, error) {
		return []string{map[string]string{srv.URL: "11.1.0-rc2", second.URL: "11.0.4"}[env.URL]}, nil
	}
	both, err := new(external.Driver).Deploy(t.Context(), target.Spec{Name: "new", Version: "11.1-rc2", URLs: []string{srv.URL, second.URL}})
	if err != nil {
		t.Fatal(err)
	}
	of := &System{Deployment: both, speaks: s.Dialects, secrets: sys.secrets}
	of.commanded = &commanded{Site: both.(*external.Site), want: "11.1-rc2", grounds: newGrounds()}
	if err := s.checkRelease(t.Context(), of); err == nil || !strings.Contains(err.Error(), "the server at "+second.URL+" reports the version 11.0.4") {
		t.Errorf("an old second server: %v", err)
	}
	sys.commanded.want = ""
	if err := s.checkRelease(t.Context(), sys); err != nil {
		t.Errorf("a version that is not compared: %v", err)
	}
}

// A description has the counts that the plan compares and no others; without a reset the error names the installation.
func TestStateNamesCheckedCounts(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(srv.Close)
	posts := int64(7)
	d := &dialect.Dialect{Name: "d", Behaviors: dialect.Registry{"b": func() workload.Behavior { return nil }}, Objects: func(context.Context, workload.Env) (map[string]int64, error) {
		return map[string]int64{"users": 3, "channels": 5, "posts": posts}, nil
	}}
	s := &Session{Program: &Program{Dialects: dialect.Set{d}}, Plan: &plan.Plan{Workload: plan.Workload{Behavior: "b"}}, Progress: NewReporter(io.Discard, new(plain.Secrets), false)}
	dep, err := new(external.Driver).Deploy(t.Context(), target.Spec{Name: "new", URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	sys := &System{Deployment: dep, speaks: s.Dialects, secrets: func(string) string { return "" }}
	sys.commanded = &commanded{Site: dep.(*external.Site), grounds: newGrounds(), verify: plan.Verification{Users: plan.Expectation{Kind: plan.Unverified}, Posts: plan.Expectation{Kind: plan.Exactly, N: 7}}}
	if _, err := s.checkObjects(t.Context(), sys); err != nil || dep.Describe().Settings[stateFact] != "7 posts" {
		t.Errorf("%v, state %q", err, dep.Describe().Settings[stateFact])
	}
	posts = 8
	if _, err := s.checkObjects(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "has 8 posts, where the plan expects 7 ±0") || strings.Contains(err.Error(), "reset") || !strings.Contains(err.Error(), "mend target.install") {
		t.Errorf("without a reset: %v", err)
	}
}

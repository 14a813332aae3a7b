package deploy

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/target"
)

// TestVersionOfAServer: a version that is not the arm's, and one that cannot be read, are errors
// that name the server; the description has the version that was found, not the plan's.
func TestVersionOfAServer(t *testing.T) {
	srv := answering(t)
	var names []string
	var fails error
	d := &dialect.Dialect{
		Name:      "d",
		Behaviors: dialect.Registry{"b": nil},
		Release: func(_ context.Context, env workload.Env) ([]string, error) {
			if env.URL != srv {
				t.Errorf("%s was asked, not %s", env.URL, srv)
			}
			return names, fails
		},
	}
	d.Behaviors["b"] = func() workload.Behavior { return nil }
	dep := deployed(t, target.Spec{Name: "new", Version: "11.1-rc2", URL: srv})
	c := installed(d, &Installation{Site: dep, want: "11.1-rc2"})
	names = []string{"11.1.0", "11.1.0-rc2"}
	if err := c.CheckRelease(t.Context()); err != nil || dep.Describe().Version != "11.1.0-rc2" {
		t.Errorf("%v, version %s", err, dep.Describe().Version)
	}
	c.want = "11.1"
	if err := c.CheckRelease(t.Context()); err == nil ||
		!strings.Contains(
			err.Error(),
			"reports the version 11.1.0, 11.1.0-rc2, and the arm is 11.1:",
		) {
		t.Errorf("a candidate of the release: %v", err)
	}
	c.want = "11.1-rc2"
	names = []string{"11.0.4"}
	if err := c.CheckRelease(t.Context()); err == nil ||
		!strings.Contains(
			err.Error(),
			srv+" reports the version 11.0.4, and the arm is 11.1-rc2",
		) ||
		dep.Describe().Version != "11.0.4" {
		t.Errorf("%v, version %s", err, dep.Describe().Version)
	}
	fails = errors.New("it answers nonsense")
	if err := c.CheckRelease(t.Context()); !errors.Is(err, fails) {
		t.Errorf("%v", err)
	}
	// Of several servers each is asked: the second may be an old one.
	second := answering(t)
	d.Release = func(_ context.Context, env workload.Env) ([]string, error) {
		return []string{map[string]string{srv: "11.1.0-rc2", second: "11.0.4"}[env.URL]}, nil
	}
	both := deployed(t, target.Spec{Name: "new", Version: "11.1-rc2", URLs: []string{srv, second}})
	of := installed(d, &Installation{Site: both, want: "11.1-rc2"})
	if err := of.CheckRelease(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "the server at "+second+" reports the version 11.0.4") {
		t.Errorf("an old second server: %v", err)
	}
	c.want = ""
	if err := c.CheckRelease(t.Context()); err != nil {
		t.Errorf("a version that is not compared: %v", err)
	}
}

// A description has the counts that the plan compares and no others; without a reset the error
// names the installation.
func TestStateNamesCheckedCounts(t *testing.T) {
	srv := answering(t)
	posts := int64(7)
	d := &dialect.Dialect{
		Name:      "d",
		Behaviors: dialect.Registry{"b": func() workload.Behavior { return nil }},
		Objects: func(context.Context, workload.Env) (map[string]int64, error) {
			return map[string]int64{"users": 3, "channels": 5, "posts": posts}, nil
		},
	}
	dep := deployed(t, target.Spec{Name: "new", URL: srv})
	c := installed(d, &Installation{
		Site: dep,
		verify: plan.Verification{
			Users: plan.Expectation{Kind: plan.Unverified},
			Posts: plan.Expectation{Kind: plan.Exactly, N: 7},
		},
	})
	if _, err := c.checkObjects(t.Context(), nobody{}); err != nil {
		t.Fatal(err)
	}
	found := dep.Describe()
	if found.Settings[stateFact] != "7 posts" ||
		!maps.Equal(found.Objects, map[string]int64{"posts": 7}) {
		t.Errorf("state %q, objects %v", found.Settings[stateFact], found.Objects)
	}
	posts = 8
	if _, err := c.checkObjects(t.Context(), nobody{}); err == nil ||
		!strings.Contains(err.Error(), "has 8 posts, where the plan expects 7 ±0") ||
		strings.Contains(err.Error(), "reset") ||
		!strings.Contains(err.Error(), "mend target.install") {
		t.Errorf("without a reset: %v", err)
	}
}

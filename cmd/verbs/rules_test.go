package verbs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/plan"
)

// TestEveryBoundedTestHasRules: a plan with nothing but bounded is judged by failed operations and, where its users
// keep WebSockets, by those that break; rules of its own are kept.
func TestEveryBoundedTestHasRules(t *testing.T) {
	const chat = "name: n\ntarget: {driver: external, url: \"http://h\"}\nworkload: {behavior: mattermost, share: 90%, with: {poster: 10%}}\n"
	posters := strings.Replace(chat, "mattermost, share: 90%, with: {poster: 10%}", "poster", 1)
	for _, tt := range []struct {
		name, src string
		want      []string
	}{
		{"the README's", chat + "bounded: {users: 200}\n", []string{plan.FailedOperations, dialect.DisconnectedUsers}},
		{"posters", posters + "bounded: {users: 200}\n", []string{plan.FailedOperations}},
		{"rules of its own", chat + "bounded: {users: 200, slo: [\"p99(op) < 2s\"]}\n", []string{"p99(op) < 2s", plan.FailedOperations, dialect.DisconnectedUsers}},
		{"limits of its own", chat + "bounded: {users: 200, slo: [\"rate(errors) < 5%\", \"rate(disconnected) < 50%\"]}\n", []string{"rate(errors) < 5% min 40", "rate(disconnected) < 50% min 4"}},
		{"a search's", chat + "bounded: {users: 200}\nunbounded: {max_users: 900, slo: [\"p99(op) < 2s\"]}\n", []string{"p99(op) < 2s", plan.FailedOperations}},
		{"its own, not the search's", chat + "bounded: {users: 200, slo: [\"rate(errors) < 5%\"]}\nunbounded: {max_users: 900, slo: [\"p99(op) < 2s\"]}\n", []string{"rate(errors) < 5% min 40", dialect.DisconnectedUsers}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := known().Parse([]byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			before := p.String()
			var got []string
			for _, r := range dialects.WithDefaultRules(p).BoundedRules() {
				got = append(got, r.Source)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if p.String() != before {
				t.Error("the caller's plan was changed")
			}
			if _, err := plan.Parse([]byte(dialects.WithDefaultRules(p).String())); err != nil {
				t.Errorf("the stored plan is not readable: %v", err)
			}
		})
	}
}

// TestEverySearchLimitsFailedOperations: with default rules, with rules of its own, and in each example.
func TestEverySearchLimitsFailedOperations(t *testing.T) {
	const search = "name: n\ntarget: {driver: external, url: \"http://h\"}\nworkload: {behavior: poster}\nunbounded: {max_users: 9, slo: [%s]}\n"
	texts := map[string][]byte{}
	for name, slo := range map[string]string{"rules of its own": `"p99(op) < 2s"`, "a warning": `"rate(errors) < 5% warning"`, "a limit of its own": `"p99(op) < 2s", "rate(errors) < 5%"`} {
		texts[name] = fmt.Appendf(nil, search, slo)
	}
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		if texts[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts {
		p, err := known().Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		q := dialects.WithDefaultRules(p)
		if q.Unbounded != nil && !slices.ContainsFunc(q.Unbounded.SLO, plan.SLO.LimitsErrors) {
			t.Errorf("%s: no rule limits failed operations: %v", name, q.Unbounded.SLO)
		}
		if own := !strings.HasPrefix(name, ".."); own && len(q.Unbounded.SLO) != 2 {
			t.Errorf("%s: %v, want two rules", name, q.Unbounded.SLO)
		}
		if why := p.Uncombined(); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

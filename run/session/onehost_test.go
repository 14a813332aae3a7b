package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"plimsoll/dialect"
	"plimsoll/internal/plain"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy"
)

// elsewherePlan is a plan of arms at two addresses, with keys of the comparison.
func elsewherePlan(t *testing.T, base, fresh, keys string) *plan.Plan {
	t.Helper()
	p, err := plan.Known{Drivers: []string{plan.External}}.Parse(fmt.Appendf(nil, `name: n
target: {driver: external}
workload: {behavior: poster}
bounded: {users: 5}
compare: {arms: {base: {url: %q}, new: {url: %q}}%s}
`, base, fresh, keys))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Two references to one address are refused in a duet, and warned of in a sequence, without the address's password.
func TestReferencesToOneServer(t *testing.T) {
	pr := &Program{Resolver: deploy.Resolver{Secrets: new(plain.Secrets), Env: func(name string) string {
		return map[string]string{"A": "http://127.0.0.1:8065", "B": "http://127.0.0.1:8065", "C": "http://127.0.0.2:8065"}[name]
	}}}
	for _, tt := range []struct{ base, fresh, keys, err, caution string }{
		{"${ENV:A}", "${ENV:B}", ", mode: duet", "base and new are both at", ""},
		{"${ENV:A}", "${ENV:C}", ", mode: duet", "", "base and new are both on this host"},
		{"${ENV:A}", "${ENV:B}", "", "", "base and new both lead to 127.0.0.1:8065"},
		{"${ENV:A}", "${ENV:C}", "", "", ""},
		{"${ENV:A}", "${ENV:NONE}", "", "compare.arms.new: ", ""},
	} {
		_, cautions, err := pr.modeOf(elsewherePlan(t, tt.base, tt.fresh, tt.keys))
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s and %s%s: %v, want %q", tt.base, tt.fresh, tt.keys, err, tt.err)
		}
		if text := strings.Join(cautions, "; "); !strings.Contains(text, tt.caution) || (text == "") != (tt.caution == "") {
			t.Errorf("%s and %s%s: %q, want %q", tt.base, tt.fresh, tt.keys, text, tt.caution)
		}
	}
}

// TestInstalledOver: of two arms of a duet that are one server, the one that was prepared first has the version of the
// other before its first turn.
func TestInstalledOver(t *testing.T) {
	srv := answering(t)
	there := filepath.Join(t.TempDir(), "version")
	d := plainDialect()
	d.Release = func(context.Context, workload.Env) ([]string, error) {
		b, err := os.ReadFile(there)
		return []string{string(b)}, err
	}
	p := parsed(t, fmt.Sprintf(`{name: n, target: {driver: external, install: [/bin/sh, -c, 'printf "$PLIMSOLL_VERSION" > %s'],
verify: {users: none, channels: none, posts: none}}, workload: {behavior: b}, bounded: {users: 5},
compare: {mode: duet, arms: {base: {url: %q, version: "11.0"}, new: {url: %q, version: "11.1"}}}}`,
		there, srv, strings.Replace(srv, "127.0.0.1", "localhost", 1)))
	s := &Session{Program: &Program{Resolver: deploy.Resolver{Env: func(string) string { return "" }, Dialects: dialect.Set{d}}}, Plan: p, Progress: silent()}
	systems := deploymentsOf(s)
	block := NewDuetBlock(2)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, arm := range []string{"base", "new"} {
		sys, err := systems.System(t.Context(), deploy.Need{Arm: arm})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			p := block.Place(nil, nil)
			defer p.arrive()
			_, errs[i] = s.ready(t.Context(), sys, RunPart{Arm: arm, Place: p})
		})
	}
	wg.Wait()
	lost := 0
	for _, err := range errs {
		if err != nil && strings.Contains(err.Error(), "before the first turn") && strings.Contains(err.Error(), "reports the version 11.") {
			lost++
		} else if err != nil {
			t.Error(err)
		}
	}
	if lost != 1 {
		t.Errorf("%d of two arms at one server were refused: %v", lost, errs)
	}
}

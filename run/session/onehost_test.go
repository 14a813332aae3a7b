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
	"plimsoll/load/workload"
	"plimsoll/run/deploy"
	"plimsoll/run/turns"
)

// TestInstalledOver: of two arms of a duet that are one server, the one that was prepared first has
// the version of the other before its first turn.
func TestInstalledOver(t *testing.T) {
	srv := answering(t)
	there := filepath.Join(t.TempDir(), "version")
	d := plainDialect()
	d.Release = func(context.Context, workload.Env) ([]string, error) {
		b, err := os.ReadFile(there)
		return []string{string(b)}, err
	}
	p := parsed(
		t,
		fmt.Sprintf(
			`{name: n, target: {driver: external, install: [/bin/sh, -c, 'printf "$PLIMSOLL_VERSION" > %s'],
verify: {users: none, channels: none, posts: none}}, workload: {behavior: b}, bounded: {users: 5},
compare: {mode: duet, arms: {base: {url: %q, version: "11.0"}, new: {url: %q, version: "11.1"}}}}`,
			there,
			srv,
			strings.Replace(srv, "127.0.0.1", "localhost", 1),
		),
	)
	s := &Session{
		Program: &Program{Resolver: deploy.Resolver{
			Env:      func(string) string { return "" },
			Dialects: dialect.Set{d},
		}},
		Plan:     p,
		Progress: silent(),
	}
	systems := deploymentsOf(s)
	block := turns.NewDuetBlock(2, 1, 0, t.Logf)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, arm := range []string{"base", "new"} {
		sys, err := systems.System(t.Context(), deploy.Need{Arm: arm})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			p := block.Place(arm, "", nil)
			defer p.Arrive()
			_, errs[i] = (&run{
				Session: s,
				RunPart: RunPart{Arm: arm, Place: p},
				sys:     sys,
			}).ready(t.Context())
		})
	}
	wg.Wait()
	lost := 0
	for _, err := range errs {
		if err != nil && strings.Contains(err.Error(), "before the first turn") &&
			strings.Contains(err.Error(), "reports the version 11.") {
			lost++
		} else if err != nil {
			t.Error(err)
		}
	}
	if lost != 1 {
		t.Errorf("%d of two arms at one server were refused: %v", lost, errs)
	}
}

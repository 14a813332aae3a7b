package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/deploy"
)

// Users and the search's start are each database's own.
func TestUsersPerDatabase(t *testing.T) {
	p := parsed(t, `
name: n
target: {driver: refchat}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster}
bounded: {users: {postgresql: 7500, mysql: 5000}}
unbounded: {max_users: 9000, start: {postgresql: 6000, mysql: 4000}}
compare: {arms: {base: {}, new: {}}, combine: true}
`)
	s := &Session{Plan: p}
	for engine, want := range map[string][2]int{
		plan.PostgreSQL: {7500, 6000},
		plan.MySQL:      {5000, 4000},
	} {
		spec := RunPart{Engine: engine, Bounded: true, Unbounded: true}.Tests(p)
		if spec.Bounded.Users != want[0] || spec.Search.Start != want[1] {
			t.Errorf(
				"%s: %d users, search from %d; want %v",
				engine,
				spec.Bounded.Users,
				spec.Search.Start,
				want,
			)
		}
		if n := s.Users(RunPart{Engine: engine, Bounded: true}); n != want[0] {
			t.Errorf("%s is provisioned for %d users, want %d", engine, n, want[0])
		}
	}
}

// crowdedDisk makes runs in which the output of commands cannot be written: a directory has its
// name.
type crowdedDisk struct{ record.OS }

func (d crowdedDisk) Mkdir(dir string) error {
	err := d.OS.Mkdir(dir)
	if err == nil && filepath.Base(filepath.Dir(dir)) == "runs" {
		err = os.Mkdir(filepath.Join(dir, commandsFile), 0o700)
	}
	return err
}

// A run whose commands' output cannot be written carries nothing, and is sealed.
func TestRunWithoutRoomForCommandsIsSealed(t *testing.T) {
	srv := answering(t)
	root := t.TempDir()
	st, err := store.OpenOn(crowdedDisk{}, root)
	if err != nil {
		t.Fatal(err)
	}
	p := parsed(
		t,
		fmt.Sprintf(
			`{name: n, target: {driver: external, url: %q, install: [/bin/sh, -c, "echo installed"],
verify: {version: none, users: none, channels: none, posts: none}}, workload: {behavior: b}, bounded: {users: 5}}`,
			srv,
		),
	)
	d := plainDialect()
	s := &Session{
		Program: &Program{
			Resolver: deploy.Resolver{
				Env:      func(string) string { return "" },
				Dialects: dialect.Set{d},
			},
			Args: []string{"run"},
		},
		Plan:     p,
		Store:    st,
		Progress: silent(),
	}
	sys, err := deploymentsOf(s).System(t.Context(), deploy.Need{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Trial(t.Context(), sys, RunPart{
		Arm:     "base",
		Bounded: true,
	}); err == nil || !strings.Contains(err.Error(), "writing the output of the commands: ") {
		t.Fatal(err)
	}
	entries, _, err := st.List(t.Context())
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d runs, %v", len(entries), err)
	}
	r, err := st.Run(entries[0].ID)
	if err != nil || r.Manifest.State != record.Interrupted || r.Validity.Valid ||
		len(r.Manifest.Phases) > 0 ||
		!strings.Contains(r.Manifest.Why, "the tool failed: writing the output") {
		t.Errorf("state %s, why %q, %v", r.Manifest.State, r.Manifest.Why, err)
	}
}

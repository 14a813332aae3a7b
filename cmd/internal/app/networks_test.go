package app

import (
	"io"
	"os"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/plan"
	"plimsoll/run/export"
)

// TestNetworksRefuse: settings that a plan with networks cannot have are refused before anything is
// made.
func TestNetworksRefuse(t *testing.T) {
	if os.Geteuid() != 0 {
		failure.Lacks(t, "networks need root")
	}
	const (
		tests = "database: {engine: postgresql}\nworkload: {behavior: poster}\n" +
			"bounded: {users: 5}\n"
		arms  = "compare: {arms: {base: {}, new: {deployment: {network: bridge}}}, blocks: 1}\n"
		chat  = "name: n\ntarget: {driver: refchat}\n" + tests + arms
		hosts = "name: n\ntarget: {driver: refchat, topology: {apps: 2, proxy: nginx, " +
			"hosts: netns}}\n" + tests
		say = "so one of the drivers"
	)
	env := func(value string) func(string) string { return func(string) string { return value } }
	refuses := func(p *plan.Plan, a *App, say string) {
		t.Helper()
		a.Stderr = io.Discard
		done, err := a.Program().Isolate(t.Context(), p, t.TempDir())
		if failure.Says(t, err, say); done || exit.Of(err) != exit.Usage {
			t.Errorf("done %v, status %d", done, exit.Of(err))
		}
	}
	process := []byte(strings.Replace(chat, "driver: refchat", "driver: process, command: [x]", 1))
	failure.Says(t, failure.Of(new(App).Known().Parse(process)), say)
	p, err := plan.Parse(process) // as a stored one
	failure.None(t, err)
	refuses(p, &App{Env: env("")}, say)
	const both = "both say which networks"
	failure.Says(t, failure.Of(new(App).Known().Parse([]byte(hosts+arms))), both)
	for _, text := range []string{chat, hosts} {
		p, err := new(App).Known().Parse([]byte(text))
		failure.None(t, err)
		refuses(p, &App{Env: env("net:[1]")}, "no network of its own")
		refuses(p, &App{Env: env(""), Out: &export.Destinations{Listen: "127.0.0.1:0"}}, "-serve")
	}
}

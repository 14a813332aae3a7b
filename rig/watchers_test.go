package rig

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/fleet/join"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/watch/probe/agent"
)

// Probes of kind agent get the agents of their roles: those that they name, and for the others any
// that is left. One that is missing is named with the command for its host.
func TestWatchersOfRoles(t *testing.T) {
	pr := &Program{Resolver: deploy.Resolver{Secrets: new(plain.Secrets)}}
	hall, joins := roleAgents(t, pr, "app-1", "app-2", "app-3", "db-1")
	p := &plan.Plan{Fleet: &plan.Fleet{Join: 1}, Probes: []plan.Probe{
		{Kind: plan.ProbeAgent, Role: "app"}, {Kind: plan.ProbeAgent, Role: "app", Agent: "app-1"},
		{Kind: plan.ProbeNginx, Role: "proxy"}, {Kind: plan.ProbeAgent, Role: "app"},
	}}
	s := &Session{Program: pr, Plan: p, watchers: &watchers{hall: hall, names: map[string][]string{}}}
	for _, x := range []struct{ agent, role, want string }{
		{"app-1", "app", "probes[0] of the plan (agent, role app): 0 agents of role app have joined, want 1; on each host: plimsoll agent -join nats://"},
		{"app-3", "app", "probes[3] of the plan (agent, role app): 1 agents of role app have joined, want 2"},
		{"db-1", "db", "probes[3] of the plan"},
		{"app-2", "app", ""},
	} {
		joins(x.agent, x.role)
		err := s.awaitWatchers(t.Context(), p.Probes)
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("after %s: %v; want %q", x.agent, err, x.want)
		}
	}
	// Who came first stays.
	for index, want := range map[int]string{0: "app-3", 3: "app-2"} {
		if got, err := s.watchers.of(p, p.Probes, index); err != nil || got != want {
			t.Errorf("probe %d of the plan: %s, %v; want %s", index, got, err, want)
		}
	}
	src, err := s.openAgent(p.Probes, 1, "app-1")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := src.probe.Sample(t.Context(), time.Now())
	if err != nil || len(samples) < 50 {
		t.Errorf("%d samples, %v", len(samples), err)
	}
}

// roleAgents opens a door for agents of these names. joins lets one join with a role until the end
// of the test.
func roleAgents(t *testing.T, pr *Program, names ...string) (hall *join.Hall, joins func(name, role string)) {
	t.Helper()
	keys, token := fleetKeys(t, names...)
	hall, err := pr.OpenFleet(FleetDoor{Listen: "127.0.0.1:0", Keys: keys}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hall.Close)
	build, err := join.Build()
	if err != nil {
		t.Fatal(err)
	}
	return hall, func(name, role string) {
		readers, err := agent.NewReaders(agent.What{Role: role}, "v1")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- join.Attend(ctx, join.AgentConfig{Token: token(name), URL: hall.Addr(), Build: build, Say: t.Logf, Sample: readers.Answer,
				Introduce: func() join.Introduction { return join.Introduction{Role: role} }})
		}()
		t.Cleanup(func() { cancel(); <-done; readers.Close() })
		here := func(ms []join.Member) bool {
			return slices.ContainsFunc(ms, func(m join.Member) bool { return m.Name == name })
		}
		if _, err := hall.Await(t.Context(), time.Minute, here); err != nil {
			t.Fatal(err)
		}
	}
}

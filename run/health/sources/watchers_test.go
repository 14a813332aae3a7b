package sources

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/files"
	"plimsoll/load/fleet/join"
	"plimsoll/plan"
	"plimsoll/watch/probe/agent"
)

// Probes of kind agent get the agents of their roles: the agents that they name, and for the others
// any remaining agent. A missing agent is named with the command for its host.
func TestWatchersOfRoles(t *testing.T) {
	hall, joins := roleAgents(t, "app-1", "app-2", "app-3", "db-1")
	p := &plan.Plan{Fleet: &plan.Fleet{Join: 1}, Probes: []plan.Probe{
		{Kind: plan.ProbeAgent, Role: "app"}, {Kind: plan.ProbeAgent, Role: "app", Agent: "app-1"},
		{Kind: plan.ProbeNginx, Role: "proxy"}, {Kind: plan.ProbeAgent, Role: "app"},
	}}
	w := NewWatchers(hall, "plimsoll agent -join "+hall.Addr())
	o := &Opener{Plan: p, Watchers: w}
	for _, x := range []struct{ agent, role, want string }{
		{"app-1", "app", "probes[0] of the plan (agent, role app): 0 agents of role app have joined, want 1; on each host: plimsoll agent -join nats://"},
		{"app-3", "app", "probes[3] of the plan (agent, role app): 1 agents of role app have joined, want 2"},
		{"db-1", "db", "probes[3] of the plan"},
		{"app-2", "app", ""},
	} {
		joins(x.agent, x.role)
		err := w.Await(t.Context(), p, p.Probes)
		if x.want == "" && err != nil ||
			x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("after %s: %v; want %q", x.agent, err, x.want)
		}
	}
	// Who came first stays.
	for index, want := range map[int]string{0: "app-3", 3: "app-2"} {
		if got, err := w.of(p, p.Probes, index); err != nil || got != want {
			t.Errorf("probe %d of the plan: %s, %v; want %s", index, got, err, want)
		}
	}
	src, err := o.ofAgent(p.Probes, 1, "app-1")
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
func roleAgents(t *testing.T, names ...string) (hall *join.Hall, joins func(name, role string)) {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range names {
		if _, err := join.NewToken(files.OS{}, file("fleet.json"), file(name+".nk")); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := join.ReadKeys(file("fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	build, err := join.Build()
	if err != nil {
		t.Fatal(err)
	}
	hall, err = join.Open(join.HallConfig{
		Keys:   keys,
		Listen: "127.0.0.1:0",
		Build:  build,
		Say:    t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hall.Close)
	return hall, func(name, role string) {
		token, err := join.ReadToken(file(name + ".nk"))
		if err != nil {
			t.Fatal(err)
		}
		readers, err := agent.NewReaders(agent.What{Role: role}, "v1")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- join.Attend(ctx, join.AgentConfig{
				Token:     token,
				URL:       hall.Addr(),
				Build:     build,
				Say:       t.Logf,
				Sample:    readers.Answer,
				Introduce: func() join.Introduction { return join.Introduction{Role: role} },
			})
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

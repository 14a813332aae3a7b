package users

import (
	"context"
	"strings"
	"testing"
	"time"

	"plimsoll/load/fleet/join"
	"plimsoll/plan"
)

// TestRunsHaveTheSameAgents: the runs of an invocation are on the same hosts, whichever agent
// answers first.
func TestRunsHaveTheSameAgents(t *testing.T) {
	for _, tt := range []struct {
		name       string
		count      int
		crew, lost string
		there      string // the agents that answer; busy ones have a star
		want       string // the agents of the run; empty: it waits
	}{
		{"the first run", 2, "", "", "a b c", "a b"},
		{"the first run, one is busy", 2, "", "", "a* b c", "b c"},
		{"the first run of all", 0, "", "", "a b", "a b"},
		{"the first run of all, one is busy", 0, "", "", "a b*", ""},
		{"the next run", 2, "b c", "", "a b c", "b c"},
		{"a spare one answers first", 2, "a b", "", "b c", ""},
		{"one still ends its users, and a spare one is free", 2, "a b", "", "a* b c", ""},
		{"one of all still ends its users", 0, "a b", "", "a b*", ""},
		{"one was lost", 2, "a b", "b", "a c", "a"},
		{"all were lost", 2, "a b", "a b", "a c", "c"},
	} {
		c := &Crew{want: plan.Agents{Count: tt.count}, names: strings.Fields(tt.crew),
			lost: strings.Fields(tt.lost)}
		var all []join.Member
		for name := range strings.FieldsSeq(tt.there) {
			m := join.Member{Name: strings.TrimSuffix(name, "*")}
			m.Busy = m.Name != name
			all = append(all, m)
		}
		var got []string
		if run, ok := c.choose(all, 0); ok {
			for _, m := range run {
				got = append(got, m.Name)
			}
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: the run has %q, want %q", tt.name, text, tt.want)
		}
	}
}

// An agent that does not answer at the moment when a run begins is waited for, as it is in the run;
// one that does not come back is named.
func TestAnAgentIsSilentWhenTheRunBegins(t *testing.T) {
	keyFile, tokenFile := fleetFiles(t, "a")
	hall := opened(t, keyFile)
	build, err := join.Build()
	if err != nil {
		t.Fatal(err)
	}
	token, err := join.ReadToken(tokenFile("a"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Crew{hall: hall, times: plan.Fleet{Resend: 1}}
	run := []join.Member{{Name: "a"}} // it was there
	if _, _, err := c.lead(t.Context(), run); err == nil ||
		!strings.Contains(err.Error(), "agent a does not answer") {
		t.Errorf("an agent that is gone: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	time.AfterFunc(100*time.Millisecond, func() {
		done <- join.Attend(ctx,
			join.AgentConfig{
				Token:     token,
				URL:       hall.Addr(),
				Build:     build,
				Say:       t.Logf,
				Introduce: func() join.Introduction { return join.Introduction{} },
				Serve: func(ctx context.Context, _ *join.Responder) error {
					<-ctx.Done()
					return nil
				},
			})
	})
	defer func() { cancel(); <-done }()
	c.times.Resend = 20 * time.Second
	links, names, err := c.lead(t.Context(), run)
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	closeLinks(links)
}

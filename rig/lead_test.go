package rig

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/fleet/join"
	"plimsoll/run/deploy"
)

// An agent that does not answer at the moment when a run begins is waited for, as it is in the run; one that does not come
// back is named.
func TestAnAgentIsSilentWhenTheRunBegins(t *testing.T) {
	keyFile, token := fleetKeys(t, "a")
	hall, err := (&Program{Resolver: deploy.Resolver{Secrets: new(plain.Secrets)}}).OpenFleet(FleetDoor{Listen: "127.0.0.1:0", Keys: keyFile}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer hall.Close()
	build, err := join.Build()
	if err != nil {
		t.Fatal(err)
	}
	j := &joined{hall: hall}
	run := []join.Member{{Name: "a"}} // it was there
	if _, _, err := j.lead(t.Context(), run, 1); err == nil || !strings.Contains(err.Error(), "agent a does not answer") {
		t.Errorf("an agent that is gone: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	time.AfterFunc(100*time.Millisecond, func() {
		done <- join.Attend(ctx, join.AgentConfig{Token: token("a"), URL: hall.Addr(), Build: build, Say: t.Logf,
			Introduce: func() join.Introduction { return join.Introduction{} },
			Serve:     func(ctx context.Context, _ *join.Responder) error { <-ctx.Done(); return nil }})
	})
	defer func() { cancel(); <-done }()
	links, names, err := j.lead(t.Context(), run, 20*time.Second)
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	closeAll(links)
}

func closeAll(links []io.ReadWriteCloser) {
	for _, l := range links {
		_ = l.Close()
	}
}

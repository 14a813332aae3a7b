package mattermost

import (
	"context"
	"testing"
	"time"

	"plimsoll/refnull"
)

// A server that stops answering within the proofs would hold the administrator's calls for a minute each, as those of provisioning.
func TestAProofWaitsNoLongerForACallThanItWasTold(t *testing.T) {
	srv, err := refnull.New(refnull.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	s, err := newStage(t.Context(), VerifyConfig{URL: srv.URL(), Password: "Aa1!aaaaaaaa", Timeout: 7 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for name, c := range map[string]*Client{"administrator": s.admin, "actor": s.actor.c, "witness": s.witness.c} {
		if c.timeout != 7*time.Second {
			t.Errorf("a call of the %s may take %v, want 7s", name, c.timeout)
		}
	}
}

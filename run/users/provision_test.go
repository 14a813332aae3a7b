package users

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
)

// stuck is a behavior whose provisioning does not end by itself.
type stuck struct{ workload.Behavior }

func (stuck) Provision(ctx context.Context, _ workload.Env, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestProvisioningHasADeadline: a target that keeps provisioning busy for ever ends it after a time
// that depends on the number of users, with the reason.
func TestProvisioningHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Provision(t.Context(), workload.Env{},
			[]engine.Part{{Name: "stuck", Behavior: stuck{}, Share: 1}}, 100, nil)
		if took := time.Since(began); took != 6*time.Minute+40*time.Second {
			t.Errorf("ended after %v", took)
		}
		if err == nil ||
			!strings.Contains(err.Error(), "not done within 6m40s (5m0s, and 1s for each "+
				"of 100 users)") {
			t.Errorf("error %v", err)
		}
	})
}

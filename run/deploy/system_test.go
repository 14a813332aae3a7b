package deploy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestEndRemovesAfterASlowStop: programs that take all the time they have to end leave time to
// remove their networks.
func TestEndRemovesAfterASlowStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		removed := false
		err := inTurn(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, func(ctx context.Context) error {
			deadline, ok := ctx.Deadline()
			removed = ctx.Err() == nil && ok && time.Until(deadline) == endPatience
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || !removed {
			t.Errorf("%v; removed with all of its time: %v", err, removed)
		}
	})
}

package health

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A run begins when the ports that the run before left in TIME_WAIT are free, and after a minute at
// the latest.
func TestWaitPorts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		most  float64
		waits time.Duration
	}{
		{"enough are free", 20_000, 0},
		{"the run before left too many", 5000, 45 * time.Second},
		{"others leave more all the time", 100, time.Minute},
		{"the users alone are too many", -10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				resting := func() float64 {
					if time.Since(began) >= 45*time.Second {
						return 400
					}
					return 15_000
				}
				if err := waitPorts(t.Context(), tt.most, resting, func(time.Duration) {}); err != nil || time.Since(began) != tt.waits {
					t.Errorf("%v after %v, want no error after %v", err, time.Since(began), tt.waits)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("interrupt")
				cancel(why)
				if err := waitPorts(ctx, 1, resting, func(time.Duration) {}); !errors.Is(err, why) {
					t.Errorf("interrupted: %v", err)
				}
			})
		})
	}
}

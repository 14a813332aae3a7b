package health

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitForAQuietHostHasADeadline reads a host that is busy, one that becomes quiet, and one that
// is busy when the user interrupts.
func TestWaitForAQuietHostHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		// half busy until then
		cores := func(until time.Duration) func() (float64, float64, error) {
			return func() (busy, total float64, err error) {
				d := time.Since(began)
				return 0.5 * min(d, until).Seconds(), d.Seconds(), nil
			}
		}
		if err := waitQuiet(t.Context(), 30*time.Second, 0.15, cores(time.Hour)); err != nil ||
			time.Since(began) != 30*time.Second {
			t.Errorf("a busy host: %v after %v, want no error after 30 s", err, time.Since(began))
		}
		began = time.Now()
		if err := waitQuiet(t.Context(), time.Minute, 0.15, cores(10*time.Second)); err != nil ||
			time.Since(began) != 13*time.Second {
			t.Errorf(
				"a host that is quiet after 10 s: %v after %v, want three quiet readings",
				err,
				time.Since(began),
			)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("interrupt")
		time.AfterFunc(4*time.Second, func() { cancel(why) })
		began = time.Now()
		if err := waitQuiet(ctx, time.Minute, 0.15, cores(time.Hour)); !errors.Is(err, why) ||
			time.Since(began) != 4*time.Second {
			t.Errorf("interrupted: %v after %v", err, time.Since(began))
		}
	})
}

func TestCoreTimes(t *testing.T) {
	const stat = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 100 0 50 800 40 0 10 0 7 0\ncpu1 1000 100 0 0 0 0 0 100 0 0\nintr 1\n"
	for _, tt := range []struct {
		cores       []int
		busy, total float64
	}{
		{[]int{0}, 1.6, 10},
		{[]int{1}, 12, 12},
		{[]int{0, 1}, 13.6, 22},
	} {
		busy, total, err := CoreTimes([]byte(stat), tt.cores)
		if err != nil ||
			fmt.Sprintf("%.3f %.3f", busy, total) != fmt.Sprintf("%.3f %.3f", tt.busy, tt.total) {
			t.Errorf(
				"cores %v: %v of %v (%v), want %v of %v",
				tt.cores,
				busy,
				total,
				err,
				tt.busy,
				tt.total,
			)
		}
	}
	if _, _, err := CoreTimes([]byte(stat), []int{0, 7}); err == nil {
		t.Error("a core that is not there went unnoticed")
	}
}

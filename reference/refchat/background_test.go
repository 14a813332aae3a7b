package refchat

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestBackground burns CPU time each period, and once after a request.
func TestBackground(t *testing.T) {
	for fault, least := range map[string]float64{"tick:1ms/100ms": 0.01, "cron:1ms/100ms": 0.01, "later:2ms/300ms": 0.002, "lazy:2ms/300ms": 0.002} {
		synctest.Test(t, func(t *testing.T) {
			f, err := parseFaults([]string{fault}, 1)
			if err != nil {
				t.Fatal(err)
			}
			s := &Server{faults: f, met: &metrics{burnt: prometheus.NewCounter(prometheus.CounterOpts{Name: "b"})}}
			s.bgCtx, s.bgCancel = context.WithCancel(t.Context())
			s.startBackground()
			s.afterRequest()
			time.Sleep(1050 * time.Millisecond)
			synctest.Wait()
			s.bgCancel()
			s.bg.Wait()
			if v := testutil.ToFloat64(s.met.burnt); v < least {
				t.Errorf("%s: burnt %v s in a second, want %v at least", fault, v, least)
			}
		})
	}
	for _, bad := range []string{"tick:1ms", "cron:0s/1s", "later:2s/1s", "tick:1ms/2h"} {
		if err := CheckFault(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

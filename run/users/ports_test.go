package users

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/watch/probe"
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
				if err := waitPorts(t.Context(), tt.most, resting, func(time.Duration) {}); err != nil ||
					time.Since(began) != tt.waits {
					t.Errorf(
						"%v after %v, want no error after %v",
						err,
						time.Since(began),
						tt.waits,
					)
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

func TestSources(t *testing.T) {
	l := probe.Limits{PortFirst: 32768, PortLast: 60999} // 28,232 ports, of which 25,408 count
	loop, far := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.7")
	two := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	for _, tt := range []struct {
		name   string
		conns  int
		target netip.Addr
		own    []netip.Addr
		want   string
		err    string
	}{
		{"few", 18_000, far, nil, "[]", ""},
		{"few, listed", 18_000, far, two, "[192.0.2.1 192.0.2.2]", ""},
		{"few on loopback", 14_000, loop, nil, "[]", ""},
		{"many on loopback", 30_000, loop, nil, "[127.0.0.2 127.0.0.3 127.0.0.4]", ""},
		{"many, far", 60_000, far, nil, "[]", "3 source addresses"},
		{"many, listed", 50_000, far, two, "[192.0.2.1 192.0.2.2]", ""},
		{"too many, listed", 60_000, far, two, "[]", "list 3 addresses"},
		{"unknown target", 60_000, netip.Addr{}, nil, "[]", "ip_local_port_range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sources(tt.conns, tt.target, tt.own, l)
			var texts []string
			for _, a := range got {
				texts = append(texts, a.String())
			}
			if s := "[" + strings.Join(texts, " ") + "]"; s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
			if (err == nil) != (tt.err == "") ||
				err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

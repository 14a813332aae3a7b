package wire

import (
	"context"
	"net"
	"testing"
	"time"
)

// Only the making of a connection lies between Due and Sent. With one at hand, both are the same
// reading of the clock.
func TestOnlyADialIsWait(t *testing.T) {
	var dialed time.Duration
	c := newClient(t, Config{
		URL: script(t, ok(3)),
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			from := time.Now()
			time.Sleep(20 * time.Millisecond)
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			dialed = time.Since(from)
			return conn, err
		},
	})
	for i := range 3 {
		time.Sleep(5 * time.Millisecond) // for any caller
		called := time.Now()
		resp, err := get(t, c)
		must(t, err)
		if resp.Due.Before(called) || resp.Done.Before(resp.Sent) {
			t.Errorf(
				"request %d: due %v after the call, done %v after it was sent",
				i,
				resp.Due.Sub(called),
				resp.Done.Sub(resp.Sent),
			)
		}
		switch wait := resp.Sent.Sub(resp.Due); {
		case i == 0 && (!resp.Dialed || wait < dialed):
			t.Errorf("dialing took %v, the wait was %v", dialed, wait)
		case i > 0 && wait != 0:
			t.Errorf("request %d had a connection at hand and waited %v", i, wait)
		}
	}
	c.Close()
	if resp, err := get(t, c); err == nil || resp.Due.IsZero() {
		t.Errorf("a failure has no Due: %+v, %v", resp, err)
	}
}

// Package await waits until a supervised program of the news feed can be used. It knows no protocol.
package await

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"plimsoll/target/lab"
)

// Ready calls ready at an interval until it succeeds. It fails when the process ends, or when the
// time is over, with the last error of ready.
func Ready(
	ctx context.Context,
	p *lab.Process,
	within, every time.Duration,
	ready func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not ready within %v", within))
	defer cancel()
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return errors.New("it ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		case <-t.C:
		}
	}
}

// Listener returns nil if something listens at an address, host:port.
func Listener(ctx context.Context, addr string) error {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return errors.New("no listener")
	}
	return c.Close()
}

package health

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"plimsoll/plan"
	"plimsoll/watch/probe"
)

// timeWait is the time for which the kernel keeps the port of a closed connection.
const timeWait = time.Minute

// WaitPorts waits until the ports that earlier runs left in TIME_WAIT leave enough of the range for
// so many connections from so many source addresses: until then the gate ports would void the run.
// waiting is called with the time that may be left.
func WaitPorts(ctx context.Context, gates plan.Gates, addresses, conns int,
	waiting func(left time.Duration)) error {
	gate, _ := gates.Of("ports")
	limits, err := probe.ReadLimits()
	if err != nil {
		return nil // the gate is not measured
	}
	most := gate.Amber/100*float64(limits.Ports()*max(1, addresses)) - float64(conns)
	return waitPorts(ctx, most, resting, waiting)
}

// waitPorts waits until at most so many sockets are in TIME_WAIT, for as long as sockets of an
// earlier run can stay there: after that they are of others, and the gate ports judges them. It
// does not wait where most is not positive: the range is not known, or too small in any case.
func waitPorts(ctx context.Context, most float64, resting func() float64,
	waiting func(left time.Duration)) error {
	for left := timeWait; left > 0 && most > 0 && resting() > most; left -= time.Second {
		waiting(left)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	return nil
}

// resting returns how many sockets of this host are in TIME_WAIT; 0 if that is not known.
func resting() float64 {
	text, _ := os.ReadFile("/proc/net/sockstat")
	_, text, _ = bytes.Cut(text, []byte(" tw "))
	var n float64
	_, _ = fmt.Sscan(string(text), &n)
	return n
}

package fleet

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"time"
)

// Skewed returns the agent of a host whose clock is ahead by an offset and gains drift seconds in
// each, as it would be on such a host: the instants of its requests and replies are those of that
// clock, and the instants of its processes' messages, which are times of the run, pass at that
// clock's rate. It is for acceptance and tests: Linux has no such clock for one process. The
// durations that a process measures by itself stay right.
func (h HostAgent) Skewed(offset time.Duration, drift float64) HostAgent {
	base, launch := time.Now(), h.Launch
	gain := func(d time.Duration) time.Duration { return time.Duration(drift * float64(d)) }
	h.wall = func() time.Time {
		d := time.Since(base)
		return base.Round(0).Add(d + gain(d) + offset)
	}
	h.Launch = func(ctx context.Context, n int) ([]io.ReadWriteCloser, func(), error) {
		links, end, err := launch(ctx, n)
		for k, l := range links {
			links[k] = skewed(l, gain)
		}
		return links, end, err
	}
	return h
}

// skewed passes messages on with the instants of a clock that gains so much. Its goroutines end
// when either end is closed.
func skewed(link io.ReadWriteCloser, gain func(time.Duration) time.Duration) io.ReadWriteCloser {
	here, there := net.Pipe()
	go func() {
		replies, out := newReplyReader(link), replyWriter{to: there}
		for {
			var p reply
			if replies.read(&p) != nil {
				_ = there.Close()
				return
			}
			if p.Report != nil {
				for i := range p.Report.Acked {
					p.Report.Acked[i].shift(gain, 1)
				}
			}
			_ = out.write(p) // a closed pipe ends the next read
		}
	}()
	go func() {
		dec, enc := json.NewDecoder(there), json.NewEncoder(link)
		for {
			var r request
			if dec.Decode(&r) != nil {
				_ = link.Close()
				return
			}
			if r.Collect != nil {
				for i := range r.Collect.Acked {
					r.Collect.Acked[i].shift(gain, -1)
				}
			}
			_ = enc.Encode(r)
		}
	}()
	return here
}

package audience

import (
	"context"
	"os"
	"time"

	"plimsoll/record"
	"plimsoll/run/live"
)

// Publish publishes a comparison or sizing in a directory, for consoles, until end is called with
// how it ended, "" for in order. whole holds its kind, id, extent, verb and plan; stop ends the
// invocation. Without a socket nothing is published, b is nil, and the progress has the reason.
func (p *Reporter) Publish(
	ctx context.Context, dir string, whole live.Whole, stop func(cause error),
) (b *live.Broadcast, end func(why string)) {
	whole.PID = os.Getpid()
	whole.Began = time.Now().UTC()
	var byHand func()
	if stop != nil {
		byHand = func() { stop(errStopped) }
	}
	b, err := live.OpenBroadcast(ctx, dir, whole, byHand)
	if err != nil {
		p.Say("plimsoll: nobody can watch this in a console: %v", err)
		return nil, func(string) {}
	}
	p.hear(b)
	return b, func(why string) {
		p.hear(nil)
		ending := live.Ending{State: "ended", Why: why}
		if why != "" {
			ending.State = string(record.Interrupted)
		}
		b.Close(ending)
	}
}

// Broadcast returns the comparison or sizing that is published; nil for none.
func (p *Reporter) Broadcast() *live.Broadcast {
	if p.duet != nil {
		return p.duet.Broadcast()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broadcast
}

// hear has each line that is written over, and each that stays, told to a broadcast; nil for none.
func (p *Reporter) hear(b *live.Broadcast) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broadcast = b
}

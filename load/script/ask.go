package script

import (
	"context"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/load/measure"
)

// asking is a message that the user's own code awaits.
type asking struct {
	match sobek.Callable
	sent  time.Time     // zero before
	done  chan struct{} // closed by settle
	over  bool
	value sobek.Value
	err   error
	at    time.Time
	class measure.Class
	bytes int
}

func (q *asking) settle(v sobek.Value, err error, at time.Time, class measure.Class) {
	if !q.over {
		q.over, q.value, q.err, q.at, q.class = true, v, err, at, class
		close(q.done)
	}
}

// stale is how long before its question a message may have come and be its answer: the kernel's clock
// is not exactly this one.
const stale = time.Millisecond

// match settles the question if a message answers it.
func (l *line) match(v sobek.Value) {
	q, at := l.asked, l.r.frame.at
	if q.over || q.sent.IsZero() || q.sent.Sub(at) > stale {
		return
	}
	got, err := q.match(sobek.Undefined(), v)
	switch {
	case err != nil:
		l.r.rt.ClearInterrupt() // the question's own code goes on with it
		q.settle(nil, err, at, measure.Script)
	case got.ToBoolean():
		q.bytes = len(l.data)
		q.settle(got, nil, at, measure.OK)
	}
}

// ask is socket.ask(name, text, match, timeout): one operation from sending to the arrival of the
// first message for which match returns something true. A connection that is lost is awaited first,
// which is no part of the operation: the user is away, and counts as disconnected.
func (l *line) ask(c sobek.FunctionCall) sobek.Value {
	r := l.r
	l.closable("ask")
	name, text := c.Argument(0).String(), []byte(c.Argument(1).String())
	match, ok := sobek.AssertFunction(c.Argument(2))
	switch {
	case r.frame.beside != nil:
		panic(r.fault("socket.ask() in a handler of a socket: no message is read meanwhile"))
	case !ok || name == "":
		panic(r.fault("want socket.ask(name, text, match, timeout), as in " +
			"ask(\"history\", text, (answer) => JSON.parse(answer).ids)"))
	}
	timeout := askTimeout
	if v := c.Argument(3); !missing(v) {
		timeout = r.duration(v, time.Millisecond)
	}
	t := r.talk
	n := r.series.op(&t.scratch, name, "", "").Name
	timer := r.user.Clock().NewTimer()
	defer timer.Stop()
	q := &asking{match: match, done: make(chan struct{})}
	l.asked = q
	defer func() { l.asked = nil }()
	class := measure.WS
	if timer.Reset(r.user.Now() + timeout); l.connection(q, timer.C) {
		class = measure.Timeout
	}
	r.user.Begin(n)
	due := time.Now()
	q.sent = due
	if ws := l.ws; class == measure.Timeout {
		r.frame.sent = q.sent
		timer.Reset(r.user.Now() + timeout)
		r.apart(func(ctx context.Context) {
			_ = ws.WriteText(text) // the reader finds a connection that is lost
			q.await(ctx, timer.C, nil)
		})
		r.ended()
	}
	q.settle(nil, nil, time.Now(), class)
	sent, done := q.sent, q.at
	if done.Before(sent) {
		done = sent
	}
	r.user.Done(n, due, sent, done, q.class, int64(q.bytes))
	r.rejoined()
	r.frame.failed = r.frame.failed || q.class != measure.OK
	switch {
	case q.err != nil:
		panic(q.err)
	case q.value == nil:
		r.first(name, q.class, "", "no answer")
		return sobek.Undefined()
	}
	return q.value
}

// await waits until the question is settled, until the time is over or until there is a connection.
func (q *asking) await(ctx context.Context, late <-chan time.Time, up <-chan struct{}) (over bool) {
	select {
	case <-up:
		return false
	case <-q.done:
	case <-late:
	case <-ctx.Done():
	}
	return true
}

// connection waits for a connection, and reports whether there is one in time.
func (l *line) connection(q *asking, late <-chan time.Time) bool {
	for l.ws == nil {
		up, over := l.up, false
		l.r.apart(func(ctx context.Context) { over = q.await(ctx, late, up) })
		l.r.ended()
		if l.r.user.Rejoin(l.r.user.Now()); over {
			return false
		}
	}
	return true
}

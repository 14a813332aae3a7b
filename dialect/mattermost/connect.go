package mattermost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// reconnectWait is the pause before a reconnection, as at pace 1; the n-th in a row takes n times
// as long, up to a minute.
const reconnectWait = 3 * time.Second

// errGone is the cause for the end of a connection whose person leaves; otherwise the run ends it.
var errGone = errors.New("the person has gone")

// unfollow closes the recorder of ops beside the person's own, unless the run was cut off: an op
// that was given up has not ended.
func unfollow(life context.Context, rec *workload.Beside) {
	if life.Err() == nil || errors.Is(context.Cause(life), errGone) {
		rec.Close()
	}
}

// connect opens the WebSockets, and starts their readers and the clock.
func (a *act) connect() error {
	sock, err := a.c.Connect(a)
	if err != nil {
		return err
	}
	life, stop := context.WithCancelCause(a)
	a.mu.Lock()
	a.connection = connection{life: life, stop: func() { stop(errGone) }, sock: sock}
	a.startClock()
	a.mu.Unlock()
	a.listens(time.Now(), false)
	a.wg.Go(func() {
		defer a.rescue("a reader of events")
		a.listen(life, sock)
	})
	for range devices(a.u.Rank, a.b.set.devices) - 1 {
		sock, err := a.c.Connect(a)
		if err != nil {
			return err
		}
		a.wg.Go(func() {
			defer a.rescue("a further device")
			a.carry(life, sock)
		})
	}
	return nil
}

// listens records that events reach the person from a time on. A server that delivers nothing owes
// none.
func (a *person) listens(at time.Time, resumed bool) {
	if !a.b.null() && a.bot == nil {
		a.ledger.Connected(a.u.ID, at, resumed)
	}
}

// unheard records that events do not reach the person any more. The bot is no recipient.
func (a *person) unheard() {
	if a.bot == nil {
		a.ledger.Disconnected(a.u.ID)
	}
}

// devices returns the number of a person's devices. They are dealt, so that any stretch of persons
// has the requested mean.
func devices(rank int, mean float64) int {
	return max(1, int(float64(rank+1)*mean+1e-9)-int(float64(rank)*mean+1e-9))
}

// carry reads the events of a further device, which sends nothing. Its events are not counted a
// second time. A lost connection counts once, and so does each attempt to resume it.
func (a *person) carry(ctx context.Context, sock *api.Socket) {
	for {
		var err error
		for err == nil {
			_, err = sock.Next(ctx)
		}
		sock.Release()
		sock.Close()
		a.cutOff(ctx, sock, err)
		for err != nil {
			again := a.u.Now() + time.Duration(float64(reconnectWait)*a.u.Pace)
			if a.u.Clock().SleepUntil(ctx, again) != nil {
				return
			}
			var next *api.Socket
			rec := a.u.Beside(again).Followed()
			// which records it
			if next, err = a.pool.apart(rec, a.steady).Resume(ctx, sock); err == nil {
				sock = next
			}
			unfollow(ctx, rec)
		}
	}
}

// leave closes the person's connection and waits for its goroutines.
func (a *person) leave() {
	a.mu.Lock()
	sock := a.sock
	if a.stop != nil {
		a.stop()
		a.unheard()
	}
	if a.clock != nil {
		a.clock.Stop()
	}
	a.connection = connection{}
	a.mu.Unlock()
	if sock != nil {
		sock.Close()
	}
	a.wg.Wait()
}

// listen reads events until ctx is over, and reconnects when the connection is lost.
func (a *person) listen(ctx context.Context, sock *api.Socket) {
	for sock != nil {
		a.events(ctx, sock)
		sock.Release()
		sock.Close()
		back := make(chan struct{})
		a.mu.Lock()
		if a.sock == sock {
			a.sock = nil
			a.last = sock
			a.back = back
		}
		a.mu.Unlock()
		if ctx.Err() != nil {
			sock.End()
			return
		}
		a.unheard()
		sock.End()
		sock = a.regain(ctx, sock, back)
	}
}

// regain takes up the connection that was lost, or returns the one that an action has opened
// meanwhile, which closes back. It returns nil when ctx is over. The action that dropped a
// connection opens it again itself, at any pace, and may need its whole deadline for that: the
// first pause begins when it has failed.
func (a *person) regain(ctx context.Context, lost *api.Socket, back <-chan struct{}) *api.Socket {
	if lost.Dropped() && a.turnToConnect(ctx, back) {
		<-a.turn
	}
	for try := 1; ; try++ {
		again := a.u.Now() + time.Duration(float64(min(time.Duration(try)*reconnectWait,
			time.Minute))*a.u.Pace)
		timer := a.u.Clock().NewTimer()
		timer.Reset(again)
		select {
		case <-timer.C:
		case <-back:
		case <-ctx.Done():
		}
		timer.Stop()
		if sock := a.socket(); sock != nil || ctx.Err() != nil {
			return sock
		}
		if !a.turnToConnect(ctx, back) {
			return a.socket()
		}
		if sock, err := a.attempt(ctx, again); err == nil {
			return sock
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// attempt resumes the connection for the reader. It is intended at a time or, if an action's
// attempt has just failed, at the end of that one. It gives back the turn.
func (a *person) attempt(ctx context.Context, intended time.Duration) (*api.Socket, error) {
	defer func() { <-a.turn }()
	rec := a.u.Beside(max(intended, a.tried)).Followed()
	defer unfollow(ctx, rec)
	return a.resume(ctx, rec, a.steady)
}

// turnToConnect waits until no other goroutine of the person connects: a second connection in place
// of the same one would take the missed events of the first. It reports false if ctx is over first,
// or if back is closed because another has connected; otherwise the caller has a.turn until it
// receives from it.
func (a *person) turnToConnect(ctx context.Context, back <-chan struct{}) bool {
	select {
	case a.turn <- struct{}{}:
		return true
	case <-back:
	case <-ctx.Done():
	}
	return false
}

// resume takes up a lost connection again, unless another goroutine did since: then it returns that
// one. The caller has the turn.
func (a *person) resume(ctx context.Context, rec api.Recorder, t *api.Table) (*api.Socket, error) {
	a.mu.Lock()
	old := a.last
	sock := a.sock
	a.mu.Unlock()
	if sock != nil {
		return sock, nil
	}
	// a WebSocket is none of the HTTP connections
	sock, err := a.pool.apart(rec, t).Resume(ctx, old)
	a.tried = a.u.Now()
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil || a.life == nil {
		sock.Drop()
		return nil, errors.New("the person has left")
	}
	a.sock = sock
	a.listens(time.Now(), old != nil && old.Resumable())
	if a.back != nil {
		close(a.back)
		a.back = nil
	}
	return sock, nil
}

// events reads one connection's events until it ends, and counts its end unless the run is over or
// the person dropped it. Its goroutine waits nearly all the time, one for each connection:
// functions that need much stack for an event have returned by then, or the stacks of all
// connections would be twice as large.
func (a *person) events(ctx context.Context, sock *api.Socket) {
	for {
		data, at, err := sock.Message(ctx)
		if err == nil {
			err = a.handle(sock, data, at)
		}
		if err != nil {
			a.cutOff(ctx, sock, err)
			return
		}
	}
}

// cutOff counts the end of a connection.
//
//go:noinline
func (a *person) cutOff(ctx context.Context, sock *api.Socket, err error) {
	if ctx.Err() != nil || sock.Dropped() {
		if p, ok := errors.AsType[*boundary.Panic](err); ok {
			a.note(p)
		}
		return
	}
	class := workload.ClassOf(err)
	if ce, ok := errors.AsType[*wire.CloseError](err); ok {
		err = fmt.Errorf("lost: %w", ce)
	}
	a.u.Recorder().Error(a.steady.Socket(), class)
	a.note(&api.OpError{Op: workload.Socket, Class: class, Err: err})
}

// handle acts on a message. It is the boundary of one message, which is text of the target: a panic
// ends the connection.
//
//go:noinline
func (a *person) handle(sock *api.Socket, data []byte, at time.Time) (err error) {
	defer boundary.Recover("handling an event", &err)
	var ev api.SocketEvent
	if ok, err := sock.Event(data, at, &ev); err != nil || !ok {
		return err
	}
	rec := a.u.Recorder()
	if ev.Late >= 0 {
		rec.Lag(a.inbox, ev.Late)
	}
	if ev.Lost != 0 {
		rec.Error(a.steady.Socket(), measure.WS)
		a.note(&api.OpError{Op: workload.Socket, Class: measure.WS,
			Err: fmt.Errorf("%d events missing in the server's numbering", ev.Lost)})
	}
	if ev.Lost < 0 {
		return nil
	}
	if a.bot != nil {
		if ev.Kind == api.EventPosted {
			a.answer(&ev)
		}
		return nil
	}
	switch ev.Kind {
	case api.EventOther, api.EventReactionAdded, api.EventEphemeral:
	case api.EventHello: // the server could not resume: the events in between are lost
		a.ledger.Disconnected(a.u.ID)
		a.listens(ev.At, false)
	case api.EventPosted:
		a.hear(sock, &ev)
		a.awaits.Load().match(data, &ev)
	case api.EventDeleted: // by a user of another process, perhaps
		if ch := a.b.dir.known(ev.Post.ChannelID); ch != nil {
			ch.forget(ev.Post.ID)
		}
	case api.EventTyping:
		a.meetTyping(ev.UserID, ev.At)
	}
	return nil
}

// hear adds a post of an event to the directory.
//
//go:noinline
func (a *person) hear(sock *api.Socket, ev *api.SocketEvent) {
	a.ledger.Seen(a.u.ID, ev.Post.ChannelID.Bytes(), ev.Post.ID.Bytes(), ev.Pending, ev.At,
		a.u.Recorder(), a.delivery)
	if ev.WantsAck {
		sock.Tell(
			"posted_notify_ack",
			"post_id",
			ev.Post.ID.String(),
			"status",
			"success",
			"reason",
			"",
		)
	}
	if ch := a.b.dir.known(ev.Post.ChannelID); ch != nil {
		a.b.dir.see(ch, ev.Post)
	} else {
		a.discover(ev.Post.ChannelID, ev.At)
	}
}

func (a *person) note(err error) {
	if a.pool.cfg.Note != nil {
		a.pool.cfg.Note(err)
	}
}

// rescue is deferred by goroutines of the person beside its own: a panic ends the goroutine's work,
// and is reported.
func (a *person) rescue(what string) {
	if v := recover(); v != nil {
		a.note(boundary.New(what, v))
	}
}

// mostBehind bounds the calls that events set off at a time; a client in a storm of events skips
// the others.
const mostBehind = 1

// behind makes calls on a goroutine and an HTTP connection of its own, while the person is
// connected. The first is intended when the event arrived that sets it off, or when the clock was
// to tick.
func (a *person) behind(intended time.Duration, do func(ctx context.Context, c *api.Client)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life == nil || a.busy >= mostBehind {
		return
	}
	rec := a.u.Beside(intended).Followed()
	c := a.pool.take(rec, a.steady)
	if c == nil {
		rec.Close()
		return
	}
	a.busy++
	life := a.life
	a.wg.Go(func() {
		func() {
			defer a.rescue("calls that an event set off")
			do(life, c)
		}()
		unfollow(life, rec)
		a.pool.give(c)
		a.mu.Lock()
		a.busy--
		a.mu.Unlock()
	})
}

// discover requests a channel from which an event came and that is not in the directory: the person
// was added to it.
func (a *person) discover(id api.ID, at time.Time) {
	a.behind(a.u.Since(at), func(ctx context.Context, c *api.Client) {
		ch, err := c.Channel(ctx, id.String())
		if err != nil {
			return // recorded
		}
		if _, err := c.ChannelMember(ctx, ch.ID, a.id); err != nil {
			return
		}
		known := a.b.dir.channel(ch)
		if a.b.dir.known(id) == nil {
			return // no room
		}
		a.ledger.Join(a.u.ID, ch.ID, time.Now())
		a.mu.Lock()
		if len(a.heard) < mostPlaces {
			a.heard = append(a.heard, known)
		}
		a.mu.Unlock()
	})
}

// meetTyping requests the profile and the presence of a user who types, as the web app does to name
// them.
//
//go:noinline
func (a *person) meetTyping(id api.ID, at time.Time) {
	if id.None() {
		return
	}
	n := a.b.dir.user(id)
	a.mu.Lock()
	known := a.profiles.has(n)
	a.mu.Unlock()
	if known {
		return
	}
	a.behind(a.u.Since(at), func(ctx context.Context, c *api.Client) {
		if err := a.getProfiles(ctx, c, []string{id.String()}); err == nil {
			_, _ = c.Statuses(ctx, []string{id.String()}) // recorded
		}
	})
}

// clockPeriod is the time between two requests for the presence of users in view. The person's
// speed does not scale it.
const clockPeriod = time.Minute

// startClock sets the first tick, at the person's own offset in the minute. The lock is held.
func (a *person) startClock() {
	if !a.b.set.periodic {
		return
	}
	period := time.Duration(float64(clockPeriod) * a.u.Pace)
	first := period * time.Duration(1+a.u.ID*7919%60) / 60 // 7919 is prime: neighbors lie apart
	tick := a.u.Now() + first
	var timer *clock.Timer
	// nothing of it can fail: the call that it starts has a boundary
	timer = a.u.Clock().AfterFunc(tick, func() {
		a.mu.Lock()
		ours := a.clock == timer
		at := tick
		if ours {
			tick += period
			timer.Reset(tick)
		}
		a.mu.Unlock()
		if ours {
			a.behind(at, a.tick)
		}
	})
	a.clock = timer
}

// tick makes the periodic requests: the presence of the person itself and of the authors in view.
func (a *person) tick(ctx context.Context, c *api.Client) {
	a.mu.Lock()
	ch := a.viewed
	a.mu.Unlock()
	ids := []string{a.id}
	if ch != nil {
		ch.mu.RLock()
		posts := ch.posts[max(0, len(ch.posts)-seenPosts):]
		var authors []uint32
		for i := range posts {
			if !slices.Contains(authors, posts[i].author) {
				authors = append(authors, posts[i].author)
			}
		}
		ch.mu.RUnlock()
		for _, n := range authors {
			if n != a.self {
				ids = append(ids, a.b.dir.account(n).id.String())
			}
		}
	}
	_, _ = c.Statuses(ctx, ids) // recorded
	a.report(ctx, c)
}

package mattermost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/measure"
	"plimsoll/wire"
	"plimsoll/workload"
)

const (
	mostSeen  = 60  // posts of the current channel that a client keeps
	mostKnown = 250 // other users that it knows
	pageOf    = 30  // posts
)

// place is a channel that a person is a member of.
type place struct {
	id     string
	seen   int64 // server time of the last look, Unix ms
	loaded bool  // its posts were read since login
}

// person is one user.
type person struct {
	b             *Person
	c             *Client
	u             *workload.User
	id            string
	factor        float64
	steady, login *Table
	deliveries    *workload.Deliveries
	delivery      measure.Name
	places        []place
	known         []uint64 // hashes of users whose profiles it has; a ring
	knownAt       int

	again *Client // of the reader, for reconnecting
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu      sync.Mutex
	sock    *Socket // nil while there is no connection
	current int     // index of the current channel; -1 before the first
	posts   []Seen  // of the current channel, newest last
	oldest  string  // the anchor of scrolling
}

// Login implements workload.Actor: what the web app asks for at its start, then the WebSocket, then the first channel.
func (a *person) Login(ctx context.Context) error {
	a.disconnect()
	a.places, a.known, a.current, a.posts, a.oldest = nil, nil, -1, nil, ""
	a.c.SetTable(a.login)
	if a.c.Token() == "" {
		if _, err := a.c.Login(ctx, personName(a.b.set.users, a.u.Rank), a.b.password); err != nil {
			return err
		}
	}
	me, err := a.c.Me(ctx)
	if err != nil {
		return err
	}
	if me.ID != a.id {
		return fmt.Errorf("mattermost: the token of user %d belongs to another user", a.u.Rank)
	}
	if _, err := a.c.MyTeams(ctx, a.id); err != nil {
		return err
	}
	chs, err := a.c.TeamChannels(ctx, a.id, a.b.team)
	if err != nil {
		return err
	}
	slices.SortFunc(chs, func(x, y Channel) int { return cmp.Compare(x.Name, y.Name) }) // servers order them by id, and differ
	for _, ch := range chs {
		if ch.Type == "O" || ch.Type == "P" {
			a.places = append(a.places, place{id: ch.ID})
		}
	}
	if len(a.places) == 0 {
		return fmt.Errorf("mattermost: user %d is in no channel of the team", a.u.Rank)
	}
	if _, err := a.c.TeamChannelMembers(ctx, a.id, a.b.team); err != nil {
		return err
	}
	sock, err := a.c.Connect(ctx)
	if err != nil {
		return err
	}
	a.sock = sock
	a.again.SetToken(a.c.Token())
	rctx, cancel := context.WithCancel(ctx)
	a.stop = cancel
	a.wg.Go(func() { a.listen(rctx, sock) })
	if err := a.enter(ctx, a.u.Pick.IntN(len(a.places))); err != nil {
		return err
	}
	a.c.SetTable(a.steady)
	return nil
}

// Think implements workload.Actor.
func (a *person) Think() time.Duration {
	return time.Duration(float64(think(a.u.Think)) * a.factor)
}

// Act implements workload.Actor.
func (a *person) Act(ctx context.Context) error {
	var err error
	switch Actions[pick(a.u.Action, Actions)].Name {
	case "switch_channel":
		err = a.switchChannel(ctx)
	case "scroll":
		err = a.scroll(ctx)
	case "unread_check":
		err = a.unreadCheck(ctx)
	case "post":
		err = a.post(ctx, false)
	case "typing":
		err = a.typing(ctx, "")
	case "reply":
		err = a.post(ctx, true)
	case "react":
		err = a.react(ctx)
	}
	if _, ok := errors.AsType[*OpError](err); ok {
		err = nil // recorded; the rest of the action makes no sense, the user goes on
	}
	if err == nil || ctx.Err() != nil {
		return ended(ctx)
	}
	return err
}

// Close implements workload.Actor.
func (a *person) Close() {
	a.disconnect()
	a.c.Close()
	a.again.Close()
}

func (a *person) disconnect() {
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
	a.mu.Lock()
	sock := a.sock
	a.sock = nil
	a.mu.Unlock()
	if sock != nil {
		sock.Close()
	}
	a.wg.Wait()
}

func (a *person) socket() *Socket {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sock
}

// reconnectWait is the pause before a reconnection, as at pace 1; the n-th in a row takes n times as long, up to a minute.
const reconnectWait = 3 * time.Second

// listen reads events until ctx is over, and reconnects when the connection is lost.
func (a *person) listen(ctx context.Context, sock *Socket) {
	for {
		a.events(ctx, sock)
		sock.Close()
		a.mu.Lock()
		if a.sock == sock {
			a.sock = nil
		}
		a.mu.Unlock()
		for try := 1; ; try++ {
			wait := min(time.Duration(try)*reconnectWait, time.Minute)
			if workload.SleepUntil(ctx, time.Now().Add(time.Duration(float64(wait)*a.u.Pace))) != nil {
				return
			}
			var err error
			if sock, err = a.again.Connect(ctx); err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
		}
		a.mu.Lock()
		a.sock = sock
		a.mu.Unlock()
		if ctx.Err() != nil { // Close may have come in between
			sock.Close()
			return
		}
	}
}

// events reads one connection's events until it ends, and counts its end unless the run is over.
func (a *person) events(ctx context.Context, sock *Socket) {
	rec := a.u.Recorder()
	for {
		ev, err := sock.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				class := classOf(err)
				if ce, ok := errors.AsType[*wire.CloseError](err); ok {
					err = fmt.Errorf("lost: %w", ce)
				}
				rec.Error(a.steady[opWebSocket], class)
				if a.again.note != nil {
					a.again.note(&OpError{Op: opNames[opWebSocket], Class: class, Err: err})
				}
			}
			return
		}
		if ev.Lost != 0 {
			rec.Error(a.steady[opWebSocket], measure.WS)
			if a.again.note != nil {
				a.again.note(&OpError{Op: opNames[opWebSocket], Class: measure.WS, Err: fmt.Errorf("%d events missing in the server's numbering", ev.Lost)})
			}
		}
		if ev.Kind != EventPosted || ev.Lost < 0 || string(ev.UserID) == a.id {
			continue
		}
		if a.deliveries != nil {
			a.deliveries.Received(ev.PostID, ev.At, rec, a.delivery)
		}
		a.mu.Lock()
		if a.current >= 0 && a.places[a.current].id == string(ev.ChannelID) {
			a.remember(Seen{ID: string(ev.PostID), RootID: string(ev.RootID), UserID: string(ev.UserID)})
		}
		a.mu.Unlock()
	}
}

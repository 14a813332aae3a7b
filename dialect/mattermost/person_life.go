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

const pageOf = 30 // posts

// person is one user. What it knows of the server lies in the behavior's directory; it keeps pointers, numbers and bitmaps.
type person struct {
	b             *Person
	c             *Client
	u             *workload.User
	id            string
	self          uint32 // in the directory
	factor        float64
	steady, login *Table
	deliveries    *workload.Deliveries
	delivery      measure.Name
	inbox         measure.Name
	*chance
	start [2]uint64 // seeds of the login's chance

	team     string  // current team
	places   []place // the channels that it is a member of, by name
	current  int     // index of the current channel; -1 before the first
	anchor   ID      // how far back the current channel was scrolled; none if not beyond what is seen
	profiles bitmap  // accounts whose profiles it has
	statuses bitmap  // accounts whose presence it has
	has      *belongings

	again *Client // of the reader, for reconnecting
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu   sync.Mutex
	sock *Socket // nil while there is no connection
}

// place is a channel that a person is a member of.
type place struct {
	ch     *channel
	seen   int64 // server time of the last look, Unix ms
	loaded bool  // its posts were read since login
}

// Login implements workload.Actor: what the web app asks for at its start, then the WebSocket, then the first channel.
func (a *person) Login(ctx context.Context) error {
	a.disconnect()
	a.chance.renew(a.start[0], a.start[1])
	a.places, a.current, a.anchor, a.profiles, a.statuses = nil, -1, ID{}, nil, nil
	a.has = nil
	a.team = a.b.team
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
	if err := a.loadPlaces(ctx); err != nil {
		return err
	}
	if !slices.ContainsFunc(a.places, a.inTeam) {
		return fmt.Errorf("mattermost: user %d is in no channel of the team", a.u.Rank)
	}
	if _, err := a.c.TeamChannelMembers(ctx, a.id, a.team); err != nil {
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
	if k, ok := a.otherPlace(a.inTeam); ok {
		if err := a.enter(ctx, k); err != nil {
			return err
		}
	}
	a.c.SetTable(a.steady)
	return nil
}

// loadPlaces asks for the channels of the current team, direct and group channels included, and keeps what it knew of them.
func (a *person) loadPlaces(ctx context.Context) error {
	chs, err := a.c.TeamChannels(ctx, a.id, a.team)
	if err != nil {
		return err
	}
	for _, ch := range chs {
		if !ch.Archived {
			a.place(a.b.dir.channel(ch))
		}
	}
	return nil
}

// place returns the index of a channel among the person's, to which it is added if need be. Servers list them by id, which no two
// share; by name they are the same everywhere.
func (a *person) place(ch *channel) int {
	if k := slices.IndexFunc(a.places, func(p place) bool { return p.ch == ch }); k >= 0 {
		return k
	}
	k, _ := slices.BinarySearchFunc(a.places, ch, func(p place, ch *channel) int {
		return cmp.Or(cmp.Compare(p.ch.name, ch.name), slices.Compare(p.ch.id[:], ch.id[:]))
	})
	a.places = slices.Insert(a.places, k, place{ch: ch})
	if a.current >= k {
		a.current++
	}
	return k
}

// inTeam reports whether a place is an open or private channel of the current team.
func (a *person) inTeam(p place) bool {
	return (p.ch.kind == 'O' || p.ch.kind == 'P') && p.ch.team == parseID(a.team)
}

// Think implements workload.Actor.
func (a *person) Think() time.Duration {
	return time.Duration(float64(think(a.u.Think)) * a.factor)
}

// Act implements workload.Actor.
func (a *person) Act(ctx context.Context) error {
	k := a.b.mix.draw(a.u.Action)
	a.chance.renew(a.u.Action.Uint64(), a.u.Action.Uint64())
	err := a.b.mix.actions[k].do(a, ctx)
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if _, ok := errors.AsType[*OpError](err); ok {
		return nil // recorded; the rest of the action makes no sense, the user goes on
	}
	if _, ok := errors.AsType[skipped](err); ok {
		return nil
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
	self := parseID(a.id)
	for {
		ev, err := sock.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				class := classOf(err)
				if ce, ok := errors.AsType[*wire.CloseError](err); ok {
					err = fmt.Errorf("lost: %w", ce)
				}
				rec.Error(a.steady.names[opWebSocket], class)
				if a.again.note != nil {
					a.again.note(&OpError{Op: opNames[opWebSocket], Class: class, Err: err})
				}
			}
			return
		}
		if ev.Late >= 0 {
			rec.Lag(a.inbox, ev.Late)
		}
		if ev.Lost != 0 {
			rec.Error(a.steady.names[opWebSocket], measure.WS)
			if a.again.note != nil {
				a.again.note(&OpError{Op: opNames[opWebSocket], Class: measure.WS, Err: fmt.Errorf("%d events missing in the server's numbering", ev.Lost)})
			}
		}
		if ev.Kind != EventPosted || ev.Lost < 0 {
			continue
		}
		if ch := a.b.dir.known(ev.Post.ChannelID); ch != nil {
			a.b.dir.see(ch, ev.Post)
		}
		if ev.Post.UserID != self && a.deliveries != nil {
			a.deliveries.Received(ev.Post.ID.bytes(), ev.At, rec, a.delivery)
		}
	}
}

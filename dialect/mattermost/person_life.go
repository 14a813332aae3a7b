package mattermost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

const pageOf = 30 // posts

// person is one user. Its knowledge of the server lies in the behavior's directory; it keeps
// pointers, numbers and bitmaps.
type person struct {
	b             *Person
	u             *workload.User
	id            string
	self          uint32 // in the directory
	factor        float64
	cold          bool // its first session begins with its password
	steady, login *api.Table
	ledger        *workload.Ledger
	counts        *workload.Counts
	delivery      measure.Name
	inbox         measure.Name
	*chance
	start [2]uint64 // seeds of the login's chance, and of storms
	named int64     // Unix milliseconds in the identifier of its last post
	reg   *measure.Registry

	// c is the client of the acting goroutine: the person's own, during an action.
	c    *api.Client
	pool pool

	knowledge
	images bitmap // accounts whose pictures it has
	visit  visit

	awaits  atomic.Pointer[awaited] // the post that it waits for; nil for none
	bot     *bot                    // of the bot itself: it answers, and does nothing else
	withBot bool                    // it counts among the bot's persons
	steps   uint64                  // of extensions so far

	turn  chan struct{}  // filled while a goroutine takes up a lost connection
	tried time.Duration  // end of the last such attempt, on the clock; guarded by turn
	wg    sync.WaitGroup // of the reader, and of calls that it or the clock starts

	mu sync.Mutex
	connection
	viewed *channel // the current one, for the clock
	busy   int      // calls that events set off
	times  []api.Measurement
}

// An act is what a person does in one go, under a context.
type act struct {
	context.Context
	*person
}

// knowledge is lost when the client starts again.
type knowledge struct {
	team     string // current team
	teams    []string
	places   []place // the channels that it is a member of, by their names for people
	current  int     // index of the current channel; -1 before the first
	anchor   api.ID  // oldest post read by scrolling; none if not beyond the visible posts
	profiles bitmap  // accounts whose profiles it has
	statuses bitmap  // accounts whose presence it has
	has      *belongings
}

// A connection is the person's WebSocket. It lasts from a login until the person leaves.
type connection struct {
	life  context.Context // nil without a connection
	stop  context.CancelFunc
	sock  *api.Socket   // nil while it is lost
	last  *api.Socket   // the lost one, which a new one resumes
	back  chan struct{} // closed when there is one again; nil while there is one, or no reader
	clock *clock.Timer
	heard []*channel // channels that others put the person into
}

// place is a channel that a person is a member of.
type place struct {
	ch     *channel
	name   string // for people
	seen   int64  // server time of the last look, Unix ms
	loaded bool   // its posts were read since login
}

// Login implements workload.Actor: the session, the requests of the web app at its start, the
// WebSocket, and the first channel.
func (a *person) Login(ctx context.Context) error {
	on := &act{ctx, a}
	a.renew(a.start[0], a.start[1])
	defer a.begin(a.login)()
	if a.b.mix != nil && a.b.mix.has("ask_bot") {
		a.b.bot.enter(on)
	}
	err := on.arrive()
	if _, ok := errors.AsType[skipError](err); ok {
		return nil
	}
	return err
}

// begin takes a client for the person's own goroutine; end gives it back.
func (a *person) begin(t *api.Table) (end func()) {
	a.c = a.pool.force(a.u, t)
	a.pool.act(true)
	return func() {
		a.pool.give(a.c)
		a.pool.act(false)
	}
}

// arrive opens a session if there is none, connects and loads everything.
func (a *act) arrive() error {
	a.leave()
	a.forgetAll()
	token := a.b.session(a.u.Rank, a.cold)
	if token != "" {
		a.setToken(token)
		me, err := a.c.Me(a)
		if unauthorized(err) {
			token = "" // the session is gone: it was logged out, or the server was reset
		} else if err != nil {
			return err
		} else if a.id == "" {
			a.is(me) // a newcomer that was here before
		} else if me.ID != a.id {
			return fmt.Errorf("mattermost: the token of user %d belongs to another user", a.u.Rank)
		}
	}
	if token == "" {
		return a.comeAnew()
	}
	return a.comeOnline()
}

// comeOnline connects and loads everything.
func (a *act) comeOnline() error {
	if err := a.connect(); err != nil {
		return err
	}
	return a.reload()
}

// comeAnew opens another session for a person that has left, connects and loads everything.
func (a *act) comeAnew() error {
	a.forgetAll()
	if err := a.signIn(); err != nil {
		return err
	}
	return a.comeOnline()
}

// signIn exchanges the password for a session, or tries the token of the account.
func (a *act) signIn() error {
	if a.c.Table == a.steady { // a login never hides in the steady state
		defer a.c.Under(a.login)()
	}
	if own := a.b.held(a.u.Rank, true); own != "" { // there is nothing to exchange
		a.setToken(own)
		_, err := a.c.Me(a)
		return err
	}
	if a.id == "" {
		if err := a.signUp(); err != nil {
			return err
		}
	} else {
		login, password := a.b.credentials(a.u.Rank)
		if _, err := a.c.Login(a, login, password); err != nil {
			return err
		}
	}
	a.setToken(a.c.Token)
	a.b.remember(a.person, a.c.Token)
	return nil
}

func (a *person) setToken(token string) {
	a.pool.setToken(token)
	a.c.SetToken(token)
}

// forgetAll resets the person to a client that has just started.
func (a *person) forgetAll() {
	a.knowledge = knowledge{team: a.b.Team, current: -1}
	a.look(nil)
}

// look passes the current channel to the clock.
func (a *person) look(ch *channel) {
	a.mu.Lock()
	a.viewed = ch
	a.mu.Unlock()
}

// place returns the index of a channel among the person's, and adds it to them. Servers list them
// by identifier, which no two share; by their names for people they are the same everywhere.
func (a *person) place(ch *channel) int {
	if k := slices.IndexFunc(a.places, func(p place) bool { return p.ch == ch }); k >= 0 {
		return k
	}
	to := place{ch: ch, name: a.shownName(ch)}
	k, _ := slices.BinarySearchFunc(a.places, to, func(p, to place) int {
		return cmp.Or(cmp.Compare(p.name, to.name), slices.Compare(p.ch.id[:], to.ch.id[:]))
	})
	a.places = slices.Insert(a.places, k, to)
	if a.current >= k {
		a.current++
	}
	a.ledger.Join(a.u.ID, ch.key, time.Now())
	return k
}

// shownName returns the name under which people find a channel. Servers make the names of direct
// and group channels of the identifiers of their users: that of a direct one is the name of the
// other user, as far as it is known, and that of a group has all of them.
func (a *person) shownName(ch *channel) string {
	switch ch.kind {
	case 'D':
		return cmp.Or(a.b.dir.nameOf(api.ParseID(otherOf(ch.name, a.id))), ch.name)
	case 'G':
		return cmp.Or(ch.people, ch.name)
	}
	return ch.name
}

// inTeam reports whether a place is an open or private channel of the current team.
func (a *person) inTeam(p place) bool {
	return (p.ch.kind == 'O' || p.ch.kind == 'P') && p.ch.team == api.ParseID(a.team)
}

// isDirect reports whether a place is a direct or group channel.
func isDirect(p place) bool { return p.ch.kind == 'D' || p.ch.kind == 'G' }

// Think implements workload.Actor.
func (a *person) Think() time.Duration {
	d := time.Duration(float64(a.b.set.think(a.u.Think)) * a.factor)
	return d + a.visit.next(a)
}

// Act implements workload.Actor: one action of the mix.
func (a *person) Act(ctx context.Context) error {
	on := &act{ctx, a}
	k := a.b.mix.draw(a.u.Action)
	a.renew(a.u.Action.Uint64(), a.u.Action.Uint64())
	if a.visit.away {
		a.visit.away = false
		end := a.begin(a.login)
		err := on.arrive()
		end()
		if err := on.settle(err); err != nil || a.isGone() {
			return err
		}
	}
	defer a.begin(a.steady)()
	a.takeIn()
	a.counts.Attempt(a.b.mix.tally[k])
	err := a.b.mix.actions[k].do(on)
	if ctx.Err() == nil {
		if reason, ok := errors.AsType[skipError](err); ok {
			a.counts.Skip(a.b.mix.tally[k], string(reason))
		} else if err != nil {
			a.counts.Fail(a.b.mix.tally[k])
		} else {
			a.counts.SucceedBy(a.b.mix.tally[k], a.u.Rank)
		}
		a.isGone() // a reload or a new session that failed
	}
	return on.settle(err)
}

// settle returns the error of Act after an action: none for a failed op, which is recorded and ends
// the action only, and for a skip.
func (a *act) settle(err error) error {
	if a.Err() != nil {
		return ended(a)
	}
	if _, ok := errors.AsType[skipError](err); ok || answered(err) {
		return nil
	}
	return err
}

// isGone reports whether the person's last login failed, before it was connected or in a channel.
// The person arrives again at its next action.
func (a *person) isGone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.visit.away = a.life == nil || a.current < 0
	return a.visit.away
}

// takeIn makes places of the channels that the reader found.
func (a *person) takeIn() {
	a.mu.Lock()
	heard := a.heard
	a.heard = nil
	a.mu.Unlock()
	for _, ch := range heard {
		if len(a.places) < mostPlaces {
			a.place(ch)
		}
	}
}

// Close implements workload.Actor.
func (a *person) Close() {
	a.b.bot.leave(a)
	a.leave()
	a.pool.close()
}

func (a *person) socket() *api.Socket {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sock
}

package newsfeed

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"plimsoll/dialect"
	"plimsoll/load/workload"
)

// Name is the behavior's name in plans.
const Name = "newsfeed"

// Behaviors lists the behaviors of this package.
func Behaviors() dialect.Registry {
	return dialect.Registry{Name: func() workload.Behavior { return &Feed{} }}
}

// A Feed is the behavior newsfeed: see the package comment. Its zero value is ready for Provision.
type Feed struct {
	workload.Cast
	set   settings
	ready bool

	mu     sync.Mutex
	before *stored // nil if the service has no counts
	unread error   // why the last request failed
}

// Provision implements workload.Behavior. Users make their own objects: it only checks that a news
// feed answers, by one search.
func (b *Feed) Provision(ctx context.Context, env workload.Env, _ int) error {
	set, err := parse(env.Params)
	if err != nil {
		return err
	}
	env.Clock = nil
	c, err := b.aside(env, set)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.search(ctx, "0"); err != nil {
		return fmt.Errorf("asking the news feed: %w", err)
	}
	b.set, b.ready = set, true
	return nil
}

// aside returns a client for the calls around a run, whose failures are not printed.
func (b *Feed) aside(env workload.Env, set settings) (*client, error) {
	env.Log = nil
	c, err := b.Caller(env, workload.Aside(env))
	return &client{Caller: c, set: set, prefix: workload.Setup + "_"}, err
}

// Restore implements workload.Portable.
func (b *Feed) Restore(env workload.Env, _ []byte) (err error) {
	b.set, err = parse(env.Params)
	b.ready = err == nil
	return err
}

// client returns a user's client.
func (b *Feed) client(env workload.Env, u *workload.User) (*client, error) {
	if !b.ready {
		return nil, fmt.Errorf("newsfeed: Provision has not been called")
	}
	c, err := b.Caller(env, u)
	return &client{Caller: c, set: b.set}, err
}

// NewActor implements workload.Behavior.
func (b *Feed) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	c, err := b.client(env, u)
	if err != nil {
		return nil, err
	}
	if b.set.searches(u.Rank) {
		return &searcher{
			c:      c,
			u:      u,
			counts: env.Tally.Behavior(Name+" searchers", searcherActions),
		}, nil
	}
	a := b.newPoster(&env, c, u)
	a.begin()
	return a, nil
}

// NewServer implements workload.ArrivalBehavior.
func (b *Feed) NewServer(env workload.Env, u *workload.User) (workload.Server, error) {
	c, err := b.client(env, u)
	if err != nil {
		return nil, err
	}
	return b.newPoster(&env, c, u), nil
}

func (b *Feed) newPoster(env *workload.Env, c *client, u *workload.User) *poster {
	friendships, stories := b.set.means()
	return &poster{
		c:      c,
		u:      u,
		set:    b.set,
		ledger: env.Ledger,
		counts: env.Tally.Behavior(Name, []workload.TallyAction{
			opParticipant: {Name: opNames[opParticipant], Weight: people},
			opBefriend:    {Name: opNames[opBefriend], Weight: friendships},
			opStory:       {Name: opNames[opStory], Weight: stories},
		}),
	}
}

// failureRest is the pause after a request that failed, so that a server that is gone does not get
// ten thousand requests a second.
const failureRest = 100 * time.Millisecond

// loop is the common part of all users: no login, and a pause only after a failure.
type loop struct{ failed bool }

// Login implements workload.Actor. The connection comes with the first request.
func (*loop) Login(context.Context) error { return nil }

// Think implements workload.Actor.
func (l *loop) Think() time.Duration {
	if l.failed {
		return failureRest
	}
	return 0
}

// poster is one user, somewhere in a batch.
type poster struct {
	loop
	c      *client
	u      *workload.User
	set    settings
	ledger *workload.Ledger
	counts *workload.Counts

	batch    batch
	step     int // requests made; the batch is over when it has none left
	ids      [people]int64
	channels [people]string // for the ledger, of those who post
	text     []byte
}

// Act implements workload.Actor: one request.
func (a *poster) Act(ctx context.Context) error {
	if a.step >= a.batch.requests() {
		a.begin()
	}
	if a.failed = a.next(ctx) != nil; a.failed {
		a.step = a.batch.requests() // as the study's application does
	}
	return ended(ctx)
}

// Serve implements workload.Server: one batch.
func (a *poster) Serve(ctx context.Context, _ int64) error {
	for a.begin(); a.step < a.batch.requests(); {
		if a.next(ctx) != nil {
			break
		}
	}
	return ended(ctx)
}

func (a *poster) begin() {
	a.batch, a.step, a.channels = a.set.draw(a.u.Action), 0, [people]string{}
}

// next makes the batch's next request.
func (a *poster) next(ctx context.Context) (err error) {
	b, step := &a.batch, a.step
	a.step++
	o := opStory
	switch {
	case step < people:
		o = opParticipant
	case step < people+len(b.pairs):
		o = opBefriend
	}
	a.counts.Attempt(int(o))
	switch o {
	case opParticipant:
		a.ids[step], err = a.c.participant(ctx, "user "+strconv.Itoa(b.name))
	case opBefriend:
		pair := b.pairs[step-people]
		err = a.c.befriend(ctx, a.ids[pair[0]], a.ids[pair[1]])
	default:
		err = a.story(ctx, b.posters[(step-people-len(b.pairs))/b.stories])
	}
	switch {
	case err == nil:
		a.counts.Succeed(int(o))
	case ctx.Err() == nil:
		a.counts.Fail(int(o))
	}
	return err
}

// story posts a story of random words by i.
func (a *poster) story(ctx context.Context, i int) error {
	day := "2014-01-" + strconv.Itoa(101 + a.u.Content.IntN(31))[1:]
	a.text = appendWords(a.text[:0], a.u.Content, subject, ' ')
	title := string(a.text)
	a.text = appendWords(a.text[:0], a.u.Content, a.batch.words, ' ')
	resp, err := a.c.story(ctx, a.ids[i], day, title, string(a.text))
	if err != nil {
		return err
	}
	if a.ledger != nil {
		if a.channels[i] == "" {
			a.channels[i] = a.channel(i)
		}
		a.ledger.Acked(workload.Message{
			ID:      title,
			Channel: a.channels[i],
			Author:  a.u.ID,
			Sent:    resp.Sent,
			Acked:   resp.Done,
		})
	}
	return nil
}

// Close implements workload.Actor.
func (a *poster) Close() { a.c.Close() }

// searcher is one user that searches.
type searcher struct {
	loop
	c      *client
	u      *workload.User
	counts *workload.Counts
}

var searcherActions = []workload.TallyAction{{Name: opNames[opSearch], Weight: 1}}

// Act implements workload.Actor: one search.
func (a *searcher) Act(ctx context.Context) error {
	a.counts.Attempt(0)
	err := a.c.search(ctx, strconv.Itoa(a.u.Content.IntN(dictionary)))
	a.failed = err != nil
	switch {
	case err == nil:
		a.counts.Succeed(0)
	case ctx.Err() == nil:
		a.counts.Fail(0)
	}
	return ended(ctx)
}

// Close implements workload.Actor.
func (a *searcher) Close() { a.c.Close() }

// ended is the result of Act after a failed op: nothing, unless it failed because the run is over.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return workload.ErrStop
	}
	return nil
}

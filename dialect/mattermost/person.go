package mattermost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"
	"time"

	"plimsoll/measure"
	"plimsoll/wire"
	"plimsoll/workload"
)

// Person is the behavior mattermost: see "Behaviors" in the package comment. Its zero value is ready for Provision.
type Person struct {
	set      settings
	password string
	team     string
	channels []string
	ids      []string // of the persons, by rank
	tokens   []string // warm logins; "" if there is none
	notes    notes
}

// personName is the user name of the person with this rank.
func personName(prefix string, rank int) string {
	n := strconv.Itoa(rank)
	return prefix + "00000"[min(len(n), 5):] + n
}

// Provision implements workload.Behavior: n persons exist, are members of the team and of their channels, and, with warm logins, are
// logged in. Persons beyond n of an earlier call stay.
func (b *Person) Provision(ctx context.Context, env workload.Env, n int) error {
	set, err := parse(env.Params)
	if err != nil {
		return err
	}
	b.set = set
	s := newSetup(ctx, &env, set)
	if err := s.asAdmin(); err != nil {
		return err
	}
	team, channels, err := s.place()
	if err != nil {
		return err
	}
	if team != b.team { // another server, or one that was reset to an earlier state
		b.ids, b.tokens = nil, nil
	}
	b.team, b.channels, b.password = team, channels, personPassword(&env)
	names := make([]string, max(n, len(b.ids)))
	for i := range names {
		names[i] = personName(set.users, i)
	}
	ids, err := s.accounts(names, b.password)
	if err != nil {
		return err
	}
	if err := s.joinTeam(team, ids); err != nil {
		return err
	}
	want := make([][]string, len(channels))
	for rank, id := range ids {
		for _, k := range b.channelsOf(rank) {
			want[k] = append(want[k], id)
		}
	}
	if err := s.joinChannels(channels, want); err != nil {
		return err
	}
	b.ids = ids
	if env.Cold {
		return nil
	}
	return b.warm(s, n)
}

// channelsOf returns the indices of the channels that a person is a member of, besides the team's own.
func (b *Person) channelsOf(rank int) []int {
	ks := make([]int, b.set.memberships)
	for j := range ks {
		ks[j] = (rank + j) % len(b.channels)
	}
	return ks
}

// warm logs the first n persons in. Tokens of an earlier call are used again if the first one still opens a session.
func (b *Person) warm(s *setup, n int) error {
	if len(b.tokens) > 0 && b.tokens[0] != "" {
		ok, err := s.valid(b.tokens[0])
		if err != nil {
			return fmt.Errorf("checking a token: %w", err)
		}
		if !ok {
			b.tokens = nil
		}
	}
	tokens := make([]string, len(b.ids))
	copy(tokens, b.tokens)
	var lack []int
	for i := range n {
		if tokens[i] == "" {
			lack = append(lack, i)
		}
	}
	if len(lack) > 0 {
		s.log("logging %d users in", len(lack))
	}
	err := s.parallel(len(lack), func(ctx context.Context, c *Client, k int) error {
		name := personName(b.set.users, lack[k])
		defer c.SetToken(s.token)
		if _, err := c.Login(ctx, name, b.password); err != nil {
			return fmt.Errorf("logging in as %s: %w (if the account is older than this run: its password is the secret user_password, "+
				"or derived from the administrator's at the time)", name, err)
		}
		tokens[lack[k]] = c.Token()
		return nil
	})
	b.tokens = tokens // also of a part: the next call need not repeat them
	return err
}

// NewActor implements workload.Behavior.
func (b *Person) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	if u.Rank >= len(b.ids) {
		return nil, fmt.Errorf("mattermost: user %d of this behavior was not provisioned; there are %d", u.Rank, len(b.ids))
	}
	token := ""
	if !env.Cold {
		if u.Rank >= len(b.tokens) || b.tokens[u.Rank] == "" {
			return nil, fmt.Errorf("mattermost: user %d of this behavior was not logged in", u.Rank)
		}
		token = b.tokens[u.Rank]
	}
	a := &person{
		b: b, u: u, id: b.ids[u.Rank], steady: b.notes.steady(&env), login: b.notes.login(&env), deliveries: env.Deliveries,
		delivery: env.Registry.Name(workload.Delivery), current: -1, factor: b.set.speed,
	}
	if a.factor == 0 {
		a.factor = speedOf(u.Rank)
	}
	cfg := ClientConfig{URL: env.URL, Token: token, Timeout: env.Timeout, UserAgent: "plimsoll", Recorder: u, Table: a.login, Note: b.notes.to(&env)}
	c, err := NewClient(cfg)
	if err != nil {
		return nil, err
	}
	a.c = c
	cfg.Recorder, cfg.Table = readerRecorder{u}, a.steady
	if a.again, err = NewClient(cfg); err != nil {
		return nil, err
	}
	return a, nil
}

// readerRecorder records the ops of the goroutine that reads the WebSocket: they belong to no action.
type readerRecorder struct{ u *workload.User }

// Done implements Recorder.
func (r readerRecorder) Done(n measure.Name, sent, done time.Time, class measure.Class, bytes int64) {
	at := r.u.Since(sent)
	r.u.Recorder().Record(n, &measure.Op{Intended: at, Due: at, Sent: at, Done: r.u.Since(done), Class: class, Bytes: bytes})
}

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

// switchChannel goes to another channel.
func (a *person) switchChannel(ctx context.Context) error {
	n := len(a.places)
	if n == 1 {
		return a.enter(ctx, 0)
	}
	k := a.u.Pick.IntN(n - 1)
	if k >= a.current {
		k++
	}
	return a.enter(ctx, k)
}

// enter makes a channel the current one and reads it.
func (a *person) enter(ctx context.Context, k int) error {
	prev := ""
	if a.current >= 0 {
		prev = a.places[a.current].id
		if seen, err := a.c.ViewChannel(ctx, a.id, prev, ""); err != nil {
			return err
		} else if seen > 0 {
			a.places[a.current].seen = seen
		}
	}
	p := &a.places[k]
	var posts []Seen
	var err error
	if p.loaded && p.seen > 0 {
		posts, err = a.c.PostsSince(ctx, p.id, p.seen)
	} else {
		posts, err = a.c.PostsAroundUnread(ctx, a.id, p.id, pageOf, pageOf)
	}
	if err != nil {
		return err
	}
	p.loaded = true
	a.mu.Lock()
	a.current = k
	a.posts, a.oldest = a.posts[:0], ""
	a.mu.Unlock()
	a.keep(posts)
	if err := a.meet(ctx, posts); err != nil {
		return err
	}
	if _, err := a.c.ChannelStats(ctx, p.id); err != nil {
		return err
	}
	seen, err := a.c.ViewChannel(ctx, a.id, p.id, prev)
	if err == nil {
		p.seen = max(p.seen, seen)
	}
	return err
}

// keep remembers posts of the current channel that were read, newest first.
func (a *person) keep(posts []Seen) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range slices.Backward(posts) {
		a.remember(p)
	}
	if len(posts) > 0 {
		a.oldest = posts[len(posts)-1].ID
	}
}

// remember keeps one post of the current channel. The lock is held.
func (a *person) remember(p Seen) {
	if slices.ContainsFunc(a.posts, func(q Seen) bool { return q.ID == p.ID }) {
		return
	}
	if len(a.posts) >= mostSeen {
		a.posts = append(a.posts[:0], a.posts[1:]...)
	}
	if a.oldest == "" {
		a.oldest = p.ID
	}
	a.posts = append(a.posts, p)
}

// meet asks for what the client does not know about the authors of posts.
func (a *person) meet(ctx context.Context, posts []Seen) error {
	var ids []string
	for _, p := range posts {
		if p.UserID == "" || p.UserID == a.id {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(p.UserID))
		if sum := h.Sum64(); !slices.Contains(a.known, sum) {
			if len(a.known) < mostKnown {
				a.known = append(a.known, sum)
			} else {
				a.known[a.knownAt%mostKnown] = sum
			}
			a.knownAt++
			ids = append(ids, p.UserID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if _, err := a.c.Statuses(ctx, ids); err != nil {
		return err
	}
	_, err := a.c.UsersByID(ctx, ids)
	return err
}

// scroll reads one to five pages backwards, with pauses to look at them.
func (a *person) scroll(ctx context.Context) error {
	// All numbers are drawn, whatever the server will say: the stream must not depend on it.
	pages := 1 + a.u.Action.IntN(5)
	var pauses [5]time.Duration
	for i := range pauses {
		pauses[i] = time.Duration(1+a.u.Action.IntN(10)) * time.Second
	}
	if a.current < 0 {
		return a.switchChannel(ctx)
	}
	channel := a.places[a.current].id
	a.mu.Lock()
	anchor := a.oldest
	a.mu.Unlock()
	if anchor == "" {
		posts, err := a.c.Posts(ctx, channel, pageOf)
		if err != nil {
			return err
		}
		a.keep(posts)
		if len(posts) == 0 {
			return nil
		}
		anchor = posts[len(posts)-1].ID
	}
	for i := range pages {
		posts, err := a.c.PostsBefore(ctx, channel, anchor, pageOf)
		if err != nil {
			return err
		}
		if err := a.meet(ctx, posts); err != nil {
			return err
		}
		if len(posts) == 0 {
			return nil // the beginning of the channel
		}
		anchor = posts[len(posts)-1].ID
		a.mu.Lock()
		a.oldest = anchor
		a.mu.Unlock()
		if i+1 == pages {
			break // the pause after the last page is think time
		}
		if err := a.u.Pause(ctx, pauses[i]); err != nil {
			return err
		}
	}
	return nil
}

// unreadCheck is what the client does to show its unread counts.
func (a *person) unreadCheck(ctx context.Context) error {
	if _, err := a.c.TeamChannels(ctx, a.id, a.b.team); err != nil {
		return err
	}
	if _, err := a.c.TeamChannelMembers(ctx, a.id, a.b.team); err != nil {
		return err
	}
	if a.current < 0 {
		return nil
	}
	seen, err := a.c.ViewChannel(ctx, a.id, a.places[a.current].id, "")
	if err == nil && seen > 0 {
		a.places[a.current].seen = seen
	}
	return err
}

// typing tells the others that the person is typing. Without a WebSocket nobody is told: the loss was counted already.
func (a *person) typing(ctx context.Context, root string) error {
	sock := a.socket()
	if sock == nil || a.current < 0 {
		return nil
	}
	return a.c.Typing(ctx, sock, a.places[a.current].id, root)
}

// post writes into the current channel, in reply to something if there is anything.
func (a *person) post(ctx context.Context, reply bool) error {
	words := rootWords
	if reply {
		words = replyWords
	}
	text := message(a.u.Content, words, a.b.set.users, len(a.b.ids))
	if a.current < 0 {
		return a.switchChannel(ctx)
	}
	d := Draft{ChannelID: a.places[a.current].id, Message: text}
	if reply {
		if p, ok := a.anyPost(); ok {
			if d.RootID = p.RootID; d.RootID == "" {
				d.RootID = p.ID
			}
		}
	}
	if err := a.typing(ctx, d.RootID); err != nil {
		if _, ok := errors.AsType[*OpError](err); !ok {
			return err
		} // the message is sent all the same
	}
	p, err := a.c.Post(ctx, d)
	if err != nil {
		return err
	}
	if a.deliveries != nil {
		a.deliveries.Sent(p.ID, p.Sent)
	}
	a.mu.Lock()
	a.remember(Seen{ID: p.ID, RootID: d.RootID, UserID: a.id})
	a.mu.Unlock()
	return nil
}

// react adds a reaction to a post of the current channel; where there is none, the person looks elsewhere.
func (a *person) react(ctx context.Context) error {
	emoji := emojis[a.u.Content.IntN(len(emojis))]
	p, ok := a.anyPost()
	if !ok {
		return a.switchChannel(ctx)
	}
	return a.c.React(ctx, a.id, p.ID, emoji)
}

// anyPost picks one of the remembered posts of the current channel.
func (a *person) anyPost() (Seen, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.posts) == 0 {
		return Seen{}, false
	}
	return a.posts[a.u.Pick.IntN(len(a.posts))], true
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

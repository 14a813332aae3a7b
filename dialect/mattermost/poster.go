package mattermost

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

const (
	posterAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36"
	posterTasks = 25 // of which one is an upload
	alphabet    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 "
)

// Poster is the behavior poster: see "Behaviors" in the package comment. Its zero value is ready
// for Provision.
type Poster struct {
	posting
	set   settings
	notes notes
}

// posting are the objects that Provision of a Poster has found or made.
type posting struct {
	accounts          // of a file, or none: posters share a bot
	Channels []string `json:"channels"`
	Token    string   `json:"token"` // of the bot
}

// Provision implements workload.Behavior. The number of users does not matter to it.
func (p *Poster) Provision(ctx context.Context, env workload.Env, _ int) error {
	set, err := parse(env.Params, env.Mix)
	if err != nil {
		return err
	}
	p.set = set
	s := newSetup(ctx, &env, set)
	s.patient()
	defer s.heldUp()
	if env.Accounts != nil {
		return p.useAccounts(s, &env)
	}
	given := secret(&env, "bot_token")
	if given != "" && len(set.existing) > 0 {
		p.Token = given
		p.Channels = set.existing
		ok, err := s.valid(given)
		if err == nil && !ok {
			err = errors.New("the server does not accept the secret bot_token")
		}
		if err != nil {
			return fmt.Errorf("bot: %w", err)
		}
		return nil
	}
	if err := s.asAdmin(); err != nil {
		return err
	}
	team, channels, err := s.place()
	if err != nil {
		return err
	}
	id, err := p.bot(s, given, channels)
	if err != nil || id == "" {
		return err
	}
	if err := s.joinTeam(team, []string{id}); err != nil {
		return err
	}
	p.Channels = channels
	return s.joinChannels(channels, slices.Repeat([][]string{{id}}, len(channels)))
}

// bot finds or makes the bot and its token, and returns its id; "" if an earlier call has done all.
func (p *Poster) bot(s *setup, given string, channels []string) (id string, err error) {
	if given != "" {
		p.Token = given
		me, err := s.who(given)
		if err != nil {
			return "", fmt.Errorf("bot: %w", err)
		}
		return me.ID, nil
	}
	if p.Token != "" {
		have, err := s.valid(p.Token)
		if err != nil {
			return "", fmt.Errorf("bot: %w", err)
		}
		if have && slices.Equal(p.Channels, channels) {
			return "", nil
		}
	}
	id, p.Token, err = s.bot()
	return id, err
}

// useAccounts opens sessions of the posters' accounts and makes each a member of its channel, or
// checks that it is one.
func (p *Poster) useAccounts(s *setup, env *workload.Env) (err error) {
	if len(env.Accounts.Rows) == 0 { // too few users for one poster
		p.posting = posting{accounts: accounts{Rows: []workload.Account{}}}
		return nil
	}
	if p.accounts, err = s.openSessions(&p.accounts, env.Accounts); err != nil {
		return err
	}
	team, channels, err := s.place()
	if err != nil {
		return err
	}
	p.Token = ""
	p.Channels = channels
	own := func(rank int) []int { return []int{rank % len(channels)} }
	if err := s.joinAccounts(&p.accounts, team, channels, own); err != nil {
		return err
	}
	if env.Cold {
		return s.closeSessions(&p.accounts)
	}
	return nil
}

// Operations implements workload.Sparse.
func (p *Poster) Operations() []string { return []string{"post", "upload"} }

// Most implements workload.Limited. A bot posts for any number of users.
func (p *Poster) Most() (users int, ok bool) {
	return len(p.IDs), p.ofFile()
}

// NewActor implements workload.Behavior.
func (p *Poster) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	if len(p.Channels) == 0 {
		return nil, fmt.Errorf("poster: Provision has not been called")
	}
	token := p.Token
	id := ""
	login := workload.Account{}
	if p.ofFile() {
		i, ok := p.index(u.Rank)
		if !ok {
			return nil, fmt.Errorf(
				"poster: user %d of this behavior was not provisioned; there are %d here",
				u.Rank,
				len(p.IDs),
			)
		}
		id = p.IDs[i]
		if token = p.Tokens[i]; token == "" {
			login = p.Rows[i]
		}
	}
	c, err := api.NewClient(api.Options{
		URL: env.URL, HTTP2: env.HTTP2, Token: token, Timeout: env.Timeout, Clock: u.Clock(),
		UserAgent: posterAgent, Recorder: u, Table: p.notes.table(env.Registry, ""),
		Note: p.notes.to(&env), Dial: env.Dial, Secrets: env.Secrets,
	})
	if err != nil {
		return nil, err
	}
	return &poster{
		c: c, u: u, id: id, channel: p.Channels[u.Rank%len(p.Channels)], ledger: env.Ledger,
		account: login, login: p.notes.table(env.Registry, workload.Login),
		counts: env.Tally.Behavior("poster", posterActions),
	}, nil
}

// NewServer implements workload.ArrivalBehavior.
func (p *Poster) NewServer(env workload.Env, u *workload.User) (workload.Server, error) {
	a, err := p.NewActor(env, u)
	if err != nil {
		return nil, err
	}
	s := a.(*poster)
	s.all = p.Channels
	return s, nil
}

// Serve implements workload.Server: one post in a channel that the arrival picks.
func (a *poster) Serve(ctx context.Context, k int64) error {
	a.channel = a.all[a.u.Pick.IntN(len(a.all))]
	a.files = int(k)
	return a.Act(ctx)
}

// poster is one user.
type poster struct {
	all     []string // channels, of one that serves arrivals
	c       *api.Client
	u       *workload.User
	id      string // of its own account; "" if it shares the bot's
	named   int64  // Unix milliseconds in the identifier of its last post
	channel string
	files   int
	ledger  *workload.Ledger
	counts  *workload.Counts
	account workload.Account // that it logs in with; empty if it has a token
	login   *api.Table
}

// posterActions are the two tasks of a poster.
var posterActions = []workload.TallyAction{{Name: "post", Weight: posterTasks - 1},
	{Name: "upload", Weight: 1}}

// Login implements workload.Actor. A poster with a token has all that it needs, and its connection
// comes with the first request.
func (a *poster) Login(ctx context.Context) error {
	if a.account.Login == "" {
		return nil
	}
	defer a.c.Under(a.login)()
	_, err := a.c.Login(ctx, a.account.Login, a.account.Password)
	return err
}

// Think implements workload.Actor: uniform on [4 s, 6 s).
func (a *poster) Think() time.Duration {
	return 4*time.Second + time.Duration(a.u.Think.Float64()*float64(2*time.Second))
}

// Act implements workload.Actor.
func (a *poster) Act(ctx context.Context) error {
	k := 0
	if a.u.Action.IntN(posterTasks) == 0 {
		k = 1
	}
	a.counts.Attempt(k)
	err := a.act(ctx, k == 1)
	switch {
	case err == nil:
		a.counts.SucceedBy(k, a.u.Rank)
	case ctx.Err() == nil:
		a.counts.Fail(k)
	}
	return ended(ctx)
}

func (a *poster) act(ctx context.Context, upload bool) error {
	d := api.Draft{ChannelID: a.channel}
	if !upload {
		d.Message = "Test message: " + randomText(a.u.Content, 10)
	} else {
		a.files++
		data := fmt.Sprintf("Test file %d\n%s", a.files, randomText(a.u.Content, 100))
		id, err := a.c.Upload(ctx, a.channel, false, fmt.Sprintf("test_%d.txt", a.files),
			"text/plain", []byte(data))
		if err != nil {
			return err
		}
		d.Message = fmt.Sprintf("File upload test %d", a.files)
		d.FileIDs = []string{id}
	}
	// Without an id, as the file that it is modeled after: all posters share one account.
	if a.id != "" {
		a.named = max(time.Now().UnixMilli(), a.named+1)
		d.Pending = api.PendingID(a.id, a.named)
	}
	a.ledger.Sending(d.ChannelID, d.Pending, a.u.ID)
	p, err := a.c.Post(ctx, d)
	record(a.ledger, &d, p, err, workload.Message{Author: a.u.ID})
	return err
}

// Close implements workload.Actor.
func (a *poster) Close() { a.c.Close() }

// ended is the result of Act after a failed op: nothing, unless it failed because the run is over.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return workload.ErrStop
	}
	return nil
}

// randomText returns n random letters, digits and spaces.
func randomText(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

package mattermost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// Person is the behavior mattermost: see "Behaviors" in the package comment. Its zero value is
// ready for Provision.
type Person struct {
	found
	set      settings
	dir      *directory
	mix      *mix
	fixtures fixtures
	notes    notes
	bot      bot
	extended []Extension   // fixed
	call     time.Duration // of one request of Provision; 0 for the patience of a load
	// of a verification, in Provision and of the persons; nil for a load, whose persons have none
	patience *api.Patience

	mu  sync.Mutex
	reg *measure.Registry // of the run that fresh belongs to
	// sessions that persons opened during the run, by rank; "" for one that was ended
	fresh map[int]string

	storm     sync.Mutex
	rallies   map[string]*rally // of storms, by name
	ralliesOf *measure.Registry
	rallied   time.Time // when the last try to find or make one ended
	// unmade has why the webhook or the bot of an action is not there; nil if that ends Provision
	unmade map[string]error
}

// found are the objects that Provision of a Person has found or made. Settings and mix follow from
// the plan.
type found struct {
	facts
	accounts
	Password   string   `json:"password"` // of all accounts of our making
	Team       string   `json:"team"`
	Channels   []string `json:"channels"`
	AdminToken string   `json:"admin_token"` // for reports
	// Attribute is the identifier of the custom profile attribute that persons change; "" if the
	// server has none.
	Attribute string `json:"attribute"`
	// Webhook is the identifier of the incoming webhook, a secret, and Bot the bot that persons ask;
	// empty unless the mix has their actions.
	Webhook string      `json:"webhook"`
	Bot     integration `json:"bot"`
	// MostNotified is the largest number of members of a channel whose users are notified of
	// typing.
	MostNotified int `json:"most_notified"`
}

// personName is the user name of a person with an account of our making.
func personName(prefix string, rank int) string {
	n := strconv.Itoa(rank)
	return prefix + "00000"[min(len(n), 5):] + n
}

// name returns the user name of a person.
func (b *Person) name(rank int) string {
	if rank < len(b.Names) {
		return b.Names[rank]
	}
	return personName(b.set.users, rank)
}

// credentials returns the login and the password of a person; both are empty for one that has a
// token alone.
func (b *Person) credentials(rank int) (login, password string) {
	if !b.ofFile() {
		return personName(b.set.users, rank), b.Password
	}
	i, ok := b.index(rank)
	if !ok {
		return "", ""
	}
	return b.Rows[i].Login, b.Rows[i].Password
}

// isPerson reports whether a user of that name is one of the persons, as far as names tell.
func (b *Person) isPerson(name string) bool {
	if b.ofFile() {
		return name != ""
	}
	return strings.HasPrefix(name, b.set.users)
}

// Provision implements workload.Behavior. Afterwards n persons are members of the team and of their
// channels and, with warm logins, have a session. Persons beyond n of an earlier call stay.
func (b *Person) Provision(ctx context.Context, env workload.Env, n int) error {
	set, err := parse(env.Params, env.Mix)
	if err != nil {
		return err
	}
	b.set = set
	s := newSetup(ctx, &env, set)
	s.call = cmp.Or(b.call, s.call)
	if s.patience = b.patience; s.patience == nil {
		s.patient()
		defer s.heldUp()
	}
	given := env.Accounts
	if given != nil && len(given.Rows) == 0 {
		return fmt.Errorf(
			"mattermost: none of the users of %s follow this behavior; raise the number of users, or its share",
			given.File,
		)
	}
	if given == nil {
		err = s.asAdmin()
	} else {
		b.accounts, err = s.openSessions(&b.accounts, given)
	}
	if err != nil {
		return err
	}
	team, channels, err := s.place()
	if err != nil {
		return err
	}
	if team != b.Team { // another server, or one that was reset to an earlier state
		b.dir = newDirectory()
		b.fixtures = fixtures{}
		if given == nil {
			b.accounts = accounts{}
		}
	}
	b.Team = team
	b.Channels = channels
	if given == nil {
		b.Password = personPassword(&env)
	}
	if err := b.study(ctx, s); err != nil {
		return err
	}
	if given != nil {
		return s.stopped(b.useAccounts(s, env.Cold), n)
	}
	if set.signUp > 0 && !env.Cold {
		return errors.New(
			"mattermost: setting sign_up: persons that make their account during the run need login: cold",
		)
	}
	return s.stopped(b.makeAccounts(s, n, env.Cold), n)
}

// study reads the facts about the server and makes the mix of them.
func (b *Person) study(ctx context.Context, s *setup) (err error) {
	if err := s.with(func(c *api.Client) (err error) {
		b.facts, err = describe(ctx, c)
		return err
	}); err != nil {
		return fmt.Errorf("asking the server what it is: %w", err)
	}
	b.AdminToken = s.token
	b.Denied = map[feature]string{}
	if s.member {
		b.AdminToken = ""
		b.Denied[hasReports] = noAdmin
		b.Denied[hasWebhooks] = noAdmin
		b.Denied[hasBots] = noAdmin
	} else if b.Config["EnableBotAccountCreation"] == "false" && secret(s.env, "bot_token") == "" {
		b.Denied[hasBots] = "EnableBotAccountCreation is false on the server, and no bot_token is given"
	}
	if b.lacks(hasAttributes) == "" {
		if b.Attribute, err = s.attribute(); err != nil {
			return fmt.Errorf("custom profile attribute: %w", err)
		}
		if b.Attribute == "" {
			b.Denied[hasAttributes] = "there is no attribute " + attributeName + ", and " + noAdmin
		}
	}
	if err := b.choose(s.env); err != nil {
		return err
	}
	b.MostNotified = 1000
	if v, err := strconv.Atoi(b.Config["MaxNotificationsPerChannel"]); err == nil {
		b.MostNotified = v
	}
	if b.Config["EnableUserTypingMessages"] == "false" {
		b.MostNotified = 0
	}
	return nil
}

// choose makes the mix of a plan, by its weights or its name.
func (b *Person) choose(env *workload.Env) (err error) {
	weights := env.Weights
	if weights == nil {
		name := cmp.Or(env.Mix, DefaultMix)
		if weights = mixesWith(b.extended)[name]; weights == nil {
			return fmt.Errorf("mattermost: there is no mix %q", name)
		}
	}
	b.mix, err = newMix(weights, &b.facts, b.extended...)
	return err
}

// useAccounts makes the accounts of a file members, or checks that they are.
func (b *Person) useAccounts(s *setup, cold bool) error {
	if err := s.joinAccounts(&b.accounts, b.Team, b.Channels, b.channelsOf); err != nil {
		return err
	}
	if s.member {
		s.log("no further team, open, direct and group channels and threads are made: %s", noAdmin)
	} else if err := s.provideFixtures(b); err != nil {
		return err
	} else if err := s.integrate(b); err != nil {
		return err
	}
	b.learnNames()
	if cold {
		return s.closeSessions(&b.accounts)
	}
	return nil
}

// makeAccounts makes n persons, members of the team and of their channels, and logs them in if they
// begin with a session.
func (b *Person) makeAccounts(s *setup, n int, cold bool) error {
	var ranks []int
	var names []string
	ids := make([]string, max(n, len(b.IDs)))
	for rank := range ids {
		if !b.newcomer(rank) {
			ranks = append(ranks, rank)
			names = append(names, b.name(rank))
		}
	}
	have, err := s.makeUsers(names, b.Password)
	if err != nil {
		return err
	}
	of := func(i int) []int { return b.channelsOf(ranks[i]) }
	if err := s.join(b.Team, have, b.Channels, of); err != nil {
		return err
	}
	for i, id := range have {
		ids[ranks[i]] = id
	}
	b.IDs = ids
	if err := s.provideFixtures(b); err != nil {
		return err
	}
	if err := s.integrate(b); err != nil {
		return err
	}
	b.learnNames()
	if cold {
		return nil
	}
	return b.warm(s, n)
}

// channelsOf returns the indices of the channels that a person is a member of, besides the team's
// own.
func (b *Person) channelsOf(rank int) []int {
	ks := make([]int, b.set.memberships)
	for j := range ks {
		ks[j] = (rank + j) % len(b.Channels)
	}
	return ks
}

// warm logs the first n persons in. It uses tokens of an earlier call again if the first one still
// opens a session.
func (b *Person) warm(s *setup, n int) error {
	if len(b.Tokens) > 0 && b.Tokens[0] != "" {
		ok, err := s.valid(b.Tokens[0])
		if err != nil {
			return fmt.Errorf("checking a token: %w", err)
		}
		if !ok {
			b.Tokens = nil
		}
	}
	tokens := make([]string, len(b.IDs))
	copy(tokens, b.Tokens)
	lack := without(tokens[:n])
	if len(lack) > 0 {
		s.log("logging %d users in", len(lack))
	}
	err := each(s, lack, func(ctx context.Context, c *api.Client, rank int) error {
		name := b.name(rank)
		defer c.SetToken(s.token)
		if err := s.logIn(ctx, c, name, b.Password); err != nil {
			return fmt.Errorf(
				"logging in as %s: %w (if the account is older than this run: its password is the secret user_password, "+
					"or derived from the administrator's at the time)",
				name,
				err,
			)
		}
		tokens[rank] = c.Token
		return nil
	})
	b.Tokens = tokens // also of a part: the next call need not repeat them
	return err
}

// begin resets the state of one run, when the first actor of another run is made. The server may
// have been reset in between: posts, and channels that persons made, are gone. No actor of the run
// before is alive any more.
func (b *Person) begin(run *measure.Registry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reg == run {
		return
	}
	if b.reg != nil {
		b.dir = newDirectory()
		b.learnNames()
	}
	b.reg = run
	b.fresh = nil
}

// learnNames puts the persons of this process into the directory.
func (b *Person) learnNames() {
	for i, id := range b.IDs {
		if id != "" {
			b.dir.profile(api.ParseID(id), b.name(b.rank(i)))
		}
	}
}

// Most implements workload.Limited.
func (b *Person) Most() (users int, ok bool) { return len(b.IDs), true }

// Undelivered implements workload.Undelivering.
func (b *Person) Undelivered() string {
	if b.null() {
		return nullServer
	}
	return ""
}

// NewActor implements workload.Behavior.
func (b *Person) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	i, ok := b.index(u.Rank)
	if !ok {
		return nil, fmt.Errorf(
			"mattermost: user %d of this behavior was not provisioned; there are %d",
			u.Rank,
			b.count(),
		)
	}
	token := ""
	if !env.Cold {
		if i >= len(b.Tokens) || b.Tokens[i] == "" {
			return nil, fmt.Errorf("mattermost: user %d of this behavior was not logged in", u.Rank)
		}
		token = b.Tokens[i]
	}
	b.begin(env.Registry)
	a := &person{
		b: b, u: u, id: b.IDs[i], factor: b.set.speed, chance: newChance(), cold: env.Cold,
		ledger:    env.Ledger,
		steady:    b.notes.table(env.Registry, ""),
		login:     b.notes.table(env.Registry, workload.Login),
		delivery:  env.Registry.Name(workload.Delivery),
		inbox:     env.Registry.Name(workload.Inbox),
		knowledge: knowledge{current: -1},
		start:     [2]uint64{u.Pick.Uint64(), u.Pick.Uint64()},
		reg:       env.Registry,
		turn:      make(chan struct{}, 1),
	}
	if a.id != "" { // a newcomer has none yet
		a.self = b.dir.user(api.ParseID(a.id))
	}
	if b.mix != nil {
		a.counts = env.Tally.Behavior("mattermost", b.mix.list)
	}
	if a.factor == 0 {
		a.factor = speedOf(u.Rank)
	}
	a.pool = pool{budget: max(1, b.set.connections), cfg: api.Options{
		URL: env.URL, HTTP2: env.HTTP2, Token: token, Timeout: env.Timeout, Clock: u.Clock(),
		UserAgent: "plimsoll", Recorder: u, Table: a.login, Note: b.notes.to(&env),
		Dial: env.Dial, Collapse: b.collapsed(), Secrets: env.Secrets, Patience: b.patience,
	}}
	c, err := api.NewClient(a.pool.cfg)
	if err != nil {
		return nil, err
	}
	a.pool.open = 1
	a.pool.idle = []*api.Client{c}
	return a, nil
}

// session returns the session that a person has now, or "" if it must open one with its password.
// With cold, its first session begins with a login, unless a file has a token for it.
func (b *Person) session(rank int, cold bool) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t, ok := b.fresh[rank]; ok {
		return t
	}
	return b.held(rank, cold)
}

// remember keeps the session that a person has opened during a run; "" means none.
func (b *Person) remember(a *person, token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fresh == nil {
		b.fresh = map[int]string{}
	}
	b.fresh[a.u.Rank] = token
}

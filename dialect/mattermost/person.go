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

// Person is the behavior mattermost: see "Behaviors" in the package comment. Its zero value is ready for Provision.
type Person struct {
	set      settings
	password string
	team     string
	channels []string
	ids      []string // of the persons, by rank
	tokens   []string // warm logins; "" if there is none
	roster   *roster  // accounts that were there; nil: those of our making
	part     *part    // of the persons that this process has; nil: all
	all      int      // persons of all processes, with a part
	dir      *directory
	mix      *mix
	facts    *facts
	made     made
	notes    notes
	call     time.Duration // of one request of Provision; 0 for that of a load, which waits long
	patience *api.Patience // of a verification: of Provision and of the persons; nil for a load, whose persons have none

	adminToken string // of reports
	attribute  string // id of the custom profile attribute that persons change; "" if the server has none

	// mostNotified is the largest number of members of a channel whose users are notified of
	// typing.
	mostNotified int

	mu    sync.Mutex
	reg   *measure.Registry // of the run that fresh belongs to
	fresh map[int]string    // sessions that persons opened during the run, by rank

	storm     sync.Mutex
	rallies   map[string]*rally // of storms, by name
	ralliesOf *measure.Registry
	rallied   time.Time // when the last try to find or make one ended
}

// personName is the user name of the person with this rank.
func personName(prefix string, rank int) string {
	n := strconv.Itoa(rank)
	return prefix + "00000"[min(len(n), 5):] + n
}

// name is the user name of the person with this rank.
func (b *Person) name(rank int) string {
	if b.roster != nil && rank < len(b.roster.Names) {
		return b.roster.Names[rank]
	}
	return personName(b.set.users, rank)
}

// credentials are the login and the password of the person with this rank; both are empty for one that has a token
// alone.
func (b *Person) credentials(rank int) (login, password string) {
	if b.roster == nil {
		return personName(b.set.users, rank), b.password
	}
	i, ok := b.part.index(rank, len(b.roster.Rows))
	if !ok {
		return "", ""
	}
	return b.roster.Rows[i].Login, b.roster.Rows[i].Password
}

// count returns how many persons there are in all processes.
func (b *Person) count() int {
	if b.part != nil {
		return b.all
	}
	return len(b.ids)
}

// isPerson reports whether a user of that name is one of the persons, as far as names tell.
func (b *Person) isPerson(name string) bool {
	if b.roster != nil {
		return name != ""
	}
	return strings.HasPrefix(name, b.set.users)
}

// Provision implements workload.Behavior: n persons exist, are members of the team and of their channels, and, with
// warm logins, are logged in. Persons beyond n of an earlier call stay.
func (b *Person) Provision(ctx context.Context, env workload.Env, n int) error {
	mixName := cmp.Or(env.Mix, DefaultMix)
	set, err := parse(env.Params, mixName)
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
		return fmt.Errorf("mattermost: none of the users of %s follow this behavior; raise the number of users, or its share", given.File)
	}
	if given == nil || hasAdmin(&env) {
		if err := s.asAdmin(); err != nil {
			return err
		}
	}
	if given != nil {
		if b.roster, err = s.openSessions(b.roster, given); err != nil {
			return err
		}
		s.standIn(b.roster)
	}
	team, channels, err := s.place()
	if err != nil {
		return err
	}
	if team != b.team { // another server, or one that was reset to an earlier state
		b.ids, b.tokens, b.dir, b.made = nil, nil, newDirectory(), made{}
	}
	b.team, b.channels = team, channels
	if given == nil {
		b.password = personPassword(&env)
	}
	if err := b.study(ctx, s, env.Weights, mixName); err != nil {
		return err
	}
	if given != nil {
		return s.stopped(b.useAccounts(s, env.Cold), n)
	}
	if set.signUp > 0 && !env.Cold {
		return errors.New("mattermost: setting sign_up: persons that make their account during the run need login: cold")
	}
	return s.stopped(b.makeAccounts(s, n, env.Cold), n)
}

// study learns what the server is and has, and makes the mix of it.
func (b *Person) study(ctx context.Context, s *setup, weights map[string]float64, mixName string) (err error) {
	if err := s.with(func(c *api.Client) (err error) {
		b.facts, err = describe(ctx, c)
		return err
	}); err != nil {
		return fmt.Errorf("asking the server what it is: %w", err)
	}
	b.adminToken, b.facts.denied = s.token, map[feature]string{}
	if s.member {
		b.adminToken, b.facts.denied[hasReports] = "", noAdmin
	}
	if b.facts.lacks(hasAttributes) == "" {
		if b.attribute, err = s.attribute(); err != nil {
			return fmt.Errorf("custom profile attribute: %w", err)
		}
		if b.attribute == "" {
			b.facts.denied[hasAttributes] = "there is no attribute " + attributeName + ", and " + noAdmin
		}
	}
	if weights == nil {
		if weights = Mixes()[mixName]; weights == nil {
			return fmt.Errorf("mattermost: there is no mix %q", mixName)
		}
	}
	if b.mix, err = newMix(weights, b.facts); err != nil {
		return err
	}
	b.mostNotified = 1000
	if v, err := strconv.Atoi(b.facts.config["MaxNotificationsPerChannel"]); err == nil {
		b.mostNotified = v
	}
	if b.facts.config["EnableUserTypingMessages"] == "false" {
		b.mostNotified = 0
	}
	return nil
}

// useAccounts makes the users of the roster members, or checks that they are.
func (b *Person) useAccounts(s *setup, cold bool) error {
	r := b.roster
	if err := s.joinRoster(r, b.team, b.channels, b.channelsOf); err != nil {
		return err
	}
	b.ids = r.IDs
	if s.member {
		s.log("no further team, open, direct and group channels and threads are made: %s", noAdmin)
	} else if err := s.provideRest(b); err != nil {
		return err
	}
	for rank, id := range r.IDs {
		b.dir.profile(api.ParseID(id), r.Names[rank])
	}
	b.tokens = nil
	if cold {
		return s.closeSessions(r)
	}
	b.tokens = r.Open
	return nil
}

// makeAccounts makes n persons, members of the team and of their channels, and logs them in if they begin with a session.
func (b *Person) makeAccounts(s *setup, n int, cold bool) error {
	var ranks []int
	var names []string
	ids := make([]string, max(n, len(b.ids)))
	for rank := range ids {
		if !b.newcomer(rank) {
			ranks, names = append(ranks, rank), append(names, b.name(rank))
		}
	}
	have, err := s.accounts(names, b.password)
	if err != nil {
		return err
	}
	of := func(i int) []int { return b.channelsOf(ranks[i]) }
	if err := s.join(b.team, have, b.channels, of); err != nil {
		return err
	}
	for i, id := range have {
		ids[ranks[i]] = id
	}
	b.ids = ids
	if err := s.provideRest(b); err != nil {
		return err
	}
	for i, id := range have {
		b.dir.profile(api.ParseID(id), names[i])
	}
	if cold {
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
	lack := without(tokens[:n])
	if len(lack) > 0 {
		s.log("logging %d users in", len(lack))
	}
	err := each(s, lack, func(ctx context.Context, c *api.Client, rank int) error {
		name := b.name(rank)
		defer c.SetToken(s.token)
		if err := s.logIn(ctx, c, name, b.password); err != nil {
			return fmt.Errorf("logging in as %s: %w (if the account is older than this run: its password is the secret user_password, "+
				"or derived from the administrator's at the time)", name, err)
		}
		tokens[rank] = c.Token
		return nil
	})
	b.tokens = tokens // also of a part: the next call need not repeat them
	return err
}

// begin resets the state of one run, when the first actor of another run is made. The server may have been reset in
// between: posts, and channels that persons made, are gone. No actor of the run before is alive any more.
func (b *Person) begin(run *measure.Registry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reg == run {
		return
	}
	if b.reg != nil {
		b.dir = b.newDirectory()
	}
	b.reg, b.fresh = run, nil
}

// newDirectory returns a directory that knows the persons of this process alone.
func (b *Person) newDirectory() *directory {
	d := newDirectory()
	for i, id := range b.ids {
		if id != "" {
			d.profile(api.ParseID(id), b.name(b.part.rank(i)))
		}
	}
	return d
}

// Most implements workload.Limited.
func (b *Person) Most() (users int, ok bool) { return len(b.ids), true }

// Undelivered implements workload.Undelivering.
func (b *Person) Undelivered() string {
	if b.facts.null() {
		return nullServer
	}
	return ""
}

// NewActor implements workload.Behavior.
func (b *Person) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	i, ok := b.part.index(u.Rank, len(b.ids))
	if !ok {
		return nil, fmt.Errorf("mattermost: user %d of this behavior was not provisioned; there are %d", u.Rank, b.count())
	}
	token := ""
	if !env.Cold {
		if i >= len(b.tokens) || b.tokens[i] == "" {
			return nil, fmt.Errorf("mattermost: user %d of this behavior was not logged in", u.Rank)
		}
		token = b.tokens[i]
	}
	b.begin(env.Registry)
	a := &person{
		b: b, u: u, id: b.ids[i], steady: b.notes.steady(&env), login: b.notes.login(&env),
		ledger: env.Ledger, delivery: env.Registry.Name(workload.Delivery), inbox: env.Registry.Name(workload.Inbox), current: -1, factor: b.set.speed, chance: newChance(),
		start: [2]uint64{u.Pick.Uint64(), u.Pick.Uint64()}, reg: env.Registry, turn: make(chan struct{}, 1),
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
		URL: env.URL, HTTP2: env.HTTP2, Token: token, Timeout: env.Timeout, Clock: u.Clock(), UserAgent: "plimsoll", Recorder: u, Table: a.login, Note: b.notes.to(&env),
		Dial: env.Dial, Collapse: b.facts.collapsed(), Secrets: env.Secrets, Patience: b.patience,
	}}
	c, err := api.NewClient(a.pool.cfg)
	if err != nil {
		return nil, err
	}
	a.pool.open, a.pool.idle = 1, c
	a.cold = env.Cold
	return a, nil
}

// token returns the session that a person has, or "": then it opens one with its password. A token of a file is one.
func (b *Person) token(a *person) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t, ok := b.fresh[a.u.Rank]; ok { // "": it has logged out, and tokens has the session that it ended
		return t
	}
	return b.given(a.u.Rank, a.cold)
}

// given returns the session that a person had before the run or, with cold, the token that its account has, or "".
func (b *Person) given(rank int, cold bool) string {
	if i, ok := b.part.index(rank, len(b.tokens)); ok && !cold {
		return b.tokens[i]
	}
	if i, ok := b.part.index(rank, b.roster.len()); ok {
		return b.roster.Rows[i].Token
	}
	return ""
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

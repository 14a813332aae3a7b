package mattermost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/dialect"
	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// An Outcome is the result of [Verify] for one action.
type Outcome string

// The outcomes. Only OutcomeFailed is a fault: of the server, or of this package.
const (
	OutcomeOK      Outcome = "ok"      // it was carried out, and another client saw its effect
	OutcomeAbsent  Outcome = "absent"  // the server does not have it
	OutcomeLicense Outcome = "license" // the server requires a license for it
	OutcomeFailed  Outcome = "FAILED"
)

// Outcomes are all outcomes, the good ones first.
var Outcomes = []Outcome{OutcomeOK, OutcomeAbsent, OutcomeLicense, OutcomeFailed}

// CheckActions refuses names that are not actions of persons.
func CheckActions(names []string) error {
	var known []string
	for i := range actions {
		known = append(known, actions[i].name)
	}
	slices.Sort(known)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no action %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// A Proof is the outcome of one action on one server.
type Proof struct {
	Action        string  `json:"action"`
	Outcome       Outcome `json:"outcome"`
	Detail        string  `json:"detail,omitempty"` // the reason, unless it is ok
	ServerVersion string  `json:"server_version"`
	// Stack is the stack of this program if it panicked in the proof: a defect of ours.
	Stack string `json:"stack,omitempty"`
}

// Count returns the number of proofs with each outcome.
func Count(proofs []Proof) map[string]int {
	n := map[string]int{}
	for _, o := range Outcomes {
		n[string(o)] = 0
	}
	for _, p := range proofs {
		n[string(p.Outcome)]++
	}
	return n
}

// A VerifyConfig names the server to verify and the account to use.
type VerifyConfig struct {
	URL   string
	Token string // of an administrator; or
	// of the administrator named by the setting admin, who is created on an empty server
	Password string
	// UserPassword is the password of the accounts that it makes. If empty, it is derived from the
	// administrator's secret.
	UserPassword string
	Params       map[string]string
	Timeout      time.Duration // of one call; 0 means 10 s
	Only         []string      // names of actions; nil means all
	Users        int           // of the run that the obstacles are for
	// Before is called with the obstacles before anything is made on the server, but for its
	// administrator.
	Before func([]dialect.Obstacle)
	// Proven is called with each proof.
	Proven  func(Proof)
	Log     func(format string, args ...any)
	Secrets *plain.Secrets // gets every password and token of the verification; may be nil
}

// Verify carries out every action that persons can do on a server, with the very code that a load
// uses, and proves the effect of each through another client. It makes a team of its own (setting
// team, default plimsoll-verify) with a few accounts and channels, and leaves them there. Calls
// that a rate limit refuses are repeated, and the log reports for how long. The error reports that
// this failed; a failure of an action is in its Proof.
func Verify(ctx context.Context, cfg VerifyConfig) ([]Proof, error) {
	s, err := newStage(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer s.close()
	defer s.setup.heldUp()
	var proofs []Proof
	for i := range actions {
		a := &actions[i]
		if len(cfg.Only) > 0 && !slices.Contains(cfg.Only, a.name) {
			continue
		}
		p := s.verify(ctx, a)
		if ctx.Err() != nil {
			return proofs, context.Cause(ctx)
		}
		if cfg.Proven != nil {
			cfg.Proven(p)
		}
		proofs = append(proofs, p)
	}
	return proofs, nil
}

// A stage is the small world in which actions are proven. Two persons are members of the same
// channels: one acts, the other watches.
type stage struct {
	context.Context // of the proof under way

	b              *Person
	env            workload.Env
	setup          *setup
	actor, witness *person
	admin          *api.Client // of the administrator
	doing          *action
	rooms          int   // channels made
	nonce          int64 // differs from one verification to the next
	spoiled        bool  // the actor or the witness panicked: its state is unknown

	mu     sync.Mutex
	panics []*boundary.Panic // of the proof under way, caught beside it
}

// stagePersons are the accounts of a stage: the actor, the witness, and others to talk to.
const stagePersons = 6

// stageTime ends the provisioning of a stage.
const stageTime = 5 * time.Minute

func newStage(ctx context.Context, cfg VerifyConfig) (*stage, error) {
	cfg.Secrets.Add(cfg.Token, cfg.Password, cfg.UserPassword)
	params := map[string]string{"team": "plimsoll-verify", "users": "plverify-", "channels": "4",
		"memberships": "4"}
	maps.Copy(params, cfg.Params)
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	s := &stage{Context: ctx, b: &Person{call: cfg.Timeout, patience: &api.Patience{Log: cfg.Log},
		unmade: map[string]error{}},
		env: workload.Env{
			URL:      strings.TrimRight(cfg.URL, "/"),
			Seed:     1,
			Pace:     0.001,
			Timeout:  cfg.Timeout,
			Params:   params,
			Weights:  map[string]float64{},
			Registry: measure.NewRegistry(1),
			Ledger:   workload.NewLedger(0, 1),
			Log:      cfg.Log,
			Secrets:  cfg.Secrets,
			Secret: func(name string) string {
				return map[string]string{"admin_token": cfg.Token, "admin_password": cfg.Password,
					"user_password": cfg.UserPassword}[name]
			},
		}}
	s.env.Panicked = s.panicked
	for i := range actions {
		s.env.Weights[actions[i].name] = 1
	}
	set, err := parse(params, DefaultMix)
	if err != nil {
		return nil, err
	}
	s.setup = newSetup(ctx, &s.env, set)
	s.setup.call = s.env.Timeout
	s.setup.patience = s.b.patience
	if err := s.look(cfg); err != nil {
		return nil, err
	}
	provisioning, done := context.WithTimeoutCause(ctx, stageTime,
		fmt.Errorf("provisioning is not done within %v", stageTime))
	defer done()
	if err := s.b.Provision(provisioning, s.env, stagePersons); err != nil {
		return nil, err
	}
	s.nonce = time.Now().UnixNano()
	s.admin, err = s.setup.client(s.setup.token)
	if err == nil {
		s.actor, err = s.person(0)
	}
	if err == nil {
		s.witness, err = s.person(1)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// look reads as the administrator what stops a run.
func (s *stage) look(cfg VerifyConfig) error {
	if err := s.setup.asAdmin(); err != nil {
		return err
	}
	list, err := s.setup.obstacles(cfg.Users)
	if err != nil {
		return fmt.Errorf("reading the server's configuration: %w", err)
	}
	if cfg.Before != nil {
		cfg.Before(list)
	}
	return nil
}

// person logs one of the stage's persons in.
func (s *stage) person(rank int) (*person, error) {
	u := workload.NewUser(rank, rank, s.env.Seed, s.env.Pace, s.env.Registry.Recorder(rank),
		clock.New(time.Now()))
	actor, err := s.b.NewActor(s.env, u)
	if err != nil {
		return nil, err
	}
	a := actor.(*person)
	u.Schedule(u.Now())
	if err := a.Login(s.Context); err != nil {
		a.Close()
		return nil, fmt.Errorf("logging in: %w", err)
	}
	// for the whole verification: the stage looks through the persons' own clients
	a.begin(a.steady)
	return a, nil
}

// client returns another client with a token, for a proof, which itself judges each answer.
func (s *stage) client(token string) (*api.Client, error) {
	cfg := s.actor.pool.cfg
	cfg.Token = token
	cfg.Note = nil
	return api.NewClient(cfg)
}

// eventually waits for something that comes by the WebSocket.
func (s *stage) eventually(what string, true func() bool) {
	for range 500 {
		if true() {
			return
		}
		check(workload.SleepUntil(s, time.Now().Add(10*time.Millisecond)))
	}
	check(fmt.Errorf("%s did not come in 5 s", what))
}

// shared reports whether the witness is in a place of the actor, too.
func (s *stage) shared(p place) bool {
	return slices.ContainsFunc(s.witness.places, func(q place) bool { return q.ch == p.ch })
}

func (s *stage) persons() []*person { return []*person{s.actor, s.witness} }

func (s *stage) close() {
	for _, a := range s.persons() {
		if a != nil {
			a.Close()
		}
	}
	if s.admin != nil {
		s.admin.Close()
	}
}

// proofTime ends one proof.
const proofTime = 2 * time.Minute

func (s *stage) verify(ctx context.Context, a *action) Proof {
	p := Proof{Action: a.name, Outcome: OutcomeOK, ServerVersion: s.b.Version.String()}
	if lack := s.b.lacks(a.needs); lack != "" {
		p.Outcome = OutcomeAbsent
		p.Detail = lack
		if s.b.wantsLicense(a.needs) {
			p.Outcome = OutcomeLicense
		}
		return p
	}
	within, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	s.Context = within
	s.doing = a
	s.panicking()
	err := s.prove(a)
	caught := s.panicking()
	own, panicked := errors.AsType[*boundary.Panic](err)
	if !panicked && len(caught) > 0 {
		own, err = caught[0], errors.Join(caught[0], err)
	}
	if own != nil {
		p.Stack = own.Stack
		s.spoiled = true
	}
	if err != nil {
		p.Outcome, p.Detail = OutcomeFailed, s.env.Secrets.Text(err.Error())
		if e, ok := errors.AsType[*api.OpError](err); ok && e.LacksLicense() && own == nil {
			p.Outcome = OutcomeLicense
		}
	}
	return p
}

// prove returns the error that ended the proof of an action.
func (s *stage) prove(a *action) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case proofError:
			err = v.error
		default:
			err = boundary.New("the proof of "+a.name, v)
		}
	}()
	check(s.b.unmade[a.name])
	check(s.ready())
	a.prove(s)
	return nil
}

// A proofError ends the proof that it was thrown in.
type proofError struct{ error }

// check ends the proof if there is an error.
func check(err error) {
	if err != nil {
		panic(proofError{err})
	}
}

// must is check for a call with a result.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// disproved ends the proof with this text if the effect of an action is not the right one.
func disproved(wrong bool, format string, args ...any) {
	if wrong {
		check(fmt.Errorf(format, args...))
	}
}

// panicked records panics that the persons' own boundaries caught.
func (s *stage) panicked(p *boundary.Panic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panics = append(s.panics, p)
}

// panicking returns those panics since the call before.
func (s *stage) panicking() (list []*boundary.Panic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list = s.panics
	s.panics = nil
	return list
}

// renew makes a new actor and a new witness after a panic. The old ones may hold locks: their end
// is not awaited.
func (s *stage) renew() error {
	for _, a := range s.persons() {
		go func() {
			_ = boundary.Do("a person that closes", func() error {
				a.Close()
				return nil
			})
		}()
	}
	actor, err := s.person(0)
	if err != nil {
		return err
	}
	witness, err := s.person(1)
	if err != nil {
		actor.Close()
		return err
	}
	s.actor = actor
	s.witness = witness
	s.spoiled = false
	return nil
}

// ready gives every proof the same beginning: actor and witness look at the same channel of the
// team, with fresh chance. One of them that a proof has left without a connection or a channel,
// because its reload or its login failed, arrives again, as it would in a load.
func (s *stage) ready() error {
	if s.spoiled {
		if err := s.renew(); err != nil {
			return err
		}
	}
	for _, a := range s.persons() {
		a.renew(a.u.Action.Uint64(), a.u.Action.Uint64())
		a.u.Schedule(a.u.Now())
		if a.isGone() {
			if err := s.again(a); err != nil {
				return fmt.Errorf("coming back after the proof before: %w", err)
			}
		}
		a.takeIn()
		a.team = s.b.Team
	}
	return s.gather()
}

// again lets a person arrive again.
func (s *stage) again(a *person) error {
	defer a.c.Under(a.login)()
	return (&act{s.Context, a}).arrive()
}

// gather lets actor and witness look at the same channel of the team. It is an error if there is
// none.
func (s *stage) gather() error {
	for _, p := range s.actor.places {
		if s.actor.inTeam(p) && s.shared(p) {
			for _, a := range s.persons() {
				if a.channel() != p.ch {
					if err := (&act{s.Context, a}).enter(a.place(p.ch)); err != nil {
						return err
					}
				}
			}
			return nil
		}
	}
	return errors.New("the two persons of the verification are in no channel of the team together")
}

// act carries out the action that is being proven, as a load would, once. A skip is a failure here:
// the proof is there to make it possible.
func (s *stage) act() { check(s.carryOut(s.doing.do)) }

// carryOut is act with another function in place of the action's own, which returns more to the
// proof.
func (s *stage) carryOut(do func(*act) error) error {
	return s.carryOutAs(s.actor.u.Action.Uint64(), s.actor.u.Action.Uint64(), do)
}

// carryOutAs is carryOut with given seeds.
func (s *stage) carryOutAs(a, b uint64, do func(*act) error) error {
	s.actor.renew(a, b)
	if err := do(&act{s.Context, s.actor}); err != nil {
		return fmt.Errorf("doing it: %w", err)
	}
	return nil
}

// refresh makes the actor read the present state of its current channel.
func (s *stage) refresh() {
	s.actor.learn(s.actor.channel(), must(s.actor.c.Posts(s, s.actor.here(), seenPosts)))
}

// say has the witness write to a channel, or in the thread of a root.
func (s *stage) say(channelID, text string, root ...string) api.Posted {
	return must(s.witness.c.Post(s,
		api.Draft{ChannelID: channelID, Message: text, RootID: strings.Join(root, "")}))
}

// latest returns the last posts of a channel as the witness sees them.
func (s *stage) latest(channelID string, n int) []api.Seen {
	return must(s.witness.c.Posts(s, channelID, n))
}

// allRead shows that the actor has nothing unread in a channel, as the administrator sees it.
func (s *stage) allRead(ch *channel) {
	m := must(s.admin.ChannelMember(s, ch.key, s.actor.id))
	now := must(s.admin.Channel(s, ch.key))
	disproved(m.Messages < now.Messages || m.Seen == 0, "%d posts count as read, of %d", m.Messages,
		now.Messages)
}

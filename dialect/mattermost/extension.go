package mattermost

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"plimsoll/dialect"
	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// An Extension adds to what persons do: the load of a plugin, for example. Its steps are carried out
// in the person's own goroutine, as a part of the action that leads to them, and are called by all
// persons at the same time.
type Extension struct {
	// Ops are the names of the operations that its steps record, in lower case with underscores:
	// rules and reports know them by these names, and those of logins with "login_" before it.
	Ops []string
	// Login is carried out each time that a client has started, before it shows its first channel:
	// at a login, after a reload and when a person comes back. Team is carried out when the person
	// has come to another team, Channel when it has entered a channel, the first one among them.
	// Each may be nil.
	Login, Team, Channel Step
	// Actions are further actions of persons, drawn by their weights beside the others.
	Actions []Extra
}

// A Step is a part of a person's action. The error of a [Participant]'s call, returned as it is, ends the
// action, which then counts as failed; that of [Skip] ends it as one whose object did not exist;
// any other error ends the person.
type Step func(ctx context.Context, m *Participant) error

// An Extra is an action of an extension.
type Extra struct {
	Name   string
	Weight float64 // relative to create_post, in every mix; workload.weights may give another
	Do     Step
}

// Skip returns the error of an action whose object does not exist, for this reason.
func Skip(reason string) error { return skipError(reason) }

// With returns the dialect with extensions of its persons. A program hands it to plimsoll in place
// of [Dialect]. It panics if an operation or action has the name of another one.
func With(extended ...Extension) *dialect.Dialect {
	var more []string
	taken := append(api.Ops(), slices.Sorted(maps.Keys(Mixes()[DefaultMix]))...)
	claim := func(kind, name string) {
		if slices.Contains(taken, name) || name == "" {
			panic(fmt.Sprintf("mattermost: the %s %q of an extension: there is one already",
				kind, name))
		}
		taken = append(taken, name)
	}
	for _, e := range extended {
		for _, name := range e.Ops {
			claim("operation", name)
			more = append(more, name)
		}
		for _, x := range e.Actions {
			claim("action", x.Name)
		}
	}
	d := *Dialect
	d.Behaviors = maps.Clone(Dialect.Behaviors)
	d.Behaviors[living] = func() workload.Behavior {
		return &Person{extended: extended, notes: notes{more: more}}
	}
	d.Mixes = func() map[string]map[string]float64 { return mixesWith(extended) }
	d.Ops = func() []string { return append(api.Ops(), more...) }
	d.Apart = func() []string { return apart(more...) }
	return &d
}

// mixesWith returns the mixes with the actions of extensions.
func mixesWith(extended []Extension) map[string]map[string]float64 {
	mixes := Mixes()
	for _, weights := range mixes {
		for _, e := range extended {
			for _, x := range e.Actions {
				weights[x.Name] = x.Weight
			}
		}
	}
	return mixes
}

// actions returns the rows of the extension's actions.
func (e *Extension) actions() (list []action) {
	for _, x := range e.Actions {
		list = append(list, action{
			name:   x.Name,
			weight: x.Weight,
			do: func(a *act) error {
				if err := a.somewhere(); err != nil {
					return err
				}
				return a.step(x.Do)
			},
		})
	}
	return list
}

// hook carries out a step of each extension that has it.
func (a *act) hook(of func(*Extension) Step) error {
	for i := range a.b.extended {
		if do := of(&a.b.extended[i]); do != nil {
			if err := a.step(do); err != nil {
				return err
			}
		}
	}
	return nil
}

// step carries out a step with chance of its own: a step takes nothing from the action's.
func (a *act) step(do Step) error {
	a.steps++
	return do(a, &Participant{a: a.person,
		rand: rand.New(rand.NewPCG(a.start[0], a.start[1]^a.steps<<8))})
}

// A Participant is a person as a step of an extension has it, and is valid until the step returns. It is
// for the goroutine of the step.
type Participant struct {
	a    *person
	rand *rand.Rand
}

// Number is the person's number, from 0.
func (m *Participant) Number() int { return m.a.u.ID }

// UserID is the person's id.
func (m *Participant) UserID() string { return m.a.id }

// TeamID is the id of the person's current team.
func (m *Participant) TeamID() string { return m.a.team }

// ChannelID is the id of the person's current channel; "" before its first.
func (m *Participant) ChannelID() string {
	if ch := m.a.channel(); ch != nil {
		return ch.key
	}
	return ""
}

// Rand returns the step's stream of chance: a function of the seed, the person and the number of its
// steps so far.
func (m *Participant) Rand() *rand.Rand { return m.rand }

// Pause lets the person rest, as long as at pace 1.
func (m *Participant) Pause(ctx context.Context, d time.Duration) error { return m.a.u.Pause(ctx, d) }

// Call makes a request with the person's session, and records it under the name of one of the
// extension's operations. The path begins at the server's address: "/plugins/ID/…", or
// "/api/v4/…". A body that is not nil is sent as JSON. A status of 200 to 299 is a success, and the
// answer is read into out, unless that is nil; an answer that does not fit is a failure. The error
// is an [*api.OpError], which is recorded already.
func (m *Participant) Call(ctx context.Context, op, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("mattermost: the body of %s: %w", op, err)
		}
	}
	var read func([]byte) error
	if out != nil {
		read = func(b []byte) error { return json.Unmarshal(b, out) }
	}
	return m.a.c.Call(ctx, op, method, path, body, read)
}

// Posted writes to the ledger that the last call made a post of the person in a channel: its events
// are then followed to all members, and it is looked for at the end.
func (m *Participant) Posted(channelID, postID string) {
	sent, acked := m.a.c.LastCall()
	msg := workload.Message{ID: postID, Channel: channelID, Author: m.a.u.ID, Sent: sent,
		Acked: acked}
	if ch := m.a.b.dir.known(api.ParseID(channelID)); ch != nil {
		msg.Reader = m.a.reader(ch)
	}
	m.a.ledger.Acked(msg)
}

// Expect looks, from now on, for the event of a post by a user ("" for anybody) with the mark in it,
// a text of letters, digits and colons such as a number of the caller's own. The function that it
// returns, called once, waits for the event and records the operation op from the sending of the
// last call until it arrived: of a bot that answers, for example. A person looks for one at a time.
func (m *Participant) Expect(mark, userID string) (wait func(ctx context.Context, op string) error) {
	w := m.a.expect(mark, api.ParseID(userID))
	return func(ctx context.Context, op string) error {
		defer m.a.forget()
		sent, _ := m.a.c.LastCall()
		_, err := (&act{ctx, m.a}).await(op, sent, w)
		return err
	}
}

// Command rooms is plimsoll with the users of a second chat protocol, that of ./server: a WebSocket
// and nothing else. The behavior does three actions by weight, reads its size of a room from the
// plan, counts its deliveries, and proves at the end that the server has kept each message.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"plimsoll"
	"plimsoll/dialect"
	"plimsoll/load/workload"
)

func main() { os.Exit(plimsoll.Main(plimsoll.Service{Dialect: rooms})) }

// rooms describes the server to the program.
var rooms = &dialect.Dialect{
	Name:      "rooms",
	Title:     "a chat of rooms",
	Behaviors: dialect.Registry{"rooms": func() workload.Behavior { return &behavior{} }},
	Ops:       new(behavior).Operations,
	Settings: dialect.Settings{
		Params: map[string]string{"members": "how many users a room has (default 10)"},
		Check:  func(params map[string]string) error { _, err := members(params); return err },
	},
}

// members reads the setting.
func members(params map[string]string) (int, error) {
	text, set := params["members"]
	if !set {
		return 10, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, &dialect.SettingError{Key: "members", Problem: fmt.Sprintf("%q: want a number above 0", text)}
	}
	return n, nil
}

// behavior is what all users share: nothing, which is why they can live on several hosts.
type behavior struct{ workload.Cast }

// actions are what a user does, with their weights.
var actions = []workload.TallyAction{
	{Name: "say", Weight: 8}, {Name: "look back", Weight: 1}, {Name: "step out", Weight: 1},
}

// Operations implements workload.Sparse: a rule on another operation is a mistake.
func (*behavior) Operations() []string { return []string{"say", "history", "leave", "join"} }

// NewActor implements workload.Behavior.
func (b *behavior) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	size, err := members(env.Params)
	if err != nil {
		return nil, err
	}
	return b.member(env, u, fmt.Sprintf("room-%d", u.Rank/size)), nil
}

// member returns a user who is in a room while its WebSocket is open.
func (b *behavior) member(env workload.Env, u *workload.User, room string) *member {
	m := &member{
		EventSocket: b.EventSocket(env, u),
		room:        room,
		counts:      env.Tally.Behavior("rooms", actions),
	}
	m.Path, m.Heard = fmt.Sprintf("/rooms?name=user-%d", u.ID), m.heard
	m.Greet = func() error { return m.Send(request("join", room)) }
	return m
}

// member is one user.
type member struct {
	*workload.EventSocket
	room   string
	counts *workload.Counts
}

// request returns a request of the protocol with further members, name by name and value by value.
func request(do, room string, more ...string) []byte {
	q := map[string]string{"do": do, "room": room}
	for pair := range slices.Chunk(more, 2) {
		q[pair[0]] = pair[1]
	}
	text, _ := json.Marshal(q) // strings
	return text
}

// Login implements workload.Actor.
func (m *member) Login(ctx context.Context) error { return m.Open(ctx, workload.Login) }

// Think implements workload.Actor: five seconds in the mean.
func (m *member) Think() time.Duration {
	return time.Duration(m.User.Think.ExpFloat64() * float64(5*time.Second))
}

// Act implements workload.Actor: one action. Which one, the user's own stream decides.
func (m *member) Act(ctx context.Context) error {
	action, at := 0, m.User.Action.Float64()*10
	for ; action < len(actions)-1 && at >= actions[action].Weight; action++ {
		at -= actions[action].Weight
	}
	m.counts.Attempt(action)
	err := m.do(ctx, actions[action].Name)
	switch {
	case err == nil:
		m.counts.SucceedBy(action, m.User.ID)
	case ctx.Err() == nil:
		m.counts.Fail(action)
	}
	return nil // the operations are recorded
}

func (m *member) do(ctx context.Context, action string) error {
	switch action {
	case "look back":
		_, err := m.Ask(ctx, "history", request("history", m.room), "history")
		return err
	case "step out":
		m.Leave(m.room)
		if _, err := m.Ask(ctx, "leave", request("leave", m.room), "left"); err != nil {
			return err
		}
		_, err := m.Ask(ctx, "join", request("join", m.room), "joined")
		return err
	}
	ref := fmt.Sprintf("%d-%d", m.User.ID, m.User.Ops())
	text := strconv.FormatUint(m.User.Content.Uint64(), 36)
	return m.Post(ctx, "say", workload.Message{Channel: m.room, Pending: ref},
		request("say", m.room, "text", text, "ref", ref))
}

// heard is called with each message of the server.
func (m *member) heard(data []byte, at time.Time) {
	var e struct {
		On, Room, ID, Ref string
		IDs               json.RawMessage
	}
	if err := json.Unmarshal(data, &e); err != nil {
		panic(err) // ends the connection; the run is not valid
	}
	switch e.On {
	case "said":
		m.Seen(e.Room, e.ID, e.Ref, at)
		m.Answer(e.Ref, e.ID, at)
		return
	case "joined":
		m.Join(e.Room, at)
	}
	m.Answer(e.On, string(e.IDs), at)
}

// Audit implements workload.Auditor: it reads the history of each room, a thousand ids at a time.
func (b *behavior) Audit(
	ctx context.Context, env workload.Env, acked []workload.AckedMessages,
) (r workload.AuditResult, err error) {
	r.Part = 1
	env.Ledger, env.Tally = nil, nil // the reader is no user
	for _, room := range acked {
		r.Expected += len(room.IDs)
		m := b.member(env, workload.Aside(env), room.Channel)
		there, err := m.all(ctx)
		m.Close()
		if err != nil {
			return r, fmt.Errorf("reading the history of %s: %w", room.Channel, err)
		}
		for _, id := range room.IDs {
			if there[id] {
				r.Readable++
			} else {
				r.Miss(id)
			}
		}
	}
	return r, nil
}

// all returns the ids of all messages of the room.
func (m *member) all(ctx context.Context) (map[string]bool, error) {
	if err := m.Open(ctx, workload.Setup); err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for ids := []string{""}; len(ids) > 0; {
		after := ids[len(ids)-1]
		answer, err := m.Ask(ctx, workload.Setup+"_history",
			request("history", m.room, "after", after), "history")
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(answer), &ids); err != nil {
			return nil, err
		}
		for _, id := range ids {
			there[id] = true
		}
	}
	return there, nil
}

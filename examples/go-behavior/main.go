// Command go-behavior is plimsoll with users of one's own: members of the chat ../rooms/server, ten
// in a room, each of whom says something now and then and reads what the others say.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"plimsoll"
	"plimsoll/dialect"
	"plimsoll/load/workload"
)

func main() {
	os.Exit(plimsoll.Main(plimsoll.Service{Dialect: &dialect.Dialect{
		Name: "talk", Title: "a chat of rooms",
		Behaviors: dialect.Registry{"talk": func() workload.Behavior { return new(talk) }},
		Ops:       func() []string { return []string{"say"} },
	}}))
}

// talk is the behavior. A Cast has the first of its two methods: nothing is prepared for the users.
type talk struct{ workload.Cast }

// NewActor returns one user.
func (b *talk) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	a := &talker{b.EventSocket(env, u), fmt.Sprintf("room-%d", u.Rank/10)}
	a.Path, a.Heard = fmt.Sprintf("/rooms?name=u%d", u.ID), a.heard
	a.Greet = func() error { return a.Send(fmt.Appendf(nil, `{"do":"join","room":%q}`, a.room)) }
	return a, nil
}

type talker struct {
	*workload.EventSocket
	room string
}

func (a *talker) Login(ctx context.Context) error { return a.Open(ctx, workload.Login) }
func (a *talker) Think() time.Duration            { return time.Duration(a.User.Think.ExpFloat64() * 5e9) }

// Act says something: one operation, from sending the message to the event with its id.
func (a *talker) Act(ctx context.Context) error {
	ref := fmt.Sprintf("%d-%d", a.User.ID, a.User.Ops())
	a.Post(ctx, "say", workload.Message{Channel: a.room, Pending: ref},
		fmt.Appendf(nil, `{"do":"say","room":%q,"text":"hello","ref":%q}`, a.room, ref))
	return nil // a failure is recorded, and the user goes on
}

func (a *talker) heard(data []byte, at time.Time) {
	var e struct{ On, Room, ID, Ref string }
	if json.Unmarshal(data, &e); e.On == "joined" {
		a.Join(e.Room, at)
	} else if e.On == "said" {
		a.Seen(e.Room, e.ID, e.Ref, at) // the delivery
		a.Answer(e.Ref, e.ID, at)
	}
}

package mattermost

import (
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/failure"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// twoProcesses returns a person of each of two processes. They look at the same channel, and share
// nothing except the server and the ledger.
func twoProcesses(t *testing.T) (env workload.Env, here, there *person) {
	t.Helper()
	url, password := server(t)
	env = contractEnv(url, password)
	env.Params["periodic"] = "off"
	first := &Person{}
	second := &Person{}
	noError(t, first.Provision(t.Context(), env, 2))
	state, err := first.State(nil)
	noError(t, err)
	other := env
	other.Registry = measure.NewRegistry(1)
	noError(t, second.Restore(other, state))
	login := func(b *Person, env workload.Env, rank int) *person {
		t.Helper()
		a := arrived(t, b, env, rank)
		ch := b.dir.known(api.ParseID(b.Channels[0]))
		if ch == nil {
			t.Fatalf("person %d does not know its channel", rank)
		}
		noError(t, (&act{t.Context(), a}).enter(a.place(ch)))
		return a
	}
	return env, login(first, env, 0), login(second, other, 1)
}

// Persons of another process do not choose posts that a person of this process deleted.
func TestDeletionsReachOtherProcesses(t *testing.T) {
	_, here, there := twoProcesses(t)
	noError(t, (&act{t.Context(), here}).post(here.channel(), api.Draft{Message: "a slip"}))
	id := newestOwn(t, here)
	knows := func() bool {
		_, ok := there.channel().pick(func(int) int { return 0 },
			func(p *post) bool { return p.id == id })
		return ok
	}
	failure.Unless(t, knows, "the other process does not know the post")
	noError(t, deletePost(&act{t.Context(), here}))
	failure.Unless(t, func() bool { return !knows() },
		"the other process still chooses the post that was deleted")
}

// newestOwn returns the newest post that a person wrote in its current channel.
func newestOwn(t *testing.T, a *person) api.ID {
	t.Helper()
	p, ok := a.channel().pick(func(int) int { return 0 }, a.isOwn)
	if !ok {
		t.Fatal("no post of the person's own")
	}
	return p.id
}

// A reply that the server deletes with its root, because the deleting person does not know of the
// reply, does not count as lost.
func TestAuditExpectsNoRepliesToWhatWasDeleted(t *testing.T) {
	env, here, there := twoProcesses(t)
	write := func(a *person, d api.Draft) api.ID {
		t.Helper()
		noError(t, (&act{t.Context(), a}).post(a.channel(), d))
		return newestOwn(t, a)
	}
	root := write(here, api.Draft{Message: "a question"})
	here.leave() // the event of the reply comes too late
	reply := write(there, api.Draft{Message: "an answer", RootID: root.String()})
	write(there, api.Draft{Message: "what stays"})
	noError(t, deletePost(&act{t.Context(), here}))
	if _, err := there.c.PostText(t.Context(), reply.String()); !missing(err) {
		t.Errorf("the reply to a post that was deleted: %v, want that it is not there", err)
	}
	acked, _ := env.Ledger.Messages()
	got, err := here.b.Audit(t.Context(), env, acked)
	if err != nil || got.Expected != 1 || got.Readable != 1 || got.Missing != 0 {
		t.Errorf("%+v, %v; want the one that stays and none missing", got, err)
	}
}

package mattermost

import (
	"bytes"
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// A person that was restored has the same state, the same mix, and actors for the same ranks.
func TestStateOfAnotherProcess(t *testing.T) {
	a := &Person{found: found{
		Password: "p", Team: api.ParseID("t1").String(), Channels: []string{"c1", "c2"},
		accounts:   accounts{IDs: []string{"u1", "", "u3"}, Tokens: []string{"k1", "", "k3"}},
		AdminToken: "adm", Attribute: "att", MostNotified: 77,
		facts: facts{Version: version{10, 5, 1},
			Config: map[string]string{"CollapsedThreads": "default_on"}, License: professional},
	}}
	state, err := a.State(nil)
	noError(t, err)
	env := workload.Env{URL: "http://127.0.0.1:1",
		Params: map[string]string{"channels": "2", "users": "walker"}, Mix: "loadtest-ng",
		Registry: measure.NewRegistry(1),
		Secret: func(string) string {
			t.Error("asked for a secret")
			return ""
		}}
	b := new(Person)
	noError(t, b.Restore(env, state))
	again, err := b.State(nil)
	if err != nil || !bytes.Equal(again, state) {
		t.Errorf("%v\n%s\nwant\n%s", err, again, state)
	}
	if b.set.users != "walker" || !b.collapsed() || b.mix == nil || !b.mix.has("create_post") {
		t.Errorf("settings %+v, facts %+v", b.set, b.facts)
	}
	if _, ok := b.dir.byName[personName("walker", 2)]; !ok {
		t.Error("the directory does not know the persons")
	}
	if _, err := b.NewActor(env, userOf(env, 2)); err != nil {
		t.Error(err)
	}
	if _, err := b.NewActor(env, userOf(env, 3)); err == nil {
		t.Error("an actor for a rank that nobody provisioned")
	}
	if _, err := new(Person).State(nil); err == nil {
		t.Error("a state before Provision")
	}
	if err := new(Person).Restore(env, []byte("{")); err == nil {
		t.Error("half a state was taken")
	}
}

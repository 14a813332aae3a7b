package mattermost

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// whole are 400 persons of whom each has a token, made here or of a file.
func whole(ofFile bool) *Person {
	b := &Person{found: found{Password: "shared", Team: "t", Channels: []string{"c1", "c2"},
		AdminToken: "adm", facts: facts{Version: version{10, 5, 1}}}}
	for rank := range 400 {
		b.IDs = append(b.IDs, fmt.Sprintf("id%024d", rank))
		b.Tokens = append(b.Tokens, fmt.Sprintf("token-%03d-", rank))
		if ofFile {
			b.Names = append(b.Names, fmt.Sprint("somebody", rank))
			b.Rows = append(b.Rows, workload.Account{Login: fmt.Sprint("somebody", rank),
				Password: fmt.Sprintf("word-%03d-", rank)})
		}
	}
	return b
}

// An agent gets the tokens and passwords of its own users, has actors for them alone, and knows how
// many there are of all.
func TestStateOfAPart(t *testing.T) {
	const users, agents = 500, 4
	env := workload.Env{URL: "http://127.0.0.1:1", Mix: "loadtest-ng",
		Registry: measure.NewRegistry(1), Params: map[string]string{}}
	parts := workload.Parts(users, workload.Evenly(agents), 0.8, 0.2)
	for _, ofFile := range []bool{false, true} {
		b := whole(ofFile)
		p := &Poster{posting: posting{Channels: b.Channels, accounts: whole(true).accounts}}
		all, err := b.State(nil)
		noError(t, err)
		none, err := b.State([]int{})
		noError(t, err)
		for k := range agents {
			own := parts[k][0]
			state, err := b.State(own)
			noError(t, err)
			// ranks are in it too
			if each := (len(all) - len(none)) / agents; len(state)-len(none) > each+each/4 {
				t.Errorf(
					"agent %d of %d: %d bytes of %d, of which %d are no user's own",
					k,
					agents,
					len(state),
					len(all),
					len(none),
				)
			}
			posters, err := p.State(own)
			noError(t, err)
			other := &Person{}
			post := &Poster{}
			noError(t, other.Restore(env, state))
			noError(t, post.Restore(env, posters))
			again, err := other.State(nil)
			if err != nil || string(again) != string(state) {
				t.Errorf("the state of a part is not the same again: %v", err)
			}
			last := personName(other.set.users, 399)
			if ofFile {
				last = "somebody399"
			}
			if other.count() != 400 || other.name(399) != last {
				t.Errorf(
					"%d persons, the last is %s, want %s",
					other.count(),
					other.name(399),
					last,
				)
			}
			for rank := range b.IDs {
				mine := slices.Contains(own, rank)
				for _, secret := range []string{fmt.Sprintf("token-%03d-", rank),
					fmt.Sprintf("word-%03d-", rank)} {
					stored := mine && (ofFile || secret[0] == 't')
					if strings.Contains(string(state), secret) != stored ||
						strings.Contains(string(posters), secret) != mine {
						t.Fatalf("agent %d, rank %d, its own %v: %s", k, rank, mine, secret)
					}
				}
				u := userOf(env, rank)
				a, err := other.NewActor(env, u)
				if (err == nil) != mine ||
					mine &&
						(a.(*person).id != b.IDs[rank] || other.session(rank, false) != b.Tokens[rank]) {
					t.Fatalf("agent %d, rank %d, its own %v: %v", k, rank, mine, err)
				}
				a, err = post.NewActor(env, u)
				if (err == nil) != mine || mine && a.(*poster).id != b.IDs[rank] {
					t.Fatalf("agent %d, poster %d, its own %v: %v", k, rank, mine, err)
				}
			}
		}
		for _, bad := range []string{`{"ids":["a"],"tokens":["b","c"]}`,
			`{"ids":["a"],"ranks":[1,2],"total":9}`, `{"rows":[{"line":1}],"ids":[]}`} {
			if err := new(Person).Restore(env, []byte(bad)); err == nil {
				t.Errorf("%s was taken", bad)
			}
		}
		if err := new(Poster).Restore(env, []byte(`{"ranks":[1],"rows":[]}`)); err == nil {
			t.Error("a roster without the accounts of its ranks was taken")
		}
	}
}

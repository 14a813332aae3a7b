package mattermost

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/failure"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// Each kind of storm does its work on a server, under series of its own; everyone is connected
// afterwards, and no user's chance was touched.
func TestStorms(t *testing.T) {
	url, password := server(t)
	env := contractEnv(url, password)
	env.Ledger = workload.NewLedger(time.Second, 1)
	env.Params["periodic"] = "off"
	b := &Person{}
	const n = 4
	noError(t, b.Provision(t.Context(), env, n))
	var all []*person
	for rank := range n {
		a := newActor(t, b, env, userOf(env, rank)).(*person)
		defer a.Close()
		noError(t, a.Login(t.Context()))
		all = append(all, a)
	}
	env.Registry.Cut()
	if got := b.StormKinds(); !slices.Equal(
		got,
		[]string{"join", "login", "mention", "reconnect"},
	) {
		t.Errorf("kinds %v", got)
	}
	other := userOf(workload.Env{Pace: env.Pace}, 0)
	other.Pick.Uint64() // two draws for the login, at birth
	other.Pick.Uint64()
	for i, tt := range []struct {
		kind   string
		each   bool
		series map[string]uint64
	}{
		{"reconnect", true, map[string]uint64{
			"websocket":     n,
			"teams_unread":  n,
			"team_channels": n,
		}},
		{"login", true, map[string]uint64{"login": n, "websocket": n, "me": n, "view_channel": n}},
		{"mention", false, map[string]uint64{"post": 3}},
		{"join", true, map[string]uint64{
			"create_channel":   1,
			"join_channel":     n,
			"get_posts_unread": n,
		}},
		// another storm, another channel
		{"join", true, map[string]uint64{"create_channel": 1, "join_channel": n}},
	} {
		s := workload.Storm{Kind: tt.kind, Index: i, Params: map[string]string{"posts": "3"}}
		for rank, a := range all {
			if rank > 0 && !tt.each {
				break
			}
			noError(t, a.Storm(t.Context(), s))
		}
		got := counts(t, env.Registry)
		for op, want := range tt.series {
			if got[s.Series(op)] != want {
				t.Errorf("%s: %d %s, want %d", tt.kind, got[s.Series(op)], op, want)
			}
		}
		for name, k := range got {
			if k > 0 && workload.Steady(name) && name != "websocket" {
				t.Errorf("%s: %d %s in the steady state", tt.kind, k, name)
			}
		}
	}
	for rank, a := range all {
		if a.socket() == nil {
			t.Errorf("person %d is not connected", rank)
		}
		if id := fmt.Sprint(b.set.team, "-rally-3"); !slices.ContainsFunc(
			a.places,
			func(p place) bool {
				return p.ch.name == id
			},
		) {
			t.Errorf("person %d is not in %s", rank, id)
		}
	}
	if u := all[0].u; u.Action.Uint64() != other.Action.Uint64() ||
		u.Pick.Uint64() != other.Pick.Uint64() || u.Think.Uint64() != other.Think.Uint64() {
		t.Error("a storm drew from the user's own chance")
	}
	if err := all[0].Storm(t.Context(), workload.Storm{Kind: "snow"}); err == nil {
		t.Error("an unknown storm passed")
	}
	failure.Unless(t, func() bool {
		env.Ledger.Settle(time.Now())
		n := env.Ledger.Count()
		return n.Judged >= n.Acked
	}, "messages are not judged")
	if c := env.Ledger.Count(); c.Acked != 3 || c.Seen < 3*(n-1) || c.Lost != 0 {
		t.Errorf("ledger %+v", c)
	}
	// Who is refused is not back, and nor is who had nothing to reconnect; both go on.
	b.Password = "another"
	for i, kind := range []string{"login", "reconnect"} {
		if err := all[1].Storm(t.Context(), workload.Storm{
			Kind:  kind,
			Index: 10 + i,
		}); !errors.Is(err, workload.ErrNotBack) {
			t.Errorf(
				"%s of a person whose login is refused: %v, want that it is not back",
				kind,
				err,
			)
		}
	}
}

func TestDevicesAreDealt(t *testing.T) {
	for mean, want := range map[float64]int{1: 100, 1.5: 150, 1.25: 125, 3: 300} {
		sum := 0
		for rank := range 100 {
			sum += devices(rank, mean)
		}
		if sum != want {
			t.Errorf("mean %v: %d devices of 100 persons", mean, sum)
		}
	}
}

// A channel that cannot be made is not tried by each user of a storm: each try may take the whole
// time-out, and the others wait for it. One failure of a server is no reason to give up.
func TestRallyGivesUp(t *testing.T) {
	for name, tt := range map[string]struct {
		failures, tries, made int
	}{
		"never":  {1000, rallyTries, 0},
		"second": {1, 2, 19},
		"third":  {2, 3, 18},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			tries := map[string]int{}
			addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					io.WriteString(w, "[]")
					return
				}
				var ask struct{ Name string }
				json.NewDecoder(r.Body).Decode(&ask)
				mu.Lock()
				defer mu.Unlock()
				if tries[ask.Name]++; tries[ask.Name] <= tt.failures {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				w.WriteHeader(http.StatusCreated)
				fmt.Fprintf(w, `{"id":"%s","name":%q,"type":"O","team_id":"t"}`, anID, ask.Name)
			})
			c := newTestClient(t, addr)
			b := &Person{reg: measure.NewRegistry(1)}
			run := func(channel string) {
				made := 0
				for rank := range 20 {
					a := &person{b: b, c: c, u: userOf(workload.Env{}, rank)}
					ch, err := (&act{t.Context(), a}).rally("t", channel)
					if _, is := errors.AsType[*api.OpError](err); err != nil && !is {
						t.Errorf("%s: %v, want the failure of an operation", channel, err)
					}
					if err == nil && ch.Name == channel {
						made++
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if made != tt.made || tries[channel] != tt.tries {
					t.Errorf("%s: %d of 20 have it after %d tries; want %d after %d", channel, made,
						tries[channel], tt.made, tt.tries)
				}
			}
			run("one")
			run("another") // a storm of its own
			b.reg = measure.NewRegistry(1)
			mu.Lock()
			clear(tries)
			mu.Unlock()
			run("one") // of the next run
		})
	}
}

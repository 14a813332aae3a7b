package users

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
)

// tokened is a behavior whose users have a token each.
type tokened string

func (tokened) Provision(context.Context, workload.Env, int) error { return nil }
func (tokened) NewActor(workload.Env, *workload.User) (workload.Actor, error) {
	return nil, context.Canceled
}
func (tokened) Restore(workload.Env, []byte) error { return nil }
func (b tokened) State(ranks []int) ([]byte, error) {
	tokens := []string{}
	for _, rank := range ranks {
		tokens = append(tokens, b.token(rank))
	}
	return json.Marshal(tokens)
}
func (b tokened) token(rank int) string { return fmt.Sprintf("%s-%04d-", string(b), rank) }

// settingsOf returns the settings of agents with two such behaviors.
func settingsOf(t *testing.T, c Config) (mix []engine.Part, settings func(agent int) []byte) {
	t.Helper()
	mix = []engine.Part{{Name: "a", Behavior: tokened("a"), Share: 0.7},
		{Name: "b", Behavior: tokened("b"), Share: 0.3}}
	c.Mix = mix
	of, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	return mix, func(agent int) []byte {
		t.Helper()
		b, err := of(agent)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// The settings of an agent hold the tokens of the users that its engine will make, and no others.
func TestSettingsOfAnAgentHoldItsOwnTokens(t *testing.T) {
	const users, agents = 1000, 7
	mix, settings := settingsOf(t, Config{Layout: Layout{Users: users, Processes: agents}})
	texts := make([]string, agents)
	for k := range texts {
		texts[k] = string(settings(k))
	}
	deal := workload.NewStrata(0.7, 0.3)
	for id := range users {
		class, rank := deal.Next()
		token := mix[class].Behavior.(tokened).token(rank)
		for k, text := range texts {
			if strings.Contains(text, token) != (id%agents == k) {
				t.Fatalf("agent %d of %d, user %d: %s", k, agents, id, token)
			}
		}
	}
	_, one := settingsOf(t, Config{Layout: Layout{Users: users, Processes: 1}})
	whole := one(0)
	for k, text := range texts {
		if most := len(whole)/agents + 400; len(text) > most {
			t.Errorf("agent %d has %d bytes of %d, want at most %d", k, len(text), len(whole), most)
		}
	}
}

// Settings by rating hold the tokens of the users that the agent's engine will make, and its part
// of places and bytes.
func TestSettingsByRating(t *testing.T) {
	const users, agents = 100, 4
	ratings := []int{3000, 1000}
	mix, settings := settingsOf(t, Config{
		Layout: Layout{Users: users, Processes: agents, Ratings: ratings}, Budget: 8 << 20,
		Arrivals: &engine.Arrivals{Rate: 1, InFlight: 100, Queue: 9},
	})
	deal, err := workload.NewDeal(agents, ratings)
	if err != nil {
		t.Fatal(err)
	}
	for k := range agents {
		b := settings(k)
		var set agentSettings
		if err := json.Unmarshal(b, &set); err != nil {
			t.Fatal(err)
		}
		budget := int64(3 << 20)
		places := 38
		queue := 4
		if k%2 == 1 {
			budget = 1 << 20
			places = 13
			queue = 2
		}
		if set.Budget != budget || set.Arrivals.InFlight != places || set.Arrivals.Queue != queue ||
			len(set.Ratings) != 2 {
			t.Errorf("agent %d: %d bytes, arrivals %+v, ratings %v", k, set.Budget, *set.Arrivals,
				set.Ratings)
		}
		strata := workload.NewStrata(0.7, 0.3)
		for id := range users {
			class, rank := strata.Next()
			owner, _ := deal.Of(id)
			token := mix[class].Behavior.(tokened).token(rank)
			if strings.Contains(string(b), token) != (owner == k) {
				t.Fatalf("agent %d, user %d of agent %d: %s", k, id, owner, token)
			}
		}
	}
}

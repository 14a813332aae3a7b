package engine

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// deed is an action of one user, its time, and its random draws.
type deed struct {
	user, rank int
	at         time.Duration
	draw       uint64
	storm      bool
	server     string
}

// diary returns a behavior that notes what its users do, for as long as they do it.
func diary(deeds *[]deed) *stub {
	s := &stub{service: time.Millisecond, storm: quiet}
	s.pause = func(a *stubActor) time.Duration {
		return time.Duration((1 + a.u.Think.Float64()) * float64(time.Second))
	}
	s.at = func(a *stubActor, where string) {
		if where == "act" || where == "storm" {
			s.mu.Lock()
			defer s.mu.Unlock()
			*deeds = append(*deeds, deed{a.u.ID, a.u.Rank, a.u.Now(), a.u.Content.Uint64(),
				where == "storm", a.server})
		}
	}
	return s
}

// beside is a mix of three in ten users of whom nothing is noted, and others.
func beside(s *stub) []Part {
	return []Part{{Behavior: diary(new([]deed)), Share: 0.3}, {Behavior: s, Share: 0.7}}
}

// Several agents together, on hosts with equal ratings or not, drive the same users as one engine
// alone: the same ranks in the same behaviors, the same chance, on the same servers, at the same
// moments, while users come and go, and in a storm.
func TestAgentsShareTheUsers(t *testing.T) {
	run := func(agent, agents int, ratings []int) (deeds []deed, affected int) {
		deal, err := workload.NewDeal(agents, ratings)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, nil, Config{Env: workload.Env{Seed: 3, URL: "a",
				URLs: []string{"a", "b"}}, Agent: agent, Agents: agents, Ratings: ratings,
				Mix: beside(diary(&deeds))})
			for _, n := range []int{31, 12, 47} {
				set(t, l, n, 3*time.Second)
				time.Sleep(10 * time.Second)
			}
			affected = l.Storm(workload.Storm{
				Kind:  "flood",
				Share: 0.5,
				Over:  time.Second,
			}).Affected
			time.Sleep(10 * time.Second)
			own := 0
			for user := range 47 {
				if whose, _ := deal.Of(user); whose == agent {
					own++
				}
			}
			if wanted, active, _ := l.Users(); wanted != 47 || active != own {
				t.Errorf(
					"agent %d of %d: %d wanted, %d active, want %d",
					agent,
					agents,
					wanted,
					active,
					own,
				)
			}
			l.Stop(time.Second)
		})
		return deeds, affected
	}
	byUser := func(deeds []deed) map[int][]deed {
		m := map[int][]deed{}
		for _, d := range deeds {
			m[d.user] = append(m[d.user], d)
		}
		return m
	}
	deeds, affected := run(0, 1, nil)
	whole := byUser(deeds)
	servers := map[string]int{}
	for _, list := range whole {
		servers[list[0].server]++
	}
	if d := servers["a"] - servers["b"]; servers["b"] == 0 || d < -1 || d > 1 {
		t.Errorf("users by server: %v", servers)
	}
	if affected < 14 || len(whole) < 30 {
		t.Errorf("the storm took %d users, and %d did something", affected, len(whole))
	}
	for _, tt := range []struct {
		agents  int
		ratings []int
	}{{3, nil}, {4, []int{3000, 1000}}} {
		deal, err := workload.NewDeal(tt.agents, tt.ratings)
		if err != nil {
			t.Fatal(err)
		}
		parts := map[int][]deed{}
		sum := 0
		for k := range tt.agents {
			deeds, n := run(k, tt.agents, tt.ratings)
			sum += n
			for user, list := range byUser(deeds) {
				if agent, _ := deal.Of(user); agent != k {
					t.Fatalf("%v: agent %d had user %d", tt, k, user)
				}
				parts[user] = list
			}
		}
		if sum != affected {
			t.Errorf("%v: the storm took %d users in parts, %d as a whole", tt, sum, affected)
		}
		if !maps.EqualFunc(whole, parts, slices.Equal) {
			for user := range whole {
				if !slices.Equal(whole[user], parts[user]) {
					t.Errorf(
						"%v: user %d: alone %v, in parts %v",
						tt,
						user,
						whole[user],
						parts[user],
					)
				}
			}
		}
	}
}

func TestImpossibleAgents(t *testing.T) {
	for _, bad := range []struct {
		agent, agents int
		ratings       []int
	}{{-1, 2, nil}, {2, 2, nil}, {1, 0, nil}, {0, 3, []int{1, 2}}, {0, 3, []int{0, 2, 1}}} {
		if _, err := New(t.Context(), Config{Env: workload.Env{Registry: measure.NewRegistry(1),
			Pace: 1}, Mix: []Part{{Behavior: &stub{}, Share: 1}},
			Agent: bad.agent, Agents: bad.agents, Ratings: bad.ratings}); err == nil {
			t.Errorf("%+v was made", bad)
		}
	}
}

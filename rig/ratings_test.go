package rig

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/load/engine"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// ratedMembers are two agents, on hosts a and b, whose ratings are three to one.
func ratedMembers() []join.Member {
	member := func(name string, users int) join.Member {
		return join.Member{Name: name, Introduction: join.Introduction{Host: "host of " + name, Files: 20_000,
			Rating: &join.Rating{Users: users, OpsPerSecond: float64(users), OpsPerUserSecond: 1}}}
	}
	return []join.Member{member("a", 3000), member("b", 1000)}
}

// ratedSession has its users on other hosts.
func ratedSession(share string) *Session {
	return &Session{Program: &Program{Rated: "person"}, fleet: new(joined),
		Plan: &plan.Plan{Placement: plan.Placement{Processes: 1, Share: share}, Workload: plan.Workload{Behavior: "person", Pace: 1}}}
}

// Hosts without a rating are named, with the remedy; a plan that divides equally asks for none.
func TestRatingsOfAgents(t *testing.T) {
	members := ratedMembers()
	if got, err := ratedSession(plan.ShareRating).ratings(members); err != nil || len(got) != 2 || got[0] != 3000 || got[1] != 1000 {
		t.Errorf("%v, %v", got, err)
	}
	members[0].Rating = nil
	members[1].Rating = &join.Rating{Users: -3}
	if got, err := ratedSession(plan.ShareEqual).ratings(members); err != nil || got != nil {
		t.Errorf("divided equally: %v, %v", got, err)
	}
	_, err := ratedSession(plan.ShareRating).ratings(members)
	checkUsage(t, err, "2 of 2 agents have none", "plimsoll calibrate -agent", "share: equal",
		"\n  agent a (host of a): it has no rating of its present hardware and settings",
		"\n  agent b (host of b): its rating of -3 users is not possible")
}

// The host with most users says how many processes each has; one whose limit cannot hold its users is named.
func TestSplitByRating(t *testing.T) {
	members := ratedMembers()
	for _, tt := range []struct {
		ratings []int
		want    int
	}{{nil, 2}, {[]int{3000, 1000}, 3}, {[]int{1000, 1000}, 2}} { // 30,000 and 30,000 connections; 45,000 and 15,000
		if n, err := ratedSession("").split(members, tt.ratings, 30_000, 60_000); n != tt.want || err != nil {
			t.Errorf("ratings %v: %d processes on each host, %v; want %d", tt.ratings, n, err, tt.want)
		}
	}
	if n, err := ratedSession("").split(members, nil, 0, 0); n != 1 || err != nil {
		t.Errorf("without users: %d processes, %v", n, err)
	}
	members[1].Files = 1000
	if _, err := ratedSession("").split(members, []int{9, 1}, 30_000, 60_000); err != nil {
		t.Errorf("a tenth of the users: %v", err)
	}
	_, err := ratedSession("").split(members, []int{3, 1}, 30_000, 60_000)
	if err == nil || !strings.Contains(err.Error(), "agent b: 7500 users keep 15000 connections") {
		t.Errorf("a quarter of the users: %v", err)
	}
}

// Settings by rating hold the tokens of the users that the agent's engine will make, and its part of places and bytes.
func TestSettingsByRating(t *testing.T) {
	const users, agents = 100, 4
	ratings := []int{3000, 1000}
	mix, settings := settingsOf(t, driving{layout: layout{users: users, processes: agents, ratings: ratings},
		budget: 8 << 20, arrivals: &engine.Arrivals{Rate: 1, InFlight: 100, Queue: 9}})
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
		budget, places, queue := int64(3<<20), 38, 4
		if k%2 == 1 {
			budget, places, queue = 1<<20, 13, 2
		}
		if set.Budget != budget || set.Arrivals.InFlight != places || set.Arrivals.Queue != queue || len(set.Ratings) != 2 {
			t.Errorf("agent %d: %d bytes, arrivals %+v, ratings %v", k, set.Budget, *set.Arrivals, set.Ratings)
		}
		strata := workload.NewStrata(0.7, 0.3)
		for id := range users {
			class, rank := strata.Next()
			owner, _ := deal.Of(id)
			if token := mix[class].Behavior.(tokened).token(rank); strings.Contains(string(b), token) != (owner == k) {
				t.Fatalf("agent %d, user %d of agent %d: %s", k, id, owner, token)
			}
		}
	}
}

// The list of a fleet has the ratings.
func TestRollHasRatings(t *testing.T) {
	members := ratedMembers()
	members[1].Rating = nil
	var b bytes.Buffer
	if err := (Roll{Members: members}).Text(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{"open files  rated users  clock ahead", "20000       3000         0s", "20000       -            0s"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d lacks %q:\n%s", i, want, b.String())
		}
	}
}

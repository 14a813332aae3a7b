package rig

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/engine"
	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/watch/probe"
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

// The gate headroom reads each host's own rating against its own users, and the worst host counts.
func TestHeadroomOfHosts(t *testing.T) {
	for _, tt := range []struct {
		name     string
		ratings  []int
		behavior string
		users    int
		ops      float64
		want     float64
	}{
		{"users by rating", []int{3000, 1000}, "person", 2000, 0, 0.5},
		{"users equally", nil, "person", 1000, 0, 0.5}, // 500 on the host that can have 1000
		{"operations by rating", []int{3000, 1000}, "person", 0, 2000, 0.5},
		{"operations equally", nil, "person", 0, 1000, 0.5},
		{"users of another behavior", []int{3000, 1000}, "poster", 2000, 400, 0.1},
	} {
		s := ratedSession("")
		s.Plan.Workload.Behavior = tt.behavior
		share, why := s.driven(layout{members: ratedMembers(), ratings: tt.ratings})
		if why != "" {
			t.Errorf("%s: %s", tt.name, why)
			continue
		}
		if got := share(tt.users, tt.ops); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v of the worst host, want %v", tt.name, got, tt.want)
		}
	}
	unrated := ratedMembers()
	unrated[1].Rating = nil
	if share, why := ratedSession("").driven(layout{members: unrated}); share != nil || why != "1 of 2 agents' hosts were not calibrated, b's first" {
		t.Errorf("one without a rating: %q", why)
	}
	here := ratedSession("")
	here.fleet = nil
	if share, why := here.driven(layout{}); share != nil || why != notRated {
		t.Errorf("this host, without a rating: %q", why)
	}
	here.rating = &calibration.Result{PacedOps: 100, OpsPerUserSecond: 1}
	if share, why := here.driven(layout{}); why != "" || share(20, 0) != 0.2 {
		t.Errorf("this host: %q", why)
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

// The rating of a host is the stored one of its hardware and settings; another is none, and nothing is made.
func TestRatingOfThisHost(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root := t.TempDir()
	pr := &Program{Resolver: deploy.Resolver{Secrets: new(plain.Secrets)}}
	progress := NewReporter(io.Discard, pr.Secrets, false)
	none := filepath.Join(root, "none")
	if r := pr.ratingOf(t.Context(), Attendance{Store: none}, progress); r != nil {
		t.Errorf("without a store: %+v", r)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("an agent has made a store")
	}
	result := calibration.Result{Digest: "another", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), OpsPerSecond: 1, PacedOps: 450, OpsPerUserSecond: 0.05, KiBPerUser: 0.001, Users: 100, LimitedBy: "files"}
	if err := calibration.Save(root, result); err != nil {
		t.Fatal(err)
	}
	if r := pr.ratingOf(t.Context(), Attendance{Store: root}, progress); r != nil {
		t.Errorf("of another host: %+v", r)
	}
	result.Digest = ratedAs(probe.Fingerprint())
	if err := calibration.Save(root, result); err != nil {
		t.Fatal(err)
	}
	r := pr.ratingOf(t.Context(), Attendance{Store: root}, progress)
	if r == nil || *r != (join.Rating{Users: 9000, OpsPerSecond: 450, OpsPerUserSecond: 0.05, Date: result.Date}) {
		t.Errorf("of this host: %+v", r)
	}
}

// A rating is kept for all stores of a user; another build has none.
func TestRatingIsKeptForAllStores(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "not made yet"))
	digest := ratedAs(probe.Fingerprint())
	if !strings.HasSuffix(digest, "-"+ownBuild()) || ownBuild() == "unknown" {
		t.Errorf("%s is not of this build, %s", digest, ownBuild())
	}
	want := calibration.Result{Digest: digest, OpsPerSecond: 1, PacedOps: 1}
	if err := keepRating(t.TempDir(), want); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "another store")
	if r, known, err := keptRating(other, digest); !known || err != nil || r.Digest != digest {
		t.Errorf("in another store: %+v, %v, %v", r, known, err)
	}
	if _, known, err := keptRating(other, digest+"0"); known || err != nil {
		t.Errorf("of another build: %v, %v", known, err)
	}
	t.Setenv("XDG_CACHE_HOME", "/proc/nowhere") // which takes nothing
	if err := keepRating(other, want); err != nil {
		t.Errorf("a user without a cache: %v", err)
	}
	if _, known, err := keptRating(other, digest); !known || err != nil {
		t.Errorf("of the store alone: %v, %v", known, err)
	}
	if err := keepRating("/proc/nowhere", want); err == nil {
		t.Error("it is kept nowhere, and that is no error")
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

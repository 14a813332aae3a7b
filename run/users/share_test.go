package users

import (
	"errors"
	"math"
	"strings"
	"testing"

	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
	"plimsoll/plan"
)

// ratedMembers are two agents, on hosts a and b, whose ratings are three to one.
func ratedMembers() []join.Member {
	member := func(name string, users int) join.Member {
		return join.Member{
			Name: name,
			Introduction: join.Introduction{
				Host:  "host of " + name,
				Files: 20_000,
				Rating: &join.Rating{
					Users:            users,
					OpsPerSecond:     float64(users),
					OpsPerUserSecond: 1,
				},
			},
		}
	}
	return []join.Member{member("a", 3000), member("b", 1000)}
}

// sharedBy is a plan that divides its users in this way.
func sharedBy(share string) *plan.Plan {
	return &plan.Plan{Placement: plan.Placement{Share: share}}
}

// checkUsage checks that an error is one of usage, with these texts.
func checkUsage(t *testing.T, err error, texts ...string) {
	t.Helper()
	if _, ok := errors.AsType[plan.UsageError](err); !ok {
		t.Fatalf("%v is no usage error", err)
	}
	for _, want := range texts {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

// Hosts without a rating are named, with the remedy; a plan that divides equally asks for none.
func TestRatingsOfAgents(t *testing.T) {
	members := ratedMembers()
	if got, err := ratings(sharedBy(plan.ShareRating), members); err != nil || len(got) != 2 ||
		got[0] != 3000 || got[1] != 1000 {
		t.Errorf("%v, %v", got, err)
	}
	members[0].Rating = nil
	members[1].Rating = &join.Rating{Users: -3}
	if got, err := ratings(sharedBy(plan.ShareEqual), members); err != nil || got != nil {
		t.Errorf("divided equally: %v, %v", got, err)
	}
	_, err := ratings(sharedBy(plan.ShareRating), members)
	checkUsage(t, err, "2 of 2 agents have none", "plimsoll calibrate -agent", "share: equal",
		"\n  agent a (host of a): it has no rating of its present hardware and settings",
		"\n  agent b (host of b): its rating of -3 users is not possible")
}

// The host with most users says how many processes each has; one whose limit cannot hold its users
// is named.
func TestSplitByRating(t *testing.T) {
	members := ratedMembers()
	for _, tt := range []struct {
		ratings []int
		want    int
		// 30,000 and 30,000 connections; 45,000 and 15,000
	}{{nil, 2}, {[]int{3000, 1000}, 3}, {[]int{1000, 1000}, 2}} {
		if n, err := (Layout{Users: 30_000, Members: members, Ratings: tt.ratings}).split(60_000,
			1); n != tt.want || err != nil {
			t.Errorf(
				"ratings %v: %d processes on each host, %v; want %d",
				tt.ratings,
				n,
				err,
				tt.want,
			)
		}
	}
	if n, err := (Layout{Members: members}).split(0, 1); n != 1 || err != nil {
		t.Errorf("without users: %d processes, %v", n, err)
	}
	members[1].Files = 1000
	if _, err := (Layout{Users: 30_000, Members: members, Ratings: []int{9, 1}}).split(60_000,
		1); err != nil {
		t.Errorf("a tenth of the users: %v", err)
	}
	_, err := Layout{Users: 30_000, Members: members, Ratings: []int{3, 1}}.split(60_000, 1)
	if err == nil || !strings.Contains(err.Error(), "agent b: 7500 users keep 15000 connections") {
		t.Errorf("a quarter of the users: %v", err)
	}
}

// The gate headroom reads each host's own rating against its own users, and the worst host counts.
func TestHeadroomOfHosts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ratings []int
		pace    float64
		users   int
		ops     float64
		want    float64
	}{
		{"users by rating", []int{3000, 1000}, 1, 2000, 0, 0.5},
		{"users equally", nil, 1, 1000, 0, 0.5}, // 500 on the host that can have 1000
		{"operations by rating", []int{3000, 1000}, 1, 0, 2000, 0.5},
		{"operations equally", nil, 1, 0, 1000, 0.5},
		{"users of another behavior", []int{3000, 1000}, math.Inf(1), 2000, 400, 0.1},
	} {
		share, why := Layout{Members: ratedMembers(), Ratings: tt.ratings}.Used(nil, tt.pace)
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
	if share, why := (Layout{Members: unrated}).Used(nil, 1); share != nil ||
		why != "1 of 2 agents' hosts were not calibrated, b's first" {
		t.Errorf("one without a rating: %q", why)
	}
	if share, why := (Layout{}).Used(nil, 1); share != nil || why != NotRated {
		t.Errorf("this host, without a rating: %q", why)
	}
	here := &calibration.Result{PacedOps: 100, OpsPerUserSecond: 1}
	if share, why := (Layout{}).Used(here, 1); why != "" || share(20, 0) != 0.2 {
		t.Errorf("this host: %q", why)
	}
}

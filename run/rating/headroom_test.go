package rating

import (
	"math"
	"testing"

	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
)

// ratedMembers are two agents whose ratings are three to one.
func ratedMembers() []join.Member {
	member := func(name string, users int) join.Member {
		return join.Member{Name: name, Introduction: join.Introduction{
			Rating: &join.Rating{Users: users, OpsPerSecond: float64(users), OpsPerUserSecond: 1},
		}}
	}
	return []join.Member{member("a", 3000), member("b", 1000)}
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
		share, why := Elsewhere(ratedMembers(), tt.ratings, tt.pace)
		if why != "" {
			t.Errorf("%s: %s", tt.name, why)
			continue
		}
		if got := share(tt.users, tt.ops); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v of the worst host, want %v", tt.name, got, tt.want)
		}
	}
	one := ratedMembers()
	one[1].Rating = nil
	if share, why := Elsewhere(one, nil, 1); share != nil || why != "1 of 2 agents' hosts were not calibrated, b's first" {
		t.Errorf("one without a rating: %q", why)
	}
	if share, why := Here(nil, 1); share != nil || why != unrated {
		t.Errorf("this host, without a rating: %q", why)
	}
	if share, why := Here(&calibration.Result{PacedOps: 100, OpsPerUserSecond: 1}, 1); why != "" || share(20, 0) != 0.2 {
		t.Errorf("this host: %q", why)
	}
}

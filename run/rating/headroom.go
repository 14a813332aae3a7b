package rating

import (
	"fmt"

	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
)

// unrated is the reason for a gate headroom without a reading of this host.
const unrated = "this host was not calibrated"

// A Share returns which part of the calibrated ability a load of users and operations a second
// needs.
type Share func(users int, ops float64) float64

// Here returns the share of this host's rating, for users of a pace; without a rating it is nil,
// and why has the reason. The pace of users of another behavior than the rated one is infinite:
// only operations compare.
func Here(r *calibration.Result, pace float64) (share Share, why string) {
	if r == nil {
		return nil, unrated
	}
	return func(users int, ops float64) float64 {
		share, _ := r.Headroom(users, pace, ops)
		return share
	}, ""
}

// Elsewhere returns the share of the other host that has the least left, when the users are divided
// by ratings (nil: equally). Without the rating of each member it is nil, and why has the reason.
func Elsewhere(members []join.Member, ratings []int, pace float64) (share Share, why string) {
	var missing []string
	var hosts []calibration.Result
	for _, m := range members {
		if m.Rating == nil {
			missing = append(missing, m.Name)
			continue
		}
		hosts = append(hosts, calibration.Result{
			PacedOps: m.Rating.OpsPerSecond, OpsPerUserSecond: m.Rating.OpsPerUserSecond,
		})
	}
	if len(missing) > 0 {
		return nil, fmt.Sprintf("%d of %d agents' hosts were not calibrated, %s's first",
			len(missing), len(members), missing[0])
	}
	deal, err := workload.NewDeal(len(hosts), ratings)
	if err != nil {
		return nil, err.Error()
	}
	return func(users int, ops float64) (most float64) {
		for i, n := range deal.Hosts(users) {
			// The operations of all are known, and go by the parts.
			share, _ := hosts[i].Headroom(n, pace, ops*deal.Part(i))
			most = max(most, share)
		}
		return most
	}, ""
}

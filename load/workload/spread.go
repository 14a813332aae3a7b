package workload

import "plimsoll/stats"

// userGroups is the number of groups of users whose successes are counted by themselves. With no
// more users than groups, each user is one.
const userGroups = 8

// addTo adds to the count of one group.
func addTo(by []int64, group int, v int64) []int64 {
	for len(by) <= group {
		by = append(by, 0)
	}
	by[group] += v
	return by
}

// spread is the design effect of a mix over the groups of its users; 1 where actions are not known
// by user.
func spread(actions []ActionCount) float64 {
	table := make([][]float64, userGroups)
	for g := range table {
		table[g] = make([]float64, len(actions))
	}
	for k, a := range actions {
		left := a.OK
		for g, v := range a.By[:min(len(a.By), userGroups)] {
			table[g][k] = float64(v)
			left -= v
		}
		if left != 0 {
			return 1
		}
	}
	return stats.DesignEffect(table)
}

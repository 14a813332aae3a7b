package report

import (
	"fmt"
	"strings"
)

// leastByClock is the smallest share of a cost whose removal is stated.
const leastByClock = 0.01

// clockNotes states the CPU time that pauses of a duet added and that was left out of costs.
func clockNotes(f NamedVerdict, base, fresh string) []string {
	var parts []string
	for _, r := range f.Verdict.Results {
		if max(r.ByClock[0], r.ByClock[1]) >= leastByClock {
			parts = append(parts, fmt.Sprintf("%s %.1f %% of %s and %.1f %% of %s",
				r.Name, 100*r.ByClock[0], base, 100*r.ByClock[1], fresh))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"CPU time that follows the clock, and that pauses added, is left out, in each block by itself: " +
		strings.Join(parts, "; ") + "."}
}

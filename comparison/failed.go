package comparison

import (
	"fmt"
	"strings"

	"plimsoll/record"
	"plimsoll/verdict"
)

// attempts counts the runs of an arm on an engine in the first blocks, each time that these were run, except those that the generator, others on the host
// or nothing that is known made invalid.
func attempts(c *record.Comparison, blocks int, arm, engine string) verdict.Attempts {
	var out verdict.Attempts
	for _, r := range c.Runs {
		if r.Pilot || r.Cut || r.Block > blocks || r.Arm != arm || r.Engine != engine || !r.Valid && r.Cause != record.ByTarget {
			continue
		}
		out.Runs++
		if !r.Valid {
			out.Failed++
			gate, _, _ := strings.Cut(r.Why, ":")
			out.What = append(out.What, fmt.Sprintf("%s in block %d", gate, r.Block))
		}
	}
	return out
}

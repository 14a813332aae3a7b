package comparison

import (
	"fmt"
	"strings"

	"plimsoll/judge/verdict"
	"plimsoll/record"
)

// attempts counts the runs of an arm on an engine in the first blocks, each time that these were
// run, except runs that the generator, others on the host or an unknown cause made invalid. unclear
// are those that are void for no cause that is known, or by the host while a gate of the target was
// red ([record.TargetToo]): a neighbor may have turned that red, and so may the target.
func attempts(
	c *record.Comparison, blocks int, arm, engine string,
) (out verdict.Attempts, unclear int) {
	for _, r := range c.Runs {
		switch {
		case r.Pilot || r.Cut || r.Block > blocks || r.Arm != arm || r.Engine != engine:
		case r.Valid:
			out.Runs++
		case r.Cause == record.ByTarget:
			out.Runs++
			out.Failed++
			gate, _, _ := strings.Cut(r.Why, ":")
			out.What = append(out.What, fmt.Sprintf("%s in block %d", gate, r.Block))
		case r.Cause == "" || r.TargetToo:
			unclear++
		}
	}
	return out, unclear
}

// withholdFailed lets no result be the same or better where one arm has more of such runs than the
// other.
func withholdFailed(results []verdict.Result, base, fresh int, code verdict.Code, what string,
	label [2]string) {
	if base == fresh {
		return
	}
	why := fmt.Sprintf(
		"%d of the runs of %s and %d of %s %s: what the other runs show is not all of it",
		fresh,
		label[1],
		base,
		label[0],
		what,
	)
	for i := range results {
		results[i].Warn(code, why)
		results[i] = results[i].Withhold(why)
	}
}

package draft

import (
	"fmt"
	"time"
)

// compare is the comparison with another one. Two releases are up at once and take turns; servers elsewhere follow one
// another, because they cannot be paused.
func (f Facts) compare() string {
	key, users := "binary", line{fmt.Sprint("  users: ", f.Users), f.limited("how many at a time")}
	ramp, measure := 10*time.Second, line{"  measure: auto", "as long as a block needs"}
	if f.Auto {
		users, ramp = line{"  users: auto", "a pilot finds a load that the question needs"}, 4*time.Second
	}
	if f.URL != "" {
		key = "url"
		each := max(f.Length/(2*blocks)-2*ramp, 10*time.Second).Round(time.Second)
		measure = line{"  measure: " + span(each), "what counts of each run"}
	}
	return block(line{"bounded:", ""}, users, line{"  ramp: " + span(ramp), "from the first user to the last"},
		line{"  settle: " + span(ramp), "with all users, not measured"}, measure) + "\n" +
		block(line{"compare:", ""}, line{"  arms:", ""},
			line{"    base: {" + key + ": " + scalar(f.URL+f.Release) + "}", ""},
			line{"    new: {" + key + ": " + scalar(f.Other) + "}", ""},
			line{fmt.Sprint("  blocks: ", blocks), "a run of each arm in a block; fewer than six have no verdict"})
}

// blocks is the smallest number with a verdict.
const blocks = 6

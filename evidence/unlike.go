package evidence

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/record"
	"plimsoll/watch/probe"
)

// hostWarnings names differences between the machines and programs of the runs.
func hostWarnings(arms gatheredArms) (out []string) {
	hosts, tools := map[string]bool{}, map[string]bool{}
	for _, r := range arms.runs() {
		tools[r.Manifest.Tool] = true
		var h probe.Host
		if json.Unmarshal(r.Manifest.Host, &h) == nil && h.CPUs > 0 {
			hosts[strings.TrimSpace(fmt.Sprintf("%d × %s, kernel %s", h.CPUs, h.CPUModel, h.Kernel))] = true
		}
	}
	if len(hosts) > 1 {
		out = append(out,
			fmt.Sprintf("the runs were made on different hosts (%s): a difference may be theirs",
				strings.Join(slices.Sorted(maps.Keys(hosts)), "; ")))
	}
	if len(tools) > 1 {
		out = append(out, fmt.Sprintf(
			"the runs were made by different versions of plimsoll (%s): a difference may be theirs",
			strings.Join(slices.Sorted(maps.Keys(tools)), ", "),
		))
	}
	return out
}

// timeWarnings names blocks whose runs did not follow each other: what changes with time is then
// not the same for both arms.
func timeWarnings(c *record.Comparison) []string {
	between := 0
	for _, e := range c.Engines {
		began := map[string][]time.Time{} // by arm, in the order of the blocks and of time
		for _, r := range c.Runs {
			if r.Engine == e {
				began[r.Arm] = append(began[r.Arm], r.Began)
			}
		}
		for i, arm := range c.Arms {
			other := c.Arms[1-i]
			if x, y := began[arm], began[other]; c.Blocks > 1 && x[len(x)-1].Before(y[0]) {
				return []string{
					fmt.Sprintf(
						"all runs of %s were made before the first of %s: a change with time cannot be told from one between the arms; make the runs by turns",
						arm,
						other,
					),
				}
			}
		}
		x, y := began[c.Arms[0]], began[c.Arms[1]]
		for i := range x {
			apart := func(t time.Time) bool {
				return t.After(x[i]) && t.Before(y[i]) || t.After(y[i]) &&
					t.Before(x[i])
			}
			if slices.ContainsFunc(slices.Concat(x, y), apart) {
				between++
			}
		}
	}
	if between == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf(
			"between the two runs of %d of %d pairs other runs were made: what changes with time is not the same for both",
			between,
			c.Blocks*max(1, len(c.Engines)),
		),
	}
}

// accountWarnings says if the users of the arms had different accounts: accounts that were there
// have a past, such as channels, messages and unread ones, which a server has to work through.
func accountWarnings(a, b record.Manifest) []string {
	x, y := accountsOf(a), accountsOf(b)
	if x == y {
		return nil
	}
	return []string{
		fmt.Sprintf(
			"the users of the arms had different accounts: %s in base, %s in new; a difference may be theirs",
			x,
			y,
		),
	}
}

// accountsOf says in words which accounts the users of a run had. The content of a file counts, not
// where it was.
func accountsOf(m record.Manifest) string {
	if m.Accounts == nil {
		return "accounts that were made"
	}
	return fmt.Sprintf("the %d accounts of a file with the digest %.19s", m.Accounts.Rows,
		m.Accounts.Digest)
}

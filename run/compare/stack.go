package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"plimsoll/evidence"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/target"
	"plimsoll/watch/probe"
)

// A stack holds the properties that runs of one arm on one database must share, as far as the
// target reports them.
type stack struct {
	program  string // digest of its file
	data     string // the contents of the database before a run
	database string // name and version of the server
}

func stackOf(d target.Description) stack {
	return stack{program: d.Digest, data: d.Dataset, database: evidence.ServerOf(d)}
}

// differs names the difference of a stack from an earlier one; empty if they agree in all
// properties that both have.
func (s stack) differs(was stack) string {
	for _, x := range []struct{ what, was, is string }{
		{"another build (digest ", was.program[:min(len(was.program), 19)], s.program[:min(len(s.program), 19)]},
		{"on other data (", was.data, s.data},
		{"on another database server (", was.database, s.database},
	} {
		if x.was != "" && x.is != x.was {
			return fmt.Sprintf("%s%s, it was %s)", x.what, cmp.Or(x.is, "-"), x.was)
		}
	}
	return ""
}

// sameAsBefore checks that this host made the runs before the cut, and that the users' accounts
// come from the same file, and returns the stacks of these runs, by arm and engine. It calls found
// for each target.
func sameAsBefore(
	c *record.Comparison, load comparison.Load, here probe.Host,
	accounts *record.AccountsFile, found func(engine string, d target.Description),
) (map[string]stack, error) {
	stacks := map[string]stack{}
	for _, run := range c.Runs {
		if run.Cut {
			continue
		}
		made, err := load(run.Run)
		if err != nil {
			return nil, err
		}
		m := made.Manifest
		var there probe.Host
		if err := json.Unmarshal(m.Host, &there); err != nil {
			return nil, fmt.Errorf("run %s: its host: %w", run.Run, err)
		}
		if there.Digest() != here.Digest() {
			return nil, plan.Usagef("comparison %s: run %s was made on another host, "+
				"or the settings of this one have changed (fingerprint %s, this is %s): "+
				"go on there, or begin a new comparison",
				c.ID, run.Run, there.Digest(), here.Digest())
		}
		if was := m.Accounts; was != nil && accounts != nil && was.Digest != accounts.Digest {
			return nil, plan.Usagef("comparison %s: %s is not the file with which run %s was made "+
				"(digest %.19s, it was %.19s): put that file back, or begin a new comparison",
				c.ID, accounts.Name, run.Run, accounts.Digest, was.Digest)
		}
		if d, ok := evidence.TargetOf(m); ok {
			stacks[run.Arm+" "+run.Engine] = stackOf(d)
			found(m.Engine, d)
		}
	}
	return stacks, nil
}

// Lost returns the runs of the store that were made for the comparison and that its file does not
// list: runs that were under way at the cut, and a run that had ended a moment before. An earlier
// resumption has not reported them. Runs that cannot be read are warnings.
func Lost(
	ctx context.Context, st *store.Store, c *record.Comparison,
) (lost []string, warnings []error, err error) {
	entries, warnings, err := st.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, r := range c.Runs {
		known[r.Run] = true
	}
	for _, r := range c.Resumed {
		for _, id := range r.Lost {
			known[id] = true
		}
	}
	for _, e := range entries {
		if e.Comparison == c.ID && !known[e.ID] {
			lost = append(lost, e.ID)
		}
	}
	slices.Sort(lost)
	return lost, warnings, nil
}

package rig

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"plimsoll/evidence"
	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/deploy"
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

// sameAsBefore holds this host against that of the runs before the cut, and returns their stacks, by arm and engine. What
// the first of them found on targets that others run is noted.
func (s *Session) sameAsBefore(c *record.Comparison, cfg comparison.Config, found *deploy.Deployments) (map[string]stack, error) {
	var here probe.Host
	if err := json.Unmarshal(s.host, &here); err != nil {
		return nil, err
	}
	stacks := map[string]stack{}
	for _, run := range c.Runs {
		if run.Cut {
			continue
		}
		r, err := cfg.Load(run.Run)
		if err != nil {
			return nil, err
		}
		var there probe.Host
		if err := json.Unmarshal(r.Manifest.Host, &there); err != nil {
			return nil, fmt.Errorf("run %s: its host: %w", run.Run, err)
		}
		if there.Digest() != here.Digest() {
			return nil, plan.Usagef("comparison %s: run %s was made on another host, or the settings of this one have changed (fingerprint %s, this is %s): go on there, or begin a new comparison",
				c.ID, run.Run, there.Digest(), here.Digest())
		}
		if was, is := r.Manifest.Accounts, s.usersFile; was != nil && is != nil && was.Digest != is.Digest {
			return nil, plan.Usagef("comparison %s: %s is not the file with which run %s was made (digest %.19s, it was %.19s): put that file back, or begin a new comparison",
				c.ID, is.Name, run.Run, is.Digest, was.Digest)
		}
		if d, ok := evidence.TargetOf(r.Manifest); ok {
			stacks[run.Arm+" "+run.Engine] = stackOf(d)
			found.Recall(r.Manifest.Engine, d)
		}
	}
	return stacks, nil
}

// Lost returns the runs of the store that were made for the comparison and that its file does not know: those that
// were under way when it was cut, and one that had ended a moment before. An earlier resumption has not reported
// them.
func (pr *Program) Lost(ctx context.Context, st *store.Store, c *record.Comparison) ([]string, error) {
	entries, warnings, err := st.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		plain.Fprintf(pr.Warn, "plimsoll compare: %v\n", w)
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
	var out []string
	for _, e := range entries {
		if e.Comparison == c.ID && !known[e.ID] {
			out = append(out, e.ID)
		}
	}
	slices.Sort(out)
	return out, nil
}

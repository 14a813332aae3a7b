package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"plimsoll/comparison"
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/probe"
	"plimsoll/record"
	"plimsoll/store"
	"plimsoll/target"
)

// resume goes on with a comparison that was cut. With a plan in the job, that must be the one that it began with.
func (a *app) resume(ctx context.Context, id string, j job) error {
	if j.aa {
		return usagef("-aa and -resume: the comparison knows what it is; leave -aa out")
	}
	if _, err := os.Stat(j.root); err != nil {
		return usageError{err}
	}
	st, err := store.Open(j.root)
	if err != nil {
		return err
	}
	if id == "last" {
		if id, err = st.LastComparison(); err != nil {
			return usageError{err}
		}
	}
	c, err := st.Comparison(id)
	if err != nil {
		return usageError{err}
	}
	if stored, err := plan.ParseStored([]byte(c.Plan)); err == nil { // before the lock, which another process of this program needs
		if done, err := a.isolate(ctx, stored); err != nil {
			return err
		} else if done {
			return nil
		}
	}
	unlock, err := st.LockComparison(c.ID)
	if errors.Is(err, store.ErrBusy) {
		return usagef("%w; wait for it, or end it first", err)
	}
	if err != nil {
		return err
	}
	defer unlock()
	if c, err = st.Comparison(c.ID); err != nil { // as it is, now that nobody else writes it
		return err
	}
	stored, err := a.planOf(c)
	if errors.Is(err, comparison.ErrAltered) {
		return err
	}
	if err != nil {
		return usagef("the stored plan of %s is none that this version reads: %w; begin a new comparison", c.ID, err)
	}
	switch {
	case j.plan == nil:
		j.plan = stored
	case c.AA && j.plan.Compare != nil && stored.Compare != nil && len(stored.Compare.Arms) == 2 && stored.Compare.Arms[1].Name == comparison.Copy:
		j.plan = comparison.Twins(j.plan)
	}
	build, err := buildDigest()
	if err != nil {
		return err
	}
	if err := comparison.Resumable(c, comparison.Config{Plan: withDefaultRules(j.plan), Tool: version(), Build: build, Load: st.Run}); err != nil {
		return usageError{err}
	}
	if j.lost, err = a.lost(ctx, st, c); err != nil {
		return err
	}
	j.cut, j.aa = c, c.AA
	return a.comparePlan(ctx, j)
}

// lost returns the runs of the store that were made for the comparison and that its file does not know: those that were under way
// when it was cut, and one that had ended a moment before. They were not told of by an earlier resumption.
func (a *app) lost(ctx context.Context, st *store.Store, c *record.Comparison) ([]string, error) {
	entries, warnings, err := st.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		plain.Fprintf(a.stderr, "plimsoll compare: %v\n", w)
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

// A stack is what runs of one arm on one database must have alike, as far as the target tells it.
type stack struct {
	program  string // digest of its file
	data     string // what the database holds before a run
	database string // name and version of the server
}

func stackOf(d target.Description) stack {
	return stack{program: d.Digest, data: d.Dataset, database: serverOf(d)}
}

// differs says in what a stack differs from the one that was; empty if in nothing that both tell.
func (s stack) differs(was stack) string {
	for _, x := range []struct{ what, was, is string }{
		{"another build (digest ", clip(was.program, 19), clip(s.program, 19)},
		{"on other data (", was.data, s.data},
		{"on another database server (", was.database, s.database},
	} {
		if x.was != "" && x.is != x.was {
			return fmt.Sprintf("%s%s, it was %s)", x.what, dash(x.is), x.was)
		}
	}
	return ""
}

// sameAsBefore holds this host against that of the runs before the cut, and returns what they measured, by arm and engine.
func (s *session) sameAsBefore(c *record.Comparison, cfg comparison.Config) (map[string]stack, error) {
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
			return nil, usagef("comparison %s: run %s was made on another host, or the settings of this one have changed (fingerprint %s, this is %s): go on there, or begin a new comparison",
				c.ID, run.Run, there.Digest(), here.Digest())
		}
		if d, ok := targetOf(r.Manifest); ok {
			stacks[run.Arm+" "+run.Engine] = stackOf(d)
		}
	}
	return stacks, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/comparison"
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/store"
)

// A job is a comparison to be carried out.
type job struct {
	plan *plan.Plan
	root string
	rate bool // the host's generator first
	json bool
	aa   bool // the arms are one build
	// cut is the comparison to go on with, which the caller has locked; nil for a new one. lost are runs that were under way.
	cut  *record.Comparison
	lost []string
}

func (a *app) comparePlan(ctx context.Context, j job) error {
	began := time.Now()
	p := withDefaultRules(j.plan)
	s, end, err := a.begin(ctx, p, j.root, j.rate)
	if err != nil {
		return err
	}
	defer end()
	build, err := buildDigest()
	if err != nil {
		return err
	}
	id := store.NewID(began, p.Name)
	if j.cut != nil {
		id = j.cut.ID
	} else {
		unlock, err := s.store.LockComparison(id)
		if err != nil {
			return err
		}
		defer unlock()
	}
	// The tests of a comparison: both in one run, or the only one.
	base := part{comparison: id, bounded: p.Bounded != nil, unbounded: p.Unbounded != nil}
	r := &cells{session: s, base: base, count: p.Compare.Blocks * len(p.Compare.Arms) * len(comparison.Engines(p)), deployed: s.newDeployments()}
	defer r.deployed.close()
	if c, stop, err := s.startCanary(ctx); err != nil {
		s.prog.say("no canary: %v", err)
	} else {
		r.canary = c
		defer stop()
	}
	cfg := comparison.Config{ID: id, Tool: version(), Build: build, Plan: p, Setup: setupRows(p), AA: j.aa || comparison.SameArms(p), Quiet: s.quiet,
		Now: time.Now, Save: s.store.SaveComparison, Load: s.store.Run, Looked: s.looked, Run: r.run, Readers: []comparison.Reader{costsOf(ctx)}}
	s.prog.say("comparison %s: plan %s, %s", id, p.Name, p.Digest())
	var c *record.Comparison
	if j.cut != nil {
		if r.stacks, err = s.sameAsBefore(j.cut, cfg); err != nil {
			return err
		}
		done := len(j.cut.Runs)
		s.prog.say("it goes on: %d runs were made until %s", done, j.cut.Saved.Local().Format(time.DateTime))
		c, err = comparison.Resume(ctx, cfg, j.cut, j.lost)
	} else {
		if cfg.Before, err = s.foresee(r.count, base); err != nil {
			return err
		}
		for _, line := range report.Foresight(*cfg.Before, comparison.PlannedLooks(p), engineName) {
			s.prog.say("  %s", line)
		}
		c, err = comparison.Run(ctx, cfg)
	}
	r.deployed.close()
	if err != nil {
		return err
	}
	if c.AA && c.State == record.Sealed {
		if err := s.register(c); err != nil {
			return err
		}
	}
	s.prog.say("rendering the report")
	// What an interrupted comparison has measured is reported too.
	status, doc, err := a.conclude(context.WithoutCancel(ctx), s.store, c, j.json)
	if err != nil {
		return err
	}
	if !j.json {
		plain.Fprintf(a.stdout, "wall time %v\n", time.Since(began).Round(time.Second))
		plain.Fprintf(a.stdout, "verdict: %s\n", summary(doc))
	}
	if status != exitOK {
		return statusError(status)
	}
	return nil
}

// buildDigest names this program by its file: two builds of one version are not the same program.
func buildDigest() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	return record.DigestFile(exe)
}

// engineName is what an engine is called before its server has said its own name.
func engineName(engine string) string {
	return map[string]string{plan.PostgreSQL: "PostgreSQL", plan.MySQL: "MySQL/MariaDB"}[engine]
}

// looked tells of a planned look.
func (s *session) looked(n int, l record.Look) {
	var parts []string
	for _, v := range l.Verdicts {
		parts = append(parts, strings.TrimSpace(v.Engine+" "+v.Arm)+" "+v.Kind)
	}
	what := "not decided"
	if l.Decided {
		what = "decided: the comparison ends"
	}
	s.prog.say("look %d, after %d blocks, at the level %.4g %%: %s; %s", n, l.Blocks, 100*l.Alpha, strings.Join(parts, ", "), what)
}

// cells carries out the runs of a comparison.
type cells struct {
	*session
	base     part
	count    int // of all blocks
	deployed *deployments
	// stacks holds what runs before the comparison was cut measured, by arm and engine; nil if it was not.
	stacks map[string]stack
	canary *canary // nil if it could not be started
}

func (r *cells) run(ctx context.Context, cell comparison.Cell) (record.ComparisonRun, *record.Capacity, error) {
	s, base := r.session, r.base
	pt := base
	pt.arm, pt.engine, pt.block, pt.order, pt.pilot, pt.start = cell.Arm, s.plan.EngineOf(cell.Arm, cell.Engine), cell.Block, cell.Order, cell.Pilot, cell.Start
	if cell.Pilot {
		// A pilot only has to find where the searches begin.
		pt.bounded = false
	}
	s.prog.what(cellText(cell, s.plan.Compare.Blocks), time.Duration(cell.Left)*(s.length(base)+plan.BetweenRuns))
	sung, err := r.listen(ctx, s.length(pt))
	if err != nil {
		return record.ComparisonRun{}, nil, err
	}
	all := base // a pilot's system serves the runs after it too
	all.arm, all.engine = pt.arm, pt.engine
	sys, err := r.deployed.system(ctx, all)
	if err != nil {
		return record.ComparisonRun{}, nil, err
	}
	if why := stackOf(sys.describe()).differs(r.stacks[cell.Arm+" "+cell.Engine]); why != "" {
		return record.ComparisonRun{}, nil, usagef("arm %s is %s than before the comparison was cut: put the first one back, or begin a new comparison", cell.Arm, why)
	}
	made, _, err := s.trial(ctx, sys, pt)
	err = errors.Join(err, sys.halt(ctx))
	if made == nil {
		return record.ComparisonRun{}, nil, err
	}
	digest, derr := record.DigestFile(filepath.Join(made.Dir, record.ManifestFile))
	run := record.ComparisonRun{Run: made.Manifest.ID, Digest: digest, Valid: made.Validity.Valid, Canary: sung,
		Cause: record.CauseOf(made.Validity), Disturbed: record.Disturbed(made.Validity), TargetToo: record.TargetToo(made.Validity)}
	for _, f := range made.Validity.Findings {
		if f.Level == record.Red {
			run.Why = f.Gate + ": " + f.Text
		}
	}
	if !run.Valid {
		s.prog.say("  run %s is not valid: %s", run.Run, run.Why)
	}
	return run, made.Manifest.Capacity, errors.Join(err, derr)
}

// listen hears the canary before a run that takes so long. One that fails is said and missing; it is no reason not to run.
func (r *cells) listen(ctx context.Context, left time.Duration) (perSecond float64, err error) {
	if r.canary == nil {
		return 0, nil
	}
	r.prog.doing("canary", left)
	if perSecond, err = r.canary.listen(ctx); err != nil && ctx.Err() == nil {
		r.prog.say("  %v", err)
		return 0, nil
	}
	return perSecond, err
}

func cellText(c comparison.Cell, blocks int) string {
	what := strings.TrimSpace(c.Arm + " " + c.Engine)
	if c.Pilot {
		return fmt.Sprintf("pilot %d/%d  %s", c.Index, c.Of, what)
	}
	if c.Again {
		return fmt.Sprintf("block %d/%d again  run %d of it  %s", c.Block, blocks, c.Order, what)
	}
	return fmt.Sprintf("block %d/%d  run %d/%d  %s", c.Block, blocks, c.Index, c.Of, what)
}

package compare

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
	"plimsoll/rig"
	"plimsoll/run/live"
	"plimsoll/target"
)

// Options decide how [Run] carries out a comparison.
type Options struct {
	AA   bool // the arms are one build
	Keep bool // the state directories of the systems under test
	// Minutes is the length of a new comparison, in place of the plan's blocks and, with "measure:
	// auto", of the length of its runs; 0 for the plan's.
	Minutes int
	Began   time.Time // the beginning of the minutes
	// Cut is the comparison to go on with, which the caller has locked; nil for a new one. Lost are
	// runs that were under way.
	Cut  *record.Comparison
	Lost []string
	// Readers returns the readers of metrics that are compared besides the tests' own endpoints.
	Readers func(context.Context) []comparison.Reader
}

// Run carries out the comparison of a session's plan, and makes the plan the one that was carried
// out. It also returns the results of a comparison that was interrupted.
func Run(ctx context.Context, s *rig.Session, o Options) (*record.Comparison, error) {
	mode, cautions, err := s.ModeOf(s.Plan)
	if err != nil {
		return nil, err
	}
	if o.Cut != nil {
		mode = rig.CompareMode{Duet: o.Cut.InTurns(), Why: o.Cut.ModeWhy, Lacks: mode.Lacks}
	}
	if mode.Lacks != "" {
		return nil, rig.ErrLacks(mode)
	}
	base := rig.RunPart{Bounded: s.Plan.Bounded != nil, Unbounded: s.Plan.Unbounded != nil}
	within := timed{o.Minutes, o.Began}
	var levels []record.UserLevel
	if o.Cut == nil {
		if err := within.ahead(s, base); err != nil {
			return nil, err
		}
		if levels, err = findLevels(ctx, s, o.Minutes); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	build, err := rig.BuildDigest()
	if err != nil {
		return nil, err
	}
	if o.Cut != nil {
		base.Comparison = o.Cut.ID
	} else {
		base.Comparison = store.NewID(began, s.Plan.Name)
		unlock, err := s.Store.LockComparison(base.Comparison)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	deployed := s.ComparedDeployments(o.Keep, mode.Duet)
	defer deployed.Close()
	if err := within.fit(ctx, s, deployed, base, mode.Duet); err != nil {
		return nil, err
	}
	cells, hush := newCells(ctx, s, deployed, base, mode.Duet)
	defer hush()
	cfg := o.config(ctx, cells, mode, build)
	cfg.levels = levels
	for _, caution := range cautions {
		cfg.setup = append(cfg.setup, record.Row{Name: "Caution", Value: caution})
		s.Progress.Say("plimsoll: warning: %s", caution)
	}
	s.Progress.Say("comparison %s: plan %s, %s", cfg.id, s.Plan.Name, s.Plan.Digest())
	broadcast, ended := s.Publish(ctx, s.Store.ComparisonDir(cfg.id), beginning(cfg, mode))
	why := "the tool failed"
	defer func() { ended(why) }()
	cells.broadcast = broadcast
	c, err := o.carryOut(ctx, cells, cfg)
	deployed.Close()
	if err != nil {
		return nil, err
	}
	why = c.Why
	if c.State != record.Sealed {
		return c, nil
	}
	deployed.Clear()
	if c.AA {
		err = register(s, c, o.Readers(context.Background()))
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// config returns the comparison of cells before it runs.
func (o Options) config(ctx context.Context, r *cells, mode rig.CompareMode, build string) config {
	p := r.Plan
	cfg := config{
		id: r.base.Comparison, tool: r.Version, build: build, plan: p, modeWhy: mode.Why,
		aa:  o.AA || comparison.SameArms(p),
		now: time.Now, quiet: r.Quiet, run: r.run, foresaw: r.foresaw, looked: r.looked,
		save: r.Store.SaveComparison, load: r.Store.Run, readers: o.Readers(ctx),
	}
	for _, row := range p.Setup {
		cfg.setup = append(cfg.setup, record.Row{Name: row.Name, Value: row.Value})
	}
	if mode.Duet {
		cfg.runBlock = r.runBlock
	}
	return cfg
}

// carryOut begins the comparison, or goes on with the one that was cut.
func (o Options) carryOut(ctx context.Context, r *cells, cfg config) (c *record.Comparison, err error) {
	if o.Cut != nil {
		here, err := r.Fingerprint()
		if err != nil {
			return nil, err
		}
		found := func(engine string, d target.Description) { r.Recall(r.deployed, engine, d) }
		if r.stacks, err = sameAsBefore(o.Cut, r.Store.Run, here, r.AccountsFile(), found); err != nil {
			return nil, err
		}
		r.Progress.Say("it goes on: %d runs were made until %s", len(o.Cut.Runs), o.Cut.Saved.Local().Format(time.DateTime))
		return resume(ctx, cfg, o.Cut, o.Lost)
	}
	if cfg.before, err = foresee(r.Session, cfg.plan, r.count, r.base); err != nil {
		return nil, err
	}
	for _, line := range report.Foresight(*cfg.before, comparison.PlannedLooks(cfg.plan), engineName) {
		r.Progress.Say("  %s", line)
	}
	if names := cfg.plan.NotJudged(); len(names) > 0 {
		r.Progress.Say("  not judged (by the plan): %s", strings.Join(names, ", "))
	}
	if err := r.ForetellAll(); err != nil {
		return nil, err
	}
	return carryOut(ctx, cfg)
}

// beginning is a comparison before its first run, for a console.
func beginning(cfg config, mode rig.CompareMode) live.Whole {
	w := live.Whole{
		Kind: live.KindComparison, ID: cfg.id, Mode: mode.Name(), Step: "beginning",
		Blocks: cfg.plan.Compare.Blocks, Engines: comparison.Engines(cfg.plan),
	}
	for _, a := range cfg.plan.Compare.Arms {
		w.Arms = append(w.Arms, a.Name)
	}
	return w
}

// engineName is the name of an engine before its server has reported one.
func engineName(engine string) string {
	return map[string]string{plan.PostgreSQL: "PostgreSQL", plan.MySQL: "MySQL/MariaDB"}[engine]
}

// foresaw reports the endpoints that are left out, before the first block is judged.
func (r *cells) foresaw(all []record.Expected) {
	for _, x := range all {
		if x.NotJudged {
			r.Progress.Say("  not judged: %s (%s)", named(x.Engine, x.Metric), comparison.Takes(x))
		}
	}
}

// named writes a thing on a database.
func named(engine, thing string) string { return strings.TrimSpace(engineName(engine) + " " + thing) }

// onEngine writes an arm on a database.
func onEngine(arm, engine string) string { return strings.TrimSpace(arm + " " + engine) }

// looked reports a planned look.
func (r *cells) looked(n int, l record.Look) {
	var parts []string
	for _, v := range l.Verdicts {
		parts = append(parts, strings.TrimSpace(v.Engine+" "+v.Arm)+" "+v.Kind)
	}
	of := len(comparison.PlannedLooks(r.Plan))
	r.Progress.Say("look %d of %d, after %d blocks, at the level %.3g %%: %s; %s", n, of, l.Blocks, 100*l.Alpha,
		strings.Join(parts, ", "), report.LookNext(l, r.Plan.Compare.Budget, engineName))
}

// blockText names a block in the progress.
func blockText(c cell, blocks int) string {
	text := fmt.Sprintf("block %d/%d", c.block, blocks)
	if c.again {
		text += " again"
	}
	return text
}

// cellText names a run in the progress.
func cellText(c cell, blocks int) string {
	what := onEngine(c.arm, c.engine)
	switch {
	case c.pilot:
		return fmt.Sprintf("pilot %d/%d  %s", c.index, c.of, what)
	case c.again:
		return fmt.Sprintf("%s  run %d of it  %s", blockText(c, blocks), c.order, what)
	default:
		return fmt.Sprintf("%s  run %d/%d  %s", blockText(c, blocks), c.index, c.of, what)
	}
}

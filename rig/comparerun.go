package rig

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
	"plimsoll/run/deploy"
)

// A CompareJob is a comparison to be carried out.
type CompareJob struct {
	AA   bool // the arms are one build
	Keep bool // the state directories of the systems under test
	// Minutes is how long a new comparison takes, in place of the plan's blocks and, with "measure: auto", of the length of
	// its runs; 0 for the plan's.
	Minutes int
	Began   time.Time // from when they count
	// Cut is the comparison to go on with, which the caller has locked; nil for a new one. lost are runs that were
	// under way.
	Cut  *record.Comparison
	Lost []string
	// Readers are of the metrics that are compared besides the tests' own endpoints.
	Readers func(context.Context) []comparison.Reader
}

// Compare carries out the comparison of the session's plan. It also returns the results of one that was
// interrupted.
func (s *Session) Compare(ctx context.Context, j CompareJob) (*record.Comparison, error) {
	within := timed{j.Minutes, j.Began}
	mode, cautions, err := s.modeOf(s.Plan)
	if err != nil {
		return nil, err
	}
	if j.Cut != nil {
		mode = CompareMode{Duet: j.Cut.InTurns(), Why: j.Cut.ModeWhy, Lacks: mode.Lacks}
	}
	if mode.Lacks != "" {
		return nil, errLacks(mode)
	}
	var levels []record.UserLevel
	base := RunPart{Bounded: s.Plan.Bounded != nil, Unbounded: s.Plan.Unbounded != nil}
	if j.Cut == nil {
		if err := within.ahead(s, base); err != nil {
			return nil, err
		}
		if levels, err = s.findLevels(ctx, j.Minutes); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	build, err := BuildDigest()
	if err != nil {
		return nil, err
	}
	id := store.NewID(began, s.Plan.Name)
	if j.Cut != nil {
		id = j.Cut.ID
	} else {
		unlock, err := s.Store.LockComparison(id)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	// The tests of a comparison: both in one run, or the only one.
	base.Comparison = id
	deployed := s.NewDeployments()
	defer deployed.Close()
	deployed.Kept, deployed.Pausable = j.Keep, mode.Duet
	if err := within.fit(ctx, s, deployed, base); err != nil {
		return nil, err
	}
	p := s.Plan
	r := &cells{Session: s, base: base, count: p.Compare.Blocks * len(p.Compare.Arms) * len(comparison.Engines(p)), deployed: deployed, past: newPastBlocks()}
	r.pace = pace{planned: s.length(base) + plan.Between(mode.Duet), block: r.count / p.Compare.Blocks, all: r.count}
	if c, stop, err := s.startCanary(ctx); err != nil {
		s.Progress.Say("no canary: %v", err)
	} else {
		r.canary = c
		defer stop()
	}
	cfg := comparison.Config{ID: id, Tool: s.Version, Build: build, Plan: p, Setup: setupRows(p), AA: j.AA || comparison.SameArms(p), Quiet: s.quiet,
		Now: time.Now, Save: s.Store.SaveComparison, Load: s.Store.Run, Foresaw: s.foresaw, Looked: s.looked, Run: r.run,
		ModeWhy: mode.Why, Readers: j.Readers(ctx), UserLevels: levels}
	for _, caution := range cautions {
		cfg.Setup = append(cfg.Setup, record.Row{Name: "Caution", Value: caution})
		s.Progress.Say("plimsoll: warning: %s", caution)
	}
	if mode.Duet {
		cfg.RunBlock = r.block
	}
	s.Progress.Say("comparison %s: plan %s, %s", id, p.Name, p.Digest())
	ended := s.openWhole(ctx, s.Store.ComparisonDir(id), s.wholeOf(id, mode.Duet))
	why := "the tool failed"
	defer func() { ended(why) }()
	var c *record.Comparison
	if j.Cut != nil {
		if r.stacks, err = s.sameAsBefore(j.Cut, cfg, r.deployed); err != nil {
			return nil, err
		}
		done := len(j.Cut.Runs)
		s.Progress.Say("it goes on: %d runs were made until %s", done, j.Cut.Saved.Local().Format(time.DateTime))
		c, err = comparison.Resume(ctx, cfg, j.Cut, j.Lost)
	} else {
		if cfg.Before, err = s.foresee(r.count, base); err != nil {
			return nil, err
		}
		for _, line := range report.Foresight(*cfg.Before, comparison.PlannedLooks(p), engineName) {
			s.Progress.Say("  %s", line)
		}
		if names := p.NotJudged(); len(names) > 0 {
			s.Progress.Say("  not judged (by the plan): %s", strings.Join(names, ", "))
		}
		if err := s.foretellAll(); err != nil {
			return nil, err
		}
		c, err = comparison.Run(ctx, cfg)
	}
	r.deployed.Close()
	if err != nil {
		return nil, err
	}
	why = c.Why
	if c.State == record.Sealed {
		r.deployed.Clear()
	}
	if c.AA && c.State == record.Sealed {
		if err := s.register(c, j.Readers(context.Background())); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// BuildDigest names this program by its file: two builds of one version are not the same program.
func BuildDigest() (string, error) {
	exe, err := executable()
	if err != nil {
		return "", err
	}
	return record.DigestFile(exe)
}

// engineName is the name of an engine before its server has reported one.
func engineName(engine string) string {
	return map[string]string{plan.PostgreSQL: "PostgreSQL", plan.MySQL: "MySQL/MariaDB"}[engine]
}

// foresaw reports the endpoints that are left out, before the first block is judged.
func (s *Session) foresaw(all []record.Expected) {
	for _, x := range all {
		if x.NotJudged {
			s.Progress.Say("  not judged: %s (%s)", strings.TrimSpace(engineName(x.Engine)+" "+x.Metric), comparison.Takes(x))
		}
	}
}

// looked reports a planned look.
func (s *Session) looked(n int, l record.Look) {
	var parts []string
	for _, v := range l.Verdicts {
		parts = append(parts, strings.TrimSpace(v.Engine+" "+v.Arm)+" "+v.Kind)
	}
	of := len(comparison.PlannedLooks(s.Plan))
	s.Progress.Say("look %d of %d, after %d blocks, at the level %.3g %%: %s; %s", n, of, l.Blocks, 100*l.Alpha, strings.Join(parts, ", "),
		report.LookNext(l, s.Plan.Compare.Budget, engineName))
}

// cells carries out the runs of a comparison.
type cells struct {
	*Session
	base     RunPart
	count    int // of all blocks
	deployed *deploy.Deployments
	// stacks holds the stacks of the runs before the comparison was interrupted, by arm and engine; nil if
	// it was not.
	stacks map[string]stack
	canary *canary // nil if it could not be started
	pace   pace
	past   *pastBlocks
}

// part translates a cell.
func (r *cells) part(cell comparison.Cell) RunPart {
	pt := r.base
	pt.Arm, pt.Engine, pt.block, pt.order, pt.pilot, pt.Start = cell.Arm, r.Plan.EngineOf(cell.Arm, cell.Engine), cell.Block, cell.Order, cell.Pilot, cell.Start
	if cell.Pilot {
		// A pilot only has to find where the searches begin.
		pt.Bounded = false
	}
	return pt
}

// system returns the system of a cell, deployed.
func (r *cells) system(ctx context.Context, cell comparison.Cell) (*deploy.System, error) {
	all := r.base          // a pilot's system serves the runs after it too
	all.block = cell.Block // it decides on the address, where arms exchange theirs
	all.Arm, all.Engine = cell.Arm, r.Plan.EngineOf(cell.Arm, cell.Engine)
	sys, err := r.deployed.System(ctx, r.Need(all))
	if err != nil {
		return nil, err
	}
	if _, failed := sys.Deployment.(deploy.Unprovisioned); failed {
		return sys, nil
	}
	if why := stackOf(sys.Deployment.Describe()).differs(r.stacks[cell.Arm+" "+cell.Engine]); why != "" {
		return nil, plan.Usagef("arm %s is %s than before the comparison was cut: put the first one back, or begin a new comparison", cell.Arm, why)
	}
	return sys, nil
}

// run carries out one cell by itself.
func (r *cells) run(ctx context.Context, cell comparison.Cell) (record.ComparisonRun, *record.Capacity, error) {
	s, pt := r.Session, r.part(cell)
	s.whole.at(cell.Block, cell.Again)
	s.Progress.What(cellText(cell, s.Plan.Compare.Blocks), time.Duration(cell.Left)*r.pace.each())
	sung, err := r.listen(ctx, s.length(pt))
	if err != nil {
		return record.ComparisonRun{}, nil, err
	}
	sys, err := r.system(ctx, cell)
	if err != nil {
		return record.ComparisonRun{}, nil, err
	}
	began := time.Now()
	run, capacity, err := r.carry(ctx, s, sys, pt, sung)
	if !cell.Pilot {
		r.noted([]record.ComparisonRun{run}, began)
	}
	return run, capacity, errors.Join(err, sys.Halt(ctx))
}

// carry carries out a run on its system with a session of its own.
func (r *cells) carry(ctx context.Context, s *Session, sys *deploy.System, pt RunPart, sung float64) (record.ComparisonRun, *record.Capacity, error) {
	made, _, err := s.Trial(ctx, sys, pt)
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
	if !run.Valid && made.Manifest.State == record.Sealed {
		s.Progress.Say("  run %s is not valid: %s", run.Run, run.Why)
	}
	return run, made.Manifest.Capacity, errors.Join(err, derr)
}

// listen measures the canary before a run that takes so long. A failure is printed, and the reading is missing; the
// run takes place.
func (r *cells) listen(ctx context.Context, left time.Duration) (perSecond float64, err error) {
	if r.canary == nil {
		return 0, nil
	}
	r.Progress.Doing("canary", left)
	if perSecond, err = r.canary.listen(ctx); err != nil && ctx.Err() == nil {
		r.Progress.Say("  %v", err)
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

// blockText names a block whose runs are made side by side.
func blockText(c comparison.Cell, blocks int) string {
	text := fmt.Sprintf("block %d/%d", c.Block, blocks)
	if c.Again {
		text += " again"
	}
	return text
}

// setupRows are the plan's own rows of the Setup table.
func setupRows(p *plan.Plan) []record.Row {
	var rows []record.Row
	for _, r := range p.Setup {
		rows = append(rows, record.Row{Name: r.Name, Value: r.Value})
	}
	return rows
}

package compare

import (
	"cmp"
	"context"
	"strings"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
	"plimsoll/run/deploy"
	"plimsoll/run/preflight"
	"plimsoll/run/session"
)

// Options decide how [Run] carries out a comparison.
type Options struct {
	AA   bool // the arms are one build
	Keep bool // the state directories of the systems under test
	// Step is for a comparison that is one step of several: it does not say how long it takes by
	// itself, nor what its few blocks find.
	Step bool
	// Minutes is the length of a new comparison, in place of the plan's blocks and, with "measure:
	// auto", of the length of its runs; 0 for the plan's.
	Minutes int
	Began   time.Time // the beginning of the minutes
	ID      string    // of a new comparison; empty for one that is made
	// Cut is the comparison to go on with, which the caller has locked; nil for a new one. Lost are
	// runs that were under way.
	Cut  *record.Comparison
	Lost []string
	// Readers returns the readers of metrics that are compared besides the tests' own endpoints.
	Readers func(context.Context) []comparison.Reader
}

// Run carries out the comparison of a session's plan, and makes the plan the one that was carried
// out. It also returns the results of a comparison that was interrupted.
func Run(ctx context.Context, s *session.Session, o Options) (*record.Comparison, error) {
	mode, cautions, err := o.mode(s)
	if err != nil {
		return nil, err
	}
	base := session.RunPart{Bounded: s.Plan.Bounded != nil, Unbounded: s.Plan.Unbounded != nil}
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
	build, err := deploy.BuildDigest()
	if err != nil {
		return nil, err
	}
	id, unlock, err := o.lock(s)
	if err != nil {
		return nil, err
	}
	defer unlock()
	base.Comparison = id
	deployed := s.NewDeployments()
	deployed.Kept = o.Keep
	deployed.Pausable = mode.Duet
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
	broadcast, ended := s.Progress.Publish(
		ctx, s.Store.ComparisonDir(cfg.id), beginning(s.Verb(), cfg, mode), s.Stop)
	why := "the tool failed"
	defer func() { ended(why) }()
	cells.broadcast = broadcast
	c, err := o.conduct(ctx, cells, cfg)
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

// mode returns the mode of a session's comparison: the one that a cut comparison began with.
func (o Options) mode(s *session.Session) (m preflight.CompareMode, cautions []string, err error) {
	m, cautions, err = preflight.ModeHere(&s.Resolver, s.Plan)
	if err != nil {
		return m, nil, err
	}
	if o.Cut != nil {
		m = preflight.CompareMode{Duet: o.Cut.InTurns(), Why: o.Cut.ModeWhy, Lacks: m.Lacks}
	}
	if m.Lacks != "" {
		return m, nil, preflight.ErrLacks(m)
	}
	return m, cautions, nil
}

// lock returns the id of the comparison, which is locked until unlock is called. The caller has
// locked a cut one.
func (o Options) lock(s *session.Session) (id string, unlock func(), err error) {
	if o.Cut != nil {
		return o.Cut.ID, func() {}, nil
	}
	id = cmp.Or(o.ID, store.NewID(time.Now(), s.Plan.Name))
	unlock, err = s.Store.LockComparison(id)
	return id, unlock, err
}

// config returns the comparison of cells before it runs.
func (o Options) config(
	ctx context.Context,
	r *cells,
	mode preflight.CompareMode,
	build string,
) config {
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

// conduct begins the comparison, or resumes the cut one.
func (o Options) conduct(
	ctx context.Context,
	r *cells,
	cfg config,
) (c *record.Comparison, err error) {
	if o.Cut != nil {
		found := r.deployed.Recall
		accounts := r.Accounts.OfFile()
		if r.stacks, err = sameAsBefore(o.Cut, r.Store.Run, r.Host, accounts, found); err != nil {
			return nil, err
		}
		r.Progress.Say("it goes on: %d runs were made until %s", len(o.Cut.Runs),
			o.Cut.Saved.Local().Format(time.DateTime))
		return resume(ctx, cfg, o.Cut, o.Lost)
	}
	if cfg.before, err = foresee(r.Session, cfg.plan, r.count, r.base); err != nil {
		return nil, err
	}
	if !o.Step {
		r.sayForesight(cfg)
	}
	if err := r.Foretell(); err != nil {
		return nil, err
	}
	return begin(ctx, cfg)
}

// sayForesight says how long the comparison takes, what it finds, and what it does not judge.
func (r *cells) sayForesight(cfg config) {
	for _, line := range report.Foresight(*cfg.before, comparison.PlannedLooks(cfg.plan), engineName) {
		r.Progress.Say("  %s", line)
	}
	if names := cfg.plan.NotJudged(); len(names) > 0 {
		r.Progress.Say("  not judged (by the plan): %s", strings.Join(names, ", "))
	}
}

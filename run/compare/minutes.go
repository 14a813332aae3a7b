package compare

import (
	"context"
	"fmt"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/deploy"
	"plimsoll/run/preflight"
	"plimsoll/run/session"
	"plimsoll/run/trial"
)

// reporting is the approximate time of the judgement after the last block.
const reporting = 5 * time.Second

// A timed comparison takes a requested number of minutes: its blocks fill the time that pilots and
// deployments leave.
type timed struct {
	minutes int // 0: the plan declares its blocks
	began   time.Time
}

// Fits returns the reason why the comparison of a plan cannot take the minutes, as far as it is
// known before anything is started; nil if it can, and without minutes.
func (o Options) Fits(p *plan.Plan) error {
	t := timed{o.Minutes, time.Now()}
	switch {
	case t.minutes == 0:
		return nil
	case t.minutes < 0:
		return plan.Usagef("-minutes %d: want a number above 0", t.minutes)
	case p.Unbounded != nil:
		return plan.Usagef("-minutes %d: how long a search takes is not known; "+
			"remove unbounded, or leave -minutes out", t.minutes)
	case p.Compare.Auto() || len(p.Compare.Looks) > 0:
		return plan.Usagef("-minutes %d decides on the number of blocks; "+
			"remove compare.looks, and compare.blocks: auto, or leave -minutes out", t.minutes)
	case len(p.Target.Install)+len(p.Target.Reset) > 0:
		return plan.Usagef(
			"-minutes %d: how long target.install and target.reset take is unknown; "+
				"write compare.blocks",
			t.minutes,
		)
	}
	_, err := t.plan(p, plan.Between(preflight.ModeOf(p, false).Duet), pilots(p))
	return err
}

// pilots returns how long the pilots for the number of users take at most.
func pilots(p *plan.Plan) time.Duration {
	if !p.Bounded.AutoUsers() {
		return 0
	}
	return time.Duration(len(comparison.Engines(p))) * trial.LevelTime(p.Workload)
}

// ahead prints, before anything is started, how many blocks fit into the minutes and the changes
// that they can find.
func (t timed) ahead(s *session.Session, base session.RunPart) error {
	if t.minutes == 0 {
		return nil
	}
	before := pilots(s.Plan)
	q, err := t.plan(s.Plan, plan.Between(preflight.ModeOf(s.Plan, true).Duet), before)
	if err != nil {
		return err
	}
	b, err := foresee(s, q, q.Compare.Blocks*q.Seats(), base)
	if err != nil {
		return err
	}
	text := ""
	if before > 0 {
		text = fmt.Sprintf("at most %v for the number of users, then ", before)
	}
	s.Progress.Say("-minutes %d: %sabout %d blocks with %v measured in each of their %d runs, "+
		"less what deployments take", t.minutes, text, q.Compare.Blocks, q.Bounded.Measure, q.Seats())
	if text = report.Findable(*b, engineName); text != "" {
		s.Progress.Say("  %s", text)
	}
	return nil
}

// plan fits a plan into the rest of the minutes. before is the time before the first block, between
// the time between two runs.
func (t timed) plan(p *plan.Plan, between, before time.Duration) (*plan.Plan, error) {
	passed := time.Since(t.began) + before + reporting
	q, least := p.Within(time.Duration(t.minutes)*time.Minute-passed, between)
	if q != nil {
		return q, nil
	}
	return nil, plan.Usagef("-minutes %d is too short for six blocks of %d runs, which take %v, "+
		"and %v around them; want at least %d", t.minutes, p.Seats(), least.Round(time.Second),
		passed.Round(time.Second), (passed+least+time.Minute-1)/time.Minute)
}

// overrun returns the plan of the shortest comparison, once pilots and deployments have taken more
// time than foreseen: otherwise their results would be lost. It returns nil where that takes over
// half again the minutes.
func (t timed) overrun(p *plan.Plan, between time.Duration) *plan.Plan {
	most := time.Duration(t.minutes) * time.Minute * 3 / 2
	_, least := p.Within(0, between)
	if time.Since(t.began)+reporting+least > most {
		return nil
	}
	q, _ := p.Within(least, between)
	return q
}

// fit deploys the systems of the comparison, measures how long the reset of one takes, and makes
// the session's plan one that fits.
func (t timed) fit(
	ctx context.Context,
	s *session.Session,
	deployed *deploy.Deployments,
	pt session.RunPart,
	duet bool,
) error {
	if t.minutes == 0 {
		return nil
	}
	began := time.Now()
	reset := time.Duration(0)
	for _, e := range comparison.Engines(s.Plan) {
		for _, a := range s.Plan.Compare.Arms {
			pt.Arm, pt.Engine = a.Name, s.Plan.EngineOf(a.Name, e)
			pt.Block = 1
			took, err := resetTime(ctx, s, deployed, pt)
			if err != nil {
				return err
			}
			reset = max(reset, took)
		}
	}
	between := plan.Between(duet) + reset
	q, err := t.plan(s.Plan, between, 0)
	if err != nil {
		if q = t.overrun(s.Plan, between); q == nil {
			return err
		}
		s.Progress.Say("%v; it goes on", err)
	}
	s.Plan, deployed.Plan = q, q
	s.Progress.Say("-minutes %d: %d blocks, %v measured in each run; deployments took %v, "+
		"and a reset takes %v", t.minutes, q.Compare.Blocks, q.Bounded.Measure,
		time.Since(began).Round(time.Second), reset.Round(100*time.Millisecond))
	return nil
}

// resetTime deploys a system, resets it and halts it as between two runs. A target that does not
// start is not an error: its runs show it.
func resetTime(
	ctx context.Context, s *session.Session, deployed *deploy.Deployments, pt session.RunPart,
) (time.Duration, error) {
	sys, err := deployed.System(ctx, s.Need(pt))
	if err != nil {
		return 0, err
	}
	if _, failed := sys.Deployment.(deploy.Unprovisioned); failed {
		return 0, nil
	}
	began := time.Now()
	if err := sys.Reset(ctx); err != nil && (ctx.Err() != nil || !deployed.MayFail(s.Need(pt))) {
		return 0, fmt.Errorf("resetting %s: %w", pt.Arm, err)
	}
	took := time.Since(began)
	return took, sys.Halt(ctx)
}

package compare

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/preflight"
	"plimsoll/run/session"
)

// environment returns this host with the cores of both sides.
func environment(s *session.Session) (e comparison.Environment) {
	h := s.Host
	kernel, _, _ := strings.Cut(h.Kernel, " ")
	e.Host = fmt.Sprintf("%s %v %v", h.Digest(), s.Cores.Generator, s.Cores.Target)
	e.HostText = strings.TrimSpace(fmt.Sprintf("%d × %s, kernel %s", h.CPUs, h.CPUModel, kernel))
	return e
}

// foresee returns the time that a comparison by a plan takes on the host of a session, and the changes that it can find.
func foresee(
	s *session.Session,
	p *plan.Plan,
	runs int,
	base session.RunPart,
) (*record.Before, error) {
	env := environment(s)
	lines, warnings, err := s.Store.AA()
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		s.Progress.Say("plimsoll: warning: %v", w)
	}
	env.Duet = preflight.ModeOf(p, true).Duet
	each := p.RunLength(base.Bounded, base.Unbounded) + plan.Between(env.Duet)
	b := &record.Before{
		At:    time.Now(),
		Runs:  runs,
		Most:  time.Duration(runs) * each,
		Retry: p.Compare.Retry,
	}
	if p.Unbounded != nil {
		for _, e := range comparison.Engines(p) {
			if _, ok := p.Unbounded.Start.For(e); !ok {
				b.Most += p.RunLength(false, true) + plan.BetweenRuns // a pilot
			}
		}
	}
	b.Least = b.Most
	b.Noise = comparison.NoiseOf(comparison.Pool(lines), p, env)
	block := time.Duration(runs/p.Compare.Blocks) * each
	looks := comparison.PlannedLooks(p)
	if len(looks) > 0 {
		b.Least -= time.Duration(p.Compare.Blocks-looks[0].Blocks) * block
	}
	if p.Compare.Auto() {
		last := looks[comparison.Reach(looks, 0, b.Least, block, p.Compare.Budget)]
		b.Budget = p.Compare.Budget
		b.Fits = last.Blocks
		b.Most = b.Least + time.Duration(last.Blocks-looks[0].Blocks)*block
	}
	b.Expected = comparison.Foresee(p, b)
	return b, nil
}

// register writes the noise found by a comparison of a build with itself into the store.
func register(s *session.Session, c *record.Comparison, readers []comparison.Reader) error {
	env := environment(s)
	all := *c
	all.Foreseen = nil // endpoints that the plan could not decide have noise too
	arms, _, err := comparison.Judge(&all, s.Plan, comparison.Loader(c, s.Store.Run), readers...)
	if err != nil {
		return fmt.Errorf("judging %s: %w", c.ID, err)
	}
	lines := comparison.AALines(c, s.Plan, arms, env, time.Now())
	if err := s.Store.AddAA(lines...); err != nil {
		return err
	}
	s.Progress.Say(
		"%d lines about the noise of this environment are in the store (plimsoll ls -aa)",
		len(lines),
	)
	return nil
}

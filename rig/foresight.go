package rig

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/watch/probe"
)

// environment is this host with the cores of both sides.
func (s *Session) environment() (comparison.Environment, error) {
	var h probe.Host
	if err := json.Unmarshal(s.host, &h); err != nil {
		return comparison.Environment{}, err
	}
	kernel, _, _ := strings.Cut(h.Kernel, " ")
	return comparison.Environment{Host: fmt.Sprintf("%s %v %v", h.Digest(), s.generator, s.targets),
		HostText: strings.TrimSpace(fmt.Sprintf("%d × %s, kernel %s", h.CPUs, h.CPUModel, kernel))}, nil
}

// foresee states the time that a comparison of so many runs takes, and the changes that it can
// find.
func (s *Session) foresee(runs int, base RunPart) (*record.Before, error) {
	p := s.Plan
	env, err := s.environment()
	if err != nil {
		return nil, err
	}
	lines, warnings, err := s.Store.AA()
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		s.Progress.Say("plimsoll: warning: %v", w)
	}
	env.Duet = ModeOf(p, true).Duet
	each := s.length(base) + plan.Between(env.Duet)
	b := &record.Before{At: time.Now(), Runs: runs, Most: time.Duration(runs) * each, Retry: p.Compare.Retry}
	if p.Unbounded != nil {
		for _, e := range comparison.Engines(p) {
			if _, ok := p.Unbounded.StartFor(e); !ok {
				b.Most += s.length(RunPart{Unbounded: true}) + plan.BetweenRuns // a pilot
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
	if !p.Compare.Auto() {
		b.Expected = comparison.Foresee(p, b.Noise)
		return b, nil
	}
	last := looks[comparison.Reach(looks, 0, b.Least, block, p.Compare.Budget)]
	b.Budget, b.Fits, b.Most = p.Compare.Budget, last.Blocks, b.Least+time.Duration(last.Blocks-looks[0].Blocks)*block
	b.Expected = comparison.ForeseeAt(p, b.Noise, last)
	return b, nil
}

// register writes the noise found by a comparison of a build with itself into the store.
func (s *Session) register(c *record.Comparison, readers []comparison.Reader) error {
	env, err := s.environment()
	if err != nil {
		return err
	}
	all := *c
	all.Foreseen = nil // the noise is of every endpoint, also of those that the plan could not decide
	arms, _, err := comparison.Judge(&all, s.Plan, comparison.Loader(c, s.Store.Run), readers...)
	if err != nil {
		return fmt.Errorf("judging %s: %w", c.ID, err)
	}
	lines := comparison.AALines(c, s.Plan, arms, env, time.Now())
	if err := s.Store.AddAA(lines...); err != nil {
		return err
	}
	s.Progress.Say("%d lines about the noise of this environment are in the store (plimsoll ls -aa)", len(lines))
	return nil
}

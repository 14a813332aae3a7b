package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/comparison"
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/probe"
	"plimsoll/record"
	"plimsoll/stats"
	"plimsoll/store"
	"plimsoll/verdict"
)

// environment is this host with the cores of both sides.
func (s *session) environment() (comparison.Environment, error) {
	var h probe.Host
	if err := json.Unmarshal(s.host, &h); err != nil {
		return comparison.Environment{}, err
	}
	kernel, _, _ := strings.Cut(h.Kernel, " ")
	return comparison.Environment{Host: fmt.Sprintf("%s %v %v", h.Digest(), s.generator, s.targets),
		HostText: strings.TrimSpace(fmt.Sprintf("%d × %s, kernel %s", h.CPUs, h.CPUModel, kernel))}, nil
}

// foresee states what a comparison of so many runs takes, and what it can find.
func (s *session) foresee(runs int, base part) (*record.Before, error) {
	p := s.plan
	env, err := s.environment()
	if err != nil {
		return nil, err
	}
	lines, warnings, err := s.store.AA()
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		s.prog.say("plimsoll: warning: %v", w)
	}
	each := s.length(base) + plan.BetweenRuns
	b := &record.Before{At: time.Now(), Runs: runs, Most: time.Duration(runs) * each, Retry: p.Compare.Retry}
	if p.Unbounded != nil {
		for _, e := range comparison.Engines(p) {
			if _, ok := p.Unbounded.StartFor(e); !ok {
				b.Most += s.length(part{unbounded: true}) + plan.BetweenRuns // a pilot
			}
		}
	}
	b.Least = b.Most
	if looks := comparison.PlannedLooks(p); len(looks) > 0 {
		b.Least -= time.Duration(runs/p.Compare.Blocks*(p.Compare.Blocks-looks[0].Blocks)) * each
	}
	b.Noise = comparison.NoiseOf(comparison.Pool(lines), p, env)
	b.Expected = comparison.Foresee(p, b.Noise)
	return b, nil
}

// register writes what a comparison of a build with itself says about the noise into the store.
func (s *session) register(c *record.Comparison) error {
	env, err := s.environment()
	if err != nil {
		return err
	}
	arms, _, err := comparison.Judge(c, s.plan, comparison.Loader(c, s.store.Run), costsOf(context.Background()))
	if err != nil {
		return fmt.Errorf("judging %s: %w", c.ID, err)
	}
	lines := comparison.AALines(c, s.plan, arms, env, time.Now())
	if err := s.store.AddAA(lines...); err != nil {
		return err
	}
	s.prog.say("%d lines about the noise of this environment are in the store (plimsoll ls -aa)", len(lines))
	return nil
}

// noiseRow is a line of ls -aa.
type noiseRow struct {
	record.Noise
	RunSD float64 `json:"run_sd"`
	// Finds is the change that six blocks of such runs find in four of five cases: a ratio minus one, or points.
	Finds float64 `json:"six_blocks_find"`
}

// listNoise prints the noise floors of a store.
func (a *app) listNoise(st *store.Store, asJSON bool) error {
	lines, warnings, err := st.AA()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		plain.Fprintf(a.stderr, "plimsoll ls: %v\n", w)
	}
	rows := []noiseRow{}
	for _, n := range comparison.Pool(lines) {
		e := verdict.Endpoint{Absolute: n.Absolute, Margin: 0.05}
		r := noiseRow{Noise: n, RunSD: n.RunSD()}
		r.Finds, _ = e.Foresee(r.RunSD, stats.MinPairs, stats.FixedAlpha)
		rows = append(rows, r)
	}
	if asJSON {
		return a.json(rows)
	}
	tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "ENVIRONMENT\tDATABASE\tTEST\tMETRIC\tCOMPARISONS\tPAIRS\tRUN SD\tSIX BLOCKS FIND\tFALSE\tLOAD\tHOST\n")
	for _, r := range rows {
		finds := "-"
		if r.RunSD > 0 { // numbers that do not vary could find anything, which says nothing
			finds = spread(r.Finds, r.Absolute)
		}
		plain.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%d of %d\t%s\t%s\n", r.Environment, dash(r.Engine), r.Test, r.Metric, r.Comparisons, r.Pairs,
			spread(r.RunSD, r.Absolute), finds, r.False, r.Lines, r.Load, r.Host)
	}
	if err := tw.Flush(); err != nil || len(rows) > 0 {
		return err
	}
	_, err = plain.Fprintf(a.stderr, "plimsoll ls: no comparison of a build with itself is in this store; plimsoll compare -aa PLAN.yaml makes one\n")
	return err
}

// spread writes a relative spread in percent, or one in points.
func spread(v float64, absolute bool) string {
	if absolute {
		return fmt.Sprintf("%.3g pp", v)
	}
	return fmt.Sprintf("%.3g %%", 100*v)
}

package main

import (
	"slices"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/load/workload"
	"plimsoll/report"
	"plimsoll/studies/study"
)

// An outcome is one comparison, or one that was interrupted.
type outcome struct {
	cell
	At      time.Time `json:"at"`
	Commit  string    `json:"commit"`
	Machine string    `json:"machine"`
	// Setting is the digest of everything that outcomes must share to be counted together.
	Setting string `json:"setting"`
	Minutes int    `json:"minutes"`
	// Fault was built in, and is Planted of the base that was measured beside it; 0 where it has no
	// size.
	Fault   string  `json:"fault,omitempty"`
	Planted float64 `json:"planted,omitempty"`
	Base    reading `json:"base"`
	// Before is the share of this host's cores that others used before, after the seconds that were
	// waited; During the share meanwhile, with the neighbor.
	Before  float64 `json:"others_before"`
	Waited  float64 `json:"waited_s"`
	During  float64 `json:"others_during"`
	Seconds float64 `json:"seconds"` // of wall time
	Status  int     `json:"exit_status"`
	ID      string  `json:"comparison,omitempty"`
	Blocks  int     `json:"blocks_judged"`
	// Verdicts are by database; none where there is no verdict, for which Problem is the reason.
	Verdicts    []verdict.Kind `json:"verdicts"`
	Endpoints   []endpoint     `json:"endpoints,omitempty"`
	Problem     string         `json:"problem,omitempty"`
	Interrupted bool           `json:"interrupted,omitempty"`
}

// An endpoint is a primary one with its effect (0.05 is 5 % more; points for errors) and its
// interval.
type endpoint struct {
	Name   string        `json:"name"`
	Kind   verdict.Kind  `json:"kind"`
	Effect report.Number `json:"effect"`
	Lo     report.Number `json:"lo"`
	Hi     report.Number `json:"hi"`
	// Finds is the effect that so many blocks with this spread find in four of five cases.
	Finds report.Number `json:"finds"`
}

// read takes what a report shows.
func (o *outcome) read(d report.Document) {
	o.ID, o.Blocks = d.Comparison, d.State.Judged
	for _, v := range d.Verdicts {
		if d.State.Complete {
			o.Verdicts = append(o.Verdicts, v.Verdict.Kind)
		}
		for _, r := range v.Verdict.Results {
			o.Endpoints = append(o.Endpoints, endpoint{
				r.Name,
				r.Kind,
				report.Number(r.Effect),
				report.Number(r.Lo),
				report.Number(r.Hi),
				report.Number(r.MDE),
			})
			for _, p := range r.Pairs {
				if r.Name == "cost(app)" {
					o.Base.CPU += p.Base / 1000 / float64(len(r.Pairs)*len(d.Verdicts))
				}
			}
		}
	}
	var all, posts uint64
	for _, t := range d.Ops {
		for _, r := range t.Rows {
			ok := r.Arms[0].Count - r.Arms[0].Failed
			if workload.Steady(r.Name) {
				all += ok
			}
			if r.Name == "post" {
				posts += ok
				o.Base.P95 = max(o.Base.P95, float64(r.Arms[0].P95)/1000)
			}
		}
	}
	if all > 0 {
		o.Base.Posts = float64(posts) / float64(all)
	}
	o.Planted = kindOf(o.Kind).planted(o.Fault, o.Base)
}

// The scores of outcomes.
const (
	found     = "found"
	missed    = "missed"
	undecided = "undecided"
	alarm     = "false alarm"
	same      = "same"
	without   = "no verdict"
	cut       = "interrupted"
)

func (o outcome) machine() string { return o.Machine }

// score compares the verdicts with the truth. A difference is found if each database is worse, and
// an alarm is false if one of them is worse or better and nothing was planted.
func (o outcome) score() string {
	none := kindOf(o.Kind).nothing()
	all := func(k verdict.Kind) bool {
		return !slices.ContainsFunc(o.Verdicts, func(v verdict.Kind) bool { return v != k })
	}
	switch {
	case o.Interrupted:
		return cut
	case len(o.Verdicts) == 0 || slices.Contains(o.Verdicts, verdict.Invalid):
		return without
	case none && (slices.Contains(o.Verdicts, verdict.Worse) || slices.Contains(o.Verdicts, verdict.Better)):
		return alarm
	case none && all(verdict.Same):
		return same
	case !none && all(verdict.Worse):
		return found
	case slices.Contains(o.Verdicts, verdict.Inconclusive):
		return undecided
	}
	return missed
}

// mean is the mean of what outcomes show of the base, by those that show it.
func mean(all []outcome) (m reading) {
	n := 0.0
	for _, o := range all {
		if b := o.Base; b.CPU > 0 && b.Posts > 0 && b.P95 > 0 && kindOf(o.Kind).demo == "" {
			n++
			m.CPU = m.CPU + (b.CPU-m.CPU)/n
			m.Posts = m.Posts + (b.Posts-m.Posts)/n
			m.P95 = m.P95 + (b.P95-m.P95)/n
		}
	}
	return m
}

// of are the outcomes of a setting, without those that were interrupted.
func of(all []outcome, setting string) []outcome {
	return slices.DeleteFunc(slices.Clone(all), func(o outcome) bool {
		return o.Setting != setting || o.Interrupted
	})
}

// interruption returns the outcome that a killed program left under way, with the reason, and
// whether there is one.
func (b *bench) interruption(all []outcome, torn bool) (o outcome, ok bool) {
	left := b.Left(&o) && !slices.ContainsFunc(all, func(k outcome) bool {
		return k.cell == o.cell && k.At.Equal(o.At)
	})
	o.Interrupted, o.Problem = true, study.Interruption(torn)
	return o, left || torn
}

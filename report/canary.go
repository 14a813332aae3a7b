package report

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/stats"
)

// canaryLimit is the difference of the host's canary between arms beyond which the environment has
// moved with the arm.
const canaryLimit = 0.02

// canaries compares the canaries of the judged runs. Runs without a canary make no pair. The runs
// of a duet make none either: a duet has one canary for each block.
func (b *builder) canaries() {
	p := b.Protocol
	if p == nil {
		return
	}
	var all []float64
	had := map[int]bool{}
	for _, r := range b.judged {
		if r.Cell.Canary > 0 &&
			!(had[r.Cell.Block] && b.c.InTurns()) { // the runs of a duet have one in common
			all, had[r.Cell.Block] = append(all, math.Log(r.Cell.Canary)), true
		}
	}
	if len(all) == 0 {
		return
	}
	p.Canaries, p.CanaryHere = len(all), b.in.Plan != nil && !b.in.Plan.Target.OwnHost()
	if s, err := stats.NewSample(all...); err == nil {
		p.CanarySpread = Number(s.SD())
	}
	p.CanaryFirst, p.CanaryLast = canaryEnds(b.judged)
	if b.c.InTurns() {
		return
	}
	for _, e := range b.c.Engines {
		for _, a := range b.c.Arms[min(1, len(b.c.Arms)):] {
			var before, after []float64
			for _, x := range b.of(e, b.c.Arms[0]) {
				for _, y := range b.of(e, a) {
					if x.Cell.Block == y.Cell.Block && x.Cell.Canary > 0 && y.Cell.Canary > 0 {
						before, after = append(before, x.Cell.Canary), append(after, y.Cell.Canary)
					}
				}
			}
			s, err := stats.LogRatios(before, after)
			if err != nil || s.N() < stats.MinInterval {
				continue
			}
			ci := stats.TInterval(s, 0.95)
			c := Canary{Engine: e, Arm: a, Pairs: s.N(), Effect: Number(math.Expm1(s.Mean())),
				Lo: Number(math.Expm1(ci.Lo)), Hi: Number(math.Expm1(ci.Hi))}
			c.Moved = ci.Above(math.Log1p(canaryLimit)) || ci.Below(-math.Log1p(canaryLimit))
			p.Canary = append(p.Canary, c)
		}
	}
}

// canaryEnds returns the means of the canary over the first and the last of the blocks that have
// one, of runs by block; one run has one at least.
func canaryEnds(runs []RunData) (first, last Number) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r RunData) bool {
		return !(r.Cell.Canary > 0)
	})
	mean := func(block int) Number {
		sum, n := 0.0, 0
		for _, r := range runs {
			if r.Cell.Block == block {
				sum, n = sum+r.Cell.Canary, n+1
			}
		}
		return Number(sum / float64(n))
	}
	return mean(runs[0].Cell.Block), mean(runs[len(runs)-1].Cell.Block)
}

// canaryTexts describe the readings of the canary.
func (p *Protocol) canaryTexts(d Document) []string {
	if p.Canaries == 0 {
		return nil
	}
	each, all := "run", "runs"
	if p.Duet != nil {
		each, all = "block", "blocks"
	}
	what := fmt.Sprintf(
		"a null server on the target's cores, asked before each %s while no target ran",
		each,
	)
	if p.CanaryHere {
		what = fmt.Sprintf(
			"a null server on the generator's host, asked before each %s; the target, which others run, may be on other hosts",
			each,
		)
	}
	out := []string{
		fmt.Sprintf(
			"The canary (%s) varied by %s between %s (sd); from the first block to the last it went from %s to %s requests/s.",
			what,
			spreadText(float64(p.CanarySpread), false),
			count(p.Canaries, each, all),
			sig(p.CanaryFirst, 4),
			sig(p.CanaryLast, 4),
		),
	}
	for _, c := range p.Canary {
		text := fmt.Sprintf(
			"%sthe canary of %s against that of %s: %s [%s, %s] in %s: ",
			d.on(c.Engine),
			d.armLabel(c.Arm),
			d.baseLabel(),
			percent(c.Effect),
			percent(c.Lo),
			percent(c.Hi),
			count(c.Pairs, "pair", "pairs"),
		)
		switch {
		case c.Moved:
			text += "the environment was another one for this arm, by more than 2 %."
		case float64(c.Lo) > 1/(1+canaryLimit)-1 && float64(c.Hi) < canaryLimit:
			text += "the environment was the same for both to within 2 %."
		default:
			text += "too wide to say whether the environment was the same to within 2 %."
		}
		out = append(out, text)
	}
	return out
}

// canaryWarnings warn that a verdict does not depend on the build alone.
func (d Document) canaryWarnings() []string {
	if d.Protocol == nil {
		return nil
	}
	var out prose
	for _, c := range d.Protocol.Canary {
		if c.Moved {
			out.add(
				"the environment moved with the arm: %sthe canary, which is the same for all arms, differs by %s [%s, %s] for %s; a difference of the arms may be the host's",
				d.on(c.Engine),
				percent(c.Effect),
				percent(c.Lo),
				percent(c.Hi),
				d.armLabel(c.Arm),
			)
		}
	}
	return out
}

// spreadText writes how much runs vary: "1.8 %", "0.02 pp".
func spreadText(v float64, absolute bool) string {
	if absolute {
		return trim(sig(v, 2)) + " pp"
	}
	return trim(sig(100*v, 2)) + " %"
}

package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// swapStream sets the places of arms apart from other users of the plan's seed.
const swapStream = 0x7377_6170

// Place returns the arm at whose addresses an arm runs in a block, counted from 1: its own, unless
// the plan has the arms exchange their addresses ([Compare.Swap]). Then as many blocks in a row as
// there are arms have each arm at each address once, in an order that follows the seed. Block 0 is
// of runs outside of blocks, each at its own.
func (p *Plan) Place(arm string, block int) Arm {
	if p.Compare == nil {
		return Arm{}
	}
	arms := p.Compare.Arms
	own := slices.IndexFunc(arms, func(a Arm) bool { return a.Name == arm })
	if own < 0 {
		return Arm{}
	}
	if !p.Compare.Swap || block < 1 {
		return arms[own]
	}
	n := len(arms)
	shifts := rand.New(rand.NewPCG(p.Seed^uint64((block-1)/n)<<32, swapStream)).Perm(n)
	return arms[(own+shifts[(block-1)%n])%n]
}

// TargetOf returns the target with an arm laid over it, at the addresses where it is in a block:
// its servers and the pages of their metrics ([Plan.Place]).
func (p *Plan) TargetOf(arm Arm, block int) Target {
	t, at := p.Target.With(arm), p.Target.With(p.Place(arm.Name, block))
	t.URL = at.URL
	t.MetricsURL = at.MetricsURL
	return t
}

// checkSwap refuses arms whose addresses cannot be exchanged.
func (d *decoder) checkSwap(p *Plan) {
	const path = "compare.swap"
	c := p.Compare
	if !c.Swap || !d.good(path, "target", "compare.arms", "compare.blocks", "compare.looks") {
		return
	}
	why := ""
	switch {
	case p.Target.Driver != External || !p.armsElsewhere():
		why = "exchanges the addresses of arms of the driver external, and each arm must have a url of its own; remove it"
	case len(p.Target.Install) == 0:
		why = "needs target.install: without a command that puts an arm's version at the other address, versions stay where they are; " +
			"add it, or remove swap"
	case slices.ContainsFunc(c.Arms, func(a Arm) bool { return p.Target.With(a).Version == "" }):
		why = "needs a version in every arm, which target.install puts at the other address; add it, or remove swap"
	case c.Auto() || len(c.Looks) > 0:
		why = "needs a declared number of blocks, so that every arm is at every address equally often; remove looks and blocks: auto, or swap"
	case c.Blocks%len(c.Arms) != 0:
		why = fmt.Sprintf(
			"needs a number of blocks that the %d arms divide, so that every arm is at every address equally often; "+
				"%d is not one",
			len(c.Arms),
			c.Blocks,
		)
	default:
		return
	}
	d.at(path, "%s", why)
}

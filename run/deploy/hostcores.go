package deploy

import (
	"cmp"
	"context"
	"slices"

	"plimsoll/plan"
	"plimsoll/run/sharedhost"
	"plimsoll/target/external"
	"plimsoll/target/lab"
)

// HostCores are the cores of this host that generator and target have; none where they are not
// placed.
type HostCores struct {
	Generator, Target []int
	// OwnHost says that the target is started on this host, and Fixed that the plan names the
	// generator's cores.
	OwnHost, Fixed bool
	// Elsewhere says that the users are on other hosts.
	Elsewhere bool
}

// CoresFor places generator and target of a plan on this host.
func CoresFor(r *Resolver, p *plan.Plan) HostCores {
	cores := sharedhost.CoresOf(p, p.Target.OwnHost() || r.besides(p))
	return HostCores{
		Generator: cores.Generator,
		Target:    cores.Target,
		OwnHost:   p.Target.OwnHost(),
		Fixed:     len(p.Placement.Generator) > 0,
	}
}

// besides reports whether servers of others are on this host: those of the plan's target and arms
// that are yet to be installed, or whose processes are seen.
func (e *Resolver) besides(p *plan.Plan) bool {
	if p.Target.OwnHost() || p.Placement.Agents != nil {
		return false
	}
	urls := slices.Clone(p.Target.URL)
	if p.Compare != nil {
		for _, a := range p.Compare.Arms {
			urls = append(urls, a.URL...)
		}
	}
	t, err := e.Resolve(plan.Target{URL: urls}, plan.Workload{})
	return err == nil && sharedhost.Serves(t.URL, len(p.Target.Install) > 0)
}

// Pin keeps this process on the generator's cores, if it has any.
func (c HostCores) Pin() error {
	if len(c.Generator) == 0 {
		return nil
	}
	return lab.PinSelf(c.Generator)
}

// Shared reports whether a system is on this host, with the generator.
func (c HostCores) Shared(sys *System) bool {
	return c.OwnHost || sys.Local.Here() && !c.Elsewhere
}

// Of returns the cores of a system on this host that are not the generator's; nil where it may use
// all.
func (c HostCores) Of(sys *System) []int {
	if c.OwnHost || sys.Local.Apart() {
		return c.Target
	}
	return nil
}

// ByRole returns the cores of the roles that have cores of their own on this host.
func (c HostCores) ByRole(sys *System) map[string][]int {
	cores := map[string][]int{}
	if len(c.Generator) > 0 {
		cores["generator"] = c.Generator
	}
	if targets := c.Of(sys); len(targets) > 0 { // a target elsewhere has none here
		cores["target"] = targets
	}
	return cores
}

// hereFact is the fact of a description that names the processes of the target on this host.
const hereFact = "processes here"

// Locate finds the processes of a target of others on this host, and keeps them off the generator's
// cores unless the plan places the generator itself. It is called before each run, because a reset
// may have restarted the target.
func (c HostCores) Locate(ctx context.Context, sys *System, inTurns bool, to Progress) error {
	site, ok := sys.Deployment.(*external.Site)
	if !ok {
		return nil
	}
	named, err := sys.Named(ctx)
	if err != nil {
		return err
	}
	local := cmp.Or(sys.Local, new(sharedhost.Resident))
	sys.InTurns = inTurns
	clues := sharedhost.Clues{URLs: site.URLs(), URL: site.URL(), Ready: sys.Ready, Named: named}
	here, err := local.Find(ctx, clues)
	if err != nil || !here {
		return err
	}
	sys.Local = local
	var cores sharedhost.Cores // of users elsewhere, none here
	if !c.Elsewhere {
		cores = sharedhost.Cores{Generator: c.Generator, Target: c.Target}
	}
	if len(cores.Generator) > 0 {
		local.Confine(cores, !c.Fixed)
	}
	if text := local.Placement(cores); text != sys.Placement {
		sys.Placement = text
		to.Say("%s", text)
	}
	site.Note(hereFact, local.String())
	return nil
}

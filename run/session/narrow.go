package session

import (
	"cmp"
	"maps"
	"slices"

	"plimsoll/plan"
)

// Narrow checks that the plan has the tests of a part, picks the part's engine and arm, and fills
// in the rules that the plan leaves to the program. users, unless 0, replaces those of the bounded
// test.
func (pr *Program) Narrow(p *plan.Plan, pt *RunPart, users int) (*plan.Plan, error) {
	p = pr.Dialects.WithDefaultRules(p)
	switch {
	case pt.Bounded && p.Bounded == nil:
		return nil, plan.Usagef(
			"the plan has no bounded test; add a bounded section, or use capacity",
		)
	case pt.Unbounded && p.Unbounded == nil:
		return nil, plan.Usagef(
			"the plan has no unbounded test; add an unbounded section, or use run",
		)
	}
	if p.Compare != nil && pt.Arm == "" {
		pt.Arm = plan.Base
	}
	asked := pt.Engine
	pt.Engine = p.EngineOf(pt.Arm, asked)
	if asked != "" && asked != pt.Engine {
		return nil, plan.Usagef(
			"-database %s: the arm %s has a database of its own, %s",
			asked,
			pt.Arm,
			pt.Engine,
		)
	}
	if pt.Arm != "" {
		if p.Compare == nil {
			return nil, plan.Usagef("-arm %s: the plan compares no arms", pt.Arm)
		}
		if _, ok := p.Compare.Arm(pt.Arm); !ok {
			return nil, plan.Usagef("-arm %s: the plan has no such arm", pt.Arm)
		}
	}
	q := *p
	if users > 0 && pt.Bounded {
		b := *p.Bounded
		b.Users = plan.PerEngine{"": users}
		q.Bounded = &b
	}
	if users < 0 {
		return nil, plan.Usagef("-users: want a number above 0")
	}
	if pt.Unbounded && users > p.Unbounded.MaxUsers {
		return nil, plan.Usagef(
			"-users %d: the search would start above unbounded.max_users, which is %d; start lower, or raise that in the plan",
			users,
			p.Unbounded.MaxUsers,
		)
	}
	if pt.Engine != "" {
		found := false
		for _, e := range p.Engines() {
			found = found || e == pt.Engine
		}
		if !found {
			return nil, plan.Usagef("-database %s: the plan has %v", pt.Engine, p.Engines())
		}
	}
	return &q, nil
}

// UpFor returns the test for whose users a system is made that stands by itself: the bounded one,
// or the search, or else the highest step of a ladder. A plan that only names its target is given
// one user of its kind of server.
func (pr *Program) UpFor(p *plan.Plan) (*plan.Plan, RunPart) {
	p = p.WithoutAgents()
	switch {
	case p.Bounded.AutoUsers():
		p = p.WithUsers(plan.PerEngine{"": FirstAccounts})
	case p.Bounded != nil || p.Unbounded != nil:
	case p.Sizing != nil: // it has steps
		p = p.AtStep(slices.Max(p.Sizing.Steps))
	default:
		alone := *p
		alone.Bounded = &plan.Bounded{Users: plan.PerEngine{"": 1}}
		p = &alone
	}
	if p.Workload.Behavior == "" {
		speaks := cmp.Or(pr.Dialects.OfDriver(p.Target.Driver), pr.Dialects[0])
		alone := *p
		alone.Workload.Behavior = slices.Min(slices.Collect(maps.Keys(speaks.Behaviors)))
		p = &alone
	}
	return p, RunPart{Bounded: p.Bounded != nil, Unbounded: p.Bounded == nil}
}

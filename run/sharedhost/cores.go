package sharedhost

import (
	"slices"

	"plimsoll/plan"
	"plimsoll/target/lab"
)

// Cores holds the cores of this host for the generator and for the target. Without cores, a side is
// not placed.
type Cores struct{ Generator, Target []int }

// CoresOf returns the cores of both sides: the plan's, and for a side that it does not name, the
// cores that are left. For a plan that names none, the generator has the last core of a host of two
// or more, and the target the others, if the target is on this host (here).
func CoresOf(p *plan.Plan, here bool) Cores {
	named := Cores{Generator: p.Placement.Generator, Target: p.Placement.Target}
	if len(named.Generator) > 0 && len(named.Target) > 0 || !here {
		return named
	}
	cpus, err := lab.AllowedCPUs(0)
	if err != nil {
		return named
	}
	return named.complete(cpus)
}

// complete gives a side without cores what the other leaves of cpus. A child without cores of its
// own would inherit the generator's.
func (c Cores) complete(cpus []int) Cores {
	without := func(taken []int) []int {
		return slices.DeleteFunc(slices.Clone(cpus),
			func(cpu int) bool { return slices.Contains(taken, cpu) })
	}
	switch {
	case len(c.Generator) > 0:
		c.Target = without(c.Generator)
	case len(c.Target) > 0:
		c.Generator = without(c.Target)
	case len(cpus) >= 2:
		c.Generator, c.Target = cpus[len(cpus)-1:], cpus[:len(cpus)-1]
	}
	return c
}

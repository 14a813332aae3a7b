package users

import (
	"plimsoll/load/wire"
	"plimsoll/plan"
	"plimsoll/watch/probe"
)

// The byte budget of the users of a run, unless its plan states one: an eighth of the memory.
// Garbage of the answers takes as much again, and the users, their series and, on one host, the
// target need the rest.
const (
	memoryShare   = 8
	leastMemory   = 8 << 20
	defaultMemory = wire.DefaultBudget
)

// SetBudget gives this process the byte budget that all users of a plan have for answers and
// messages under way, and returns it.
func SetBudget(p *plan.Plan) (int64, error) {
	memory, err := probe.Memory()
	if err != nil {
		memory = defaultMemory * memoryShare // an unknown host is a usual one
	}
	budget := budgetOf(p, memory)
	if err == nil && budget > memory {
		return 0, plan.Usagef(
			"placement.memory: %s is more than the %s of this host or its control "+
				"group; want less",
			p.Placement.Memory,
			plan.Memory(memory),
		)
	}
	wire.Process().SetLimit(budget)
	return budget, nil
}

// budgetOf returns the byte budget of all users of a plan, where this process may have memory
// bytes.
func budgetOf(p *plan.Plan, memory int64) int64 {
	if m := p.Placement.Memory; m > 0 {
		return int64(m)
	}
	return min(max(memory/memoryShare, leastMemory), defaultMemory)
}

// budgetOfPart returns the budget of a process with a share of the users.
func budgetOfPart(budget int64, share float64) int64 { return max(int64(float64(budget)*share), 1) }

package comparison

import (
	"slices"

	"plimsoll/plan"
)

// ArmNames returns the names of a plan's arms, base first, the others as in the file.
func ArmNames(p *plan.Plan) []string {
	out := []string{plan.Base}
	for _, a := range p.Compare.Arms {
		if a.Name != plan.Base {
			out = append(out, a.Name)
		}
	}
	return out
}

// Engines returns the database engines that every arm runs on, or one empty name when the database
// is not ours, or is a matter of the arm ([plan.Plan.EngineOf]).
func Engines(p *plan.Plan) []string {
	if len(p.Database.Engine) == 0 || p.OwnDatabases() {
		return []string{""}
	}
	return slices.Clone(p.Database.Engine)
}

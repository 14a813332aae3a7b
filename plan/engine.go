package plan

import "slices"

// OwnDatabases reports whether any arm names its own database. Then the arms are compared across
// engines, and there is no matrix of arms and engines.
func (p *Plan) OwnDatabases() bool {
	return p.anyArm(func(a Arm) bool { return a.Database != "" })
}

// EngineOf returns the engine of an arm: its own, or else the matrix' one, or else the only one of
// the plan.
func (p *Plan) EngineOf(arm, matrix string) string {
	if p.Compare != nil {
		if a, ok := p.Compare.Arm(arm); ok && a.Database != "" {
			return a.Database
		}
	}
	if matrix == "" && len(p.Database.Engine) > 0 {
		return p.Database.Engine[0]
	}
	return matrix
}

// Engines returns all engines that the plan runs on: its own list, then the engines that only arms
// have.
func (p *Plan) Engines() []string {
	all := slices.Clone(p.Database.Engine)
	for _, a := range p.arms() {
		if a.Database != "" && !slices.Contains(all, a.Database) {
			all = append(all, a.Database)
		}
	}
	return all
}

// checkArmDatabases reports errors of the arms' own databases.
func (d *decoder) checkArmDatabases(p *Plan) {
	if !p.OwnDatabases() || !d.good("compare.arms", "database.engine") {
		return
	}
	for _, a := range p.Compare.Arms {
		if a.Database == "" && len(p.Database.Engine) == 0 {
			d.at("compare.arms."+a.Name,
				"has no database, and others have one of their own; give it one, or all the "+
					"rest by database.engine")
		}
	}
	if len(p.Database.Engine) > 1 {
		d.at("database.engine",
			"has %d engines, and arms have databases of their own; name one, for the arms "+
				"that have none", len(p.Database.Engine))
	}
}

package report

import (
	"slices"
	"strings"

	"plimsoll/plan"
)

// ownDatabases reports whether the plan's arms have databases of their own; then the one engine of the comparison has
// no name.
func (b *builder) ownDatabases() bool { return b.in.Plan != nil && b.in.Plan.OwnDatabases() }

// armDatabase names the database of an arm that has its own, with its durability.
func (b *builder) armDatabase(arm plan.Arm) string {
	if !b.ownDatabases() {
		return ""
	}
	key := ""
	if len(b.c.Engines) > 0 {
		key = b.c.Engines[0]
	}
	db := b.described(key, arm.Name).Database
	if db == nil {
		return b.in.Plan.EngineOf(arm.Name, "")
	}
	text := db.Full()
	if settings := durabilityOf(db.Settings); len(settings) > 0 {
		text += " (" + strings.Join(settings, ", ") + ")"
	}
	return text
}

// armDatabases lists the servers of arms with their own, each once, without their settings.
func (b *builder) armDatabases() (out []string) {
	if !b.ownDatabases() {
		return nil
	}
	key := strings.Join(b.c.Engines[:min(len(b.c.Engines), 1)], "")
	for _, arm := range b.c.Arms {
		name, _, _ := strings.Cut(b.armDatabase(plan.Arm{Name: arm}), " (")
		if text := "1 x " + name + b.replicasText(key, arm); name != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

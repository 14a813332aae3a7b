package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/target"
)

// ownDatabases reports whether the plan's arms have their own databases; then the one engine of the
// comparison has no name.
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
	return db.Full() + inParens(strings.Join(durabilityOf(db.Settings), ", "))
}

// armDatabases lists the servers of arms with their own, each once, without their settings.
func (b *builder) armDatabases() (out []string) {
	if !b.ownDatabases() {
		return nil
	}
	key := strings.Join(b.c.Engines[:min(len(b.c.Engines), 1)], "")
	for _, arm := range b.c.Arms {
		name, _, _ := strings.Cut(b.armDatabase(plan.Arm{Name: arm}), " (")
		if text := "1 x " + name + b.replicasText(key, arm); name != "" &&
			!slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// companionsText names the server that played each other store; empty if there is none.
func (b *builder) companionsText() string {
	engine := ""
	if len(b.Engines) > 0 {
		engine = b.Engines[0].Key
	}
	all := b.described(engine, "").Companions
	var parts []string
	for _, role := range slices.Sorted(maps.Keys(all)) {
		if role == "proxy" ||
			strings.HasPrefix(role, target.ReplicaPrefix) { // no other stores; each has its row
			continue
		}
		c := all[role]
		var settings []string
		for _, k := range slices.Sorted(maps.Keys(c.Settings)) {
			if c.Settings[k] != "" {
				settings = append(settings, k+"="+c.Settings[k])
			}
		}
		parts = append(parts, role+": "+c.Full()+inParens(strings.Join(settings, ", ")))
	}
	return strings.Join(parts, "; ")
}

// replicasText names the copies of an arm's database on an engine that ran, or with an empty arm
// the first run's; empty without any.
func (b *builder) replicasText(engine, arm string) string {
	d := b.described(engine, arm)
	what := textsOf(d.Replicas(), func(name string) string { return d.Companions[name].Full() })
	if len(what) == 0 {
		return ""
	}
	slices.Sort(what)
	return fmt.Sprintf(" with %s (%s)", count(len(what), "replica", "replicas"),
		strings.Join(slices.Compact(what), ", "))
}

// durability lists the settings that decide the cost of a commit.
var durability = []string{"fsync", "synchronous_commit", "full_page_writes",
	"innodb_flush_log_at_trx_commit",
	"innodb_doublewrite", "sync_binlog", "log_bin"}

// durabilityOf lists them, and the values that a database or a role sets for itself, which win over
// the server's.
func durabilityOf(settings map[string]string) (out []string) {
	all := slices.Sorted(maps.Keys(settings))
	for _, name := range durability {
		for _, key := range all {
			if key == name || strings.HasPrefix(key, name+" of ") {
				out = append(out, key+"="+settings[key])
			}
		}
	}
	return out
}

// databaseText names a database server with its version and durability.
func (b *builder) databaseText(e Engine) string {
	text := e.Full
	db := b.described(e.Key, "").Database
	if db == nil {
		return text
	}
	if db.Version != "" && !strings.Contains(text, db.Version) {
		text += " (" + db.Full() + ")"
	}
	if settings := durabilityOf(db.Settings); len(settings) > 0 {
		text += "; " + strings.Join(settings, ", ")
	}
	return text
}

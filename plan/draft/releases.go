package draft

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"plimsoll/plan"
)

// Versus are the facts of a comparison of two servers that take turns.
type Versus struct {
	// Driver deploys both, with Args. It is empty for servers that are up at addresses of their own.
	Driver string
	Args   []string
	// Databases are the engines of the databases that each of them gets; none for servers at addresses.
	Databases []string
	// Behavior is that of nine in ten users, With that of the others.
	Behavior, With string
	// Users is their number; 0 leaves it to a pilot, which servers at addresses do not have.
	Users    int
	Old, New Contender
}

// A Contender is one of the servers of a [Versus].
type Contender struct {
	// Given is its name on the command line; empty for a plan that was made otherwise.
	Given string
	// Binary is its program, or the directory of its release. URL is its address instead.
	Binary, URL string
	// Version names it in reports; empty for the version that it reports.
	Version string
}

// elsewhereUsers are those of two servers elsewhere, whose CPU nobody reads: as many as any server carries.
const elsewhereUsers = 30

// versus returns the facts of a comparison.
func (f Facts) versus() Versus {
	v := Versus{Behavior: f.Behavior, With: f.With, Users: f.Users}
	if f.URL != "" {
		v.Old.URL, v.New.URL = f.URL, f.Other
		return v
	}
	v.Driver, v.Databases = f.Driver, f.Engines
	v.Old.Binary, v.New.Binary = f.Release, f.Other
	return v
}

// YAML returns the plan.
func (v Versus) YAML() string {
	head := ""
	if v.Old.Given != "" {
		head = "# plimsoll compare " + clean(v.Old.Given+" "+v.New.Given) + "\n"
	}
	mode := ""
	target := line{"target: {driver: " + v.Driver + "}",
		"env: {NAME: value} is for settings of your own, here or in an arm"}
	switch {
	case v.Driver == "":
		mode = "\n  mode: " + plan.ModeDuet
		target = line{"target: {driver: " + plan.External + "}",
			"servers that are up already; nobody pauses them"}
	case len(v.Args) > 0:
		target = line{"target: {driver: " + v.Driver + ", args: " + list(v.Args) + "}", ""}
	}
	return head + block(line{"name: " + v.name(), ""}) + block(target) +
		database(v.Databases, "each server has one of its own") + v.load() +
		block(line{"compare:" + mode, ""}, line{"  arms:", ""},
			line{"    base: {" + v.Old.arm() + "}", ""}, line{"    new: {" + v.New.arm() + "}", ""})
}

// load returns the sections of the users. Those of servers elsewhere are fast enough for a minute to
// have operations.
func (v Versus) load() string {
	users := v.Users
	pace := ""
	if v.Driver == "" {
		pace = ", pace: 0.1"
		users = cmp.Or(users, elsewhereUsers)
	}
	bounded := line{fmt.Sprintf("bounded: {users: %d, ramp: 5s, settle: 10s, measure: auto}", users),
		"a number that both carry"}
	if users == 0 {
		bounded = line{"bounded: {users: auto, measure: auto}",
			"a pilot finds the users that keep the target 40 to 50 % busy"}
	}
	workload := fmt.Sprintf("workload: {behavior: %s, share: 90%%, with: {%s: 10%%}%s}",
		v.Behavior, v.With, pace)
	return block(line{workload, ""}) + block(bounded)
}

// arm returns the keys of an arm.
func (c Contender) arm() string {
	key, value := "binary", c.Binary
	if c.URL != "" {
		key, value = "url", c.URL
	}
	text := key + ": " + scalar(value)
	if c.Version != "" {
		text += ", version: " + scalar(c.Version)
	}
	return text
}

// list returns a list of texts.
func list(texts []string) string {
	var all []string
	for _, text := range texts {
		all = append(all, scalar(text))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// name returns the name of the plan, of at most 64 characters: the last part of both names, or both names where that is
// the same.
func (v Versus) name() string {
	base, fresh := v.Old.name(), v.New.name()
	if path.Base(base) != path.Base(fresh) {
		base, fresh = path.Base(base), path.Base(fresh)
	}
	return label(base, 30, "server") + "-vs-" + label(fresh, 30, "server")
}

func (c Contender) name() string { return cmp.Or(c.Version, c.Binary, c.URL) }

package draft

import (
	"cmp"
	"fmt"
	"path"

	"plimsoll/plan"
)

// Versus are the facts of a comparison of two servers that take turns.
type Versus struct {
	// Driver deploys both, with Args. It is empty for servers that are already up at their own
	// addresses.
	Driver string
	Args   []string
	// Databases are the engines of the databases that each of them gets; none for servers at
	// addresses.
	Databases []string
	// Behavior is the behavior of nine in ten users, With of the others.
	Behavior, With string
	// Script is the path of a script that all users follow instead.
	Script string
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

// elsewhereUsers is the number of users of two servers elsewhere, whose CPU is not read: any
// server carries as many.
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

// versusText is the plan of two servers.
const versusText = `$COMMANDname: $NAME
target: {driver: $TARGET
$DATABASEworkload: {$FOLLOW$PACE}
bounded: {users: $BOUNDED
compare:
$MODE  arms:
    base: {$OLD}
    new: {$NEW}
`

// YAML returns the plan. The users of servers elsewhere are fast enough for a minute to have
// operations.
func (v Versus) YAML() string {
	command := ""
	database := ""
	pace := ""
	mode := ""
	follow := fmt.Sprintf("behavior: %s, share: 90%%, with: {%s: 10%%}", v.Behavior, v.With)
	if v.Script != "" {
		follow = "script: " + scalar(v.Script)
	}
	target := v.Driver + "}   # env: {NAME: value} is for settings of your own, here or in an arm"
	switch {
	case v.Driver == "":
		v.Users = cmp.Or(v.Users, elsewhereUsers)
		target = plan.External + "}   # servers that are up already; nobody pauses them"
		pace = ", pace: 0.1"
		mode = "  mode: " + plan.ModeDuet + "\n"
	case v.Driver == plan.Process:
		target = v.Driver + `, env: {PORT: "${PORT}"}}   # the program listens on the port that PORT names` + "\n" +
			"# target.ready names a page that shows that it is up; else any answer does, and no database is started"
	case len(v.Args) > 0:
		target = v.Driver + ", args: " + list(v.Args) + "}"
	}
	if v.Old.Given != "" {
		command = "# plimsoll compare " + clean(v.Old.Given+" "+v.New.Given) + "\n"
	}
	if len(v.Databases) > 0 {
		database = "database: {engine: " + list(v.Databases) + "}   # each server has one of its own\n"
	}
	bounded := "auto, measure: auto}   # a pilot finds the users that keep the target 40 to 50 % busy"
	if v.Users > 0 {
		bounded = fmt.Sprintf(
			"%d, ramp: 5s, settle: 10s, measure: auto}   # a number that both carry",
			v.Users,
		)
	}
	return fill(
		versusText,
		"COMMAND",
		command,
		"NAME",
		v.name(),
		"TARGET",
		target,
		"DATABASE",
		database,
		"FOLLOW",
		follow,
		"PACE",
		pace,
		"BOUNDED",
		bounded,
		"MODE",
		mode,
		"OLD",
		v.Old.arm(),
		"NEW",
		v.New.arm(),
	)
}

// arm returns the keys of an arm.
func (c Contender) arm() string {
	text := "binary: " + scalar(c.Binary)
	if c.URL != "" {
		text = "url: " + scalar(c.URL)
	}
	if c.Version != "" {
		text += ", version: " + scalar(c.Version)
	}
	return text
}

// name returns the name of the plan, of at most 64 characters: the last part of both names, or both
// names where that is the same.
func (v Versus) name() string {
	base, fresh := v.Old.name(), v.New.name()
	if path.Base(base) != path.Base(fresh) {
		base, fresh = path.Base(base), path.Base(fresh)
	}
	return label(base, 30, "server") + "-vs-" + label(fresh, 30, "server")
}

func (c Contender) name() string { return cmp.Or(c.Version, c.Binary, c.URL) }

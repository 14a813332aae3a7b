package draft

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
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
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if v.Old.Given != "" {
		add("# plimsoll compare %s %s", comment(v.Old.Given), comment(v.New.Given))
	}
	add("name: %s", v.name())
	switch {
	case v.Driver == "":
		add("target: {driver: external}   # servers that are up already; nobody pauses them")
	case len(v.Args) > 0:
		add("target: {driver: %s, args: %s}", v.Driver, list(v.Args))
	default:
		add("target: {driver: %s}   # env: {NAME: value} is for settings of your own, here or in an arm", v.Driver)
	}
	if len(v.Databases) > 0 {
		add("database: {engine: [%s]}   # each server has one of its own", strings.Join(v.Databases, ", "))
	}
	b.WriteString(v.load())
	mode := ""
	if v.Driver == "" {
		mode = "\n  mode: duet"
	}
	add("compare:%s\n  arms:\n    base: {%s}\n    new: {%s}", mode, v.Old.arm(), v.New.arm())
	return b.String()
}

// load returns the sections of the users. Those of servers elsewhere are fast enough for a minute to have operations.
func (v Versus) load() string {
	users, times, pace := v.Users, ", ramp: 5s, settle: 10s", ""
	why := "   # a number that both carry"
	switch {
	case v.Driver == "":
		users, pace = cmp.Or(users, elsewhereUsers), ", pace: 0.1"
	case users == 0:
		times, why = "", "   # a pilot finds the users that keep the target 40 to 50 % busy"
	}
	number := "auto"
	if users > 0 {
		number = strconv.Itoa(users)
	}
	return fmt.Sprintf("workload: {behavior: %s, share: 90%%, with: {%s: 10%%}%s}\nbounded: {users: %s%s, measure: auto}%s\n",
		v.Behavior, v.With, pace, number, times, why)
}

// arm returns the keys of an arm.
func (c Contender) arm() string {
	key, value := "binary", c.Binary
	if c.URL != "" {
		key, value = "url", c.URL
	}
	text := key + ": " + strconv.Quote(value)
	if c.Version != "" {
		text += ", version: " + strconv.Quote(c.Version)
	}
	return text
}

// list returns a list of strings.
func list(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = strconv.Quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// comment returns a text that ends no line of a comment.
func comment(s string) string { return strings.Trim(strconv.Quote(s), `"`) }

var noName = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// name returns the name of the plan, of at most 64 characters: the last part of both names, or both names where that is
// the same.
func (v Versus) name() string {
	base, fresh := v.Old.name(), v.New.name()
	if path.Base(base) != path.Base(fresh) {
		base, fresh = path.Base(base), path.Base(fresh)
	}
	return short(base) + "-vs-" + short(fresh)
}

func (c Contender) name() string { return cmp.Or(c.Version, c.Binary, c.URL) }

// short returns at most 30 characters from the end of a name, of those that a plan's name may have.
func short(given string) string {
	given = strings.Trim(noName.ReplaceAllString(given, "-"), "-.")
	if len(given) > 30 {
		given = strings.Trim(given[len(given)-30:], "-.")
	}
	if given == "" {
		return "server"
	}
	return given
}

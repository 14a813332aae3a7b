package draft

import (
	"cmp"
	"path"
)

// Versus are the facts of a comparison of two servers that take turns.
type Versus struct {
	// Driver deploys both, with Args. It is empty for servers that are up at addresses of their own.
	Driver string
	Args   []string
	// Databases are the engines of the databases that each of them gets; none for servers at
	// addresses.
	Databases []string
	// Behavior is the behavior of nine in ten users, With of the others.
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

// YAML returns the plan. The users of servers elsewhere are fast enough for a minute to have
// operations.
func (v Versus) YAML() string {
	if v.Driver == "" {
		v.Users = cmp.Or(v.Users, elsewhereUsers)
	}
	return render("versus", v)
}

// Name returns the name of the plan, of at most 64 characters: the last part of both names, or both
// names where that is the same.
func (v Versus) Name() string {
	base, fresh := v.Old.name(), v.New.name()
	if path.Base(base) != path.Base(fresh) {
		base, fresh = path.Base(base), path.Base(fresh)
	}
	return label(base, 30, "server") + "-vs-" + label(fresh, 30, "server")
}

func (c Contender) name() string { return cmp.Or(c.Version, c.Binary, c.URL) }

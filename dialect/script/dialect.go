// Package script lets users of any server follow a script: it is the dialect of the behavior
// script, and makes of a plan that names a file one that holds it. What scripts can do is in package
// load/script, and how a file becomes a program in load/script/bundle.
package script

import (
	"plimsoll/dialect"
	"plimsoll/load/script"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// Dialect has the behavior script, which goes with every server.
var Dialect = &dialect.Dialect{
	Name:  "script",
	Title: "any server",
	Any:   true,
	Behaviors: dialect.Registry{
		plan.Script: func() workload.Behavior { return script.New() },
	},
}

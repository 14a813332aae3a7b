package main

import (
	"plimsoll/plan"
)

// known are the names that plans may use with this program.
func known() plan.Known {
	k := dialects.Known()
	k.Refused = refused
	return k
}

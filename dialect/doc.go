// Package dialect holds Plimsoll's knowledge of particular servers.
//
// A dialect, a subpackage such as dialect/mattermost, holds an API client that records one op per
// call, and the behaviors of simulated users built on it. It exports one value, a [Dialect]:
// behaviors, drivers and settings, and the metrics that rules, graphs and indicators can read of
// its servers. The program collects these values in a [Set]. Everything else in Plimsoll uses that
// set and names no server.
//
// To add a dialect, write its subpackage, add its value to the set of the program, and its drivers
// to the registry there.
//
// A dialect keeps these rules: each failure ends in exactly one measure.Class, and timeout wins
// over the phase; a success counts only if the answer shows the effect; chance comes from the
// user's streams alone; secrets reach no error.
package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/load/workload"
)

// A Registry makes behaviors by name. A behavior keeps the results of provisioning, so each test
// gets its own.
type Registry map[string]func() workload.Behavior

// New returns a fresh behavior, or an error that lists the names there are.
func (r Registry) New(name string) (workload.Behavior, error) {
	if mk := r[name]; mk != nil {
		return mk(), nil
	}
	return nil, fmt.Errorf("behavior %q is unknown; there are %s", name,
		strings.Join(slices.Sorted(maps.Keys(r)), ", "))
}

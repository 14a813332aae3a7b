// Package dialect is the place of what Plimsoll knows about particular servers.
//
// A dialect, a subpackage such as dialect/mattermost, holds an API client that records one op per call, and the
// behaviors of simulated users built on it. Everything else in Plimsoll takes behaviors by name from a [Registry],
// which the program fills, and knows no server by name.
//
// What a dialect must keep to: each failure ends in exactly one measure.Class, and timeout wins over the phase; a success
// counts only if the answer shows the effect; chance comes from the user's streams alone; secrets reach no error.
package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/workload"
)

// A Registry makes behaviors by name. A behavior keeps what provisioning found out, so each test gets its own.
type Registry map[string]func() workload.Behavior

// New returns a fresh behavior, or an error that lists the names there are.
func (r Registry) New(name string) (workload.Behavior, error) {
	if mk := r[name]; mk != nil {
		return mk(), nil
	}
	return nil, fmt.Errorf("behavior %q is unknown; there are %s", name, strings.Join(slices.Sorted(maps.Keys(r)), ", "))
}

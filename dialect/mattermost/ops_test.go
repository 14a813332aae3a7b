package mattermost

import (
	"slices"
	"testing"

	"plimsoll/measure"
	"plimsoll/workload"
)

// What a margin may name beside the steady state is what users record there, and nothing of the steady state.
func TestApartAreTheSeriesOfLoginsAndStorms(t *testing.T) {
	apart := Apart()
	for _, name := range apart {
		if workload.Steady(name) || slices.Contains(Ops(), name) {
			t.Errorf("%s is an operation of the steady state", name)
		}
	}
	reg := measure.NewRegistry(1)
	for _, prefix := range []string{workload.Login, workload.StormPrefix + "reconnect", workload.StormPrefix + "login"} {
		for o, n := range NewTable(reg, prefix).names {
			if name := seriesOf(op(o), prefix); n != reg.Name(name) || !slices.Contains(apart, name) {
				t.Errorf("%s of %s is not recorded under its name, or is missing", name, prefix)
			}
		}
	}
	for _, want := range []string{"login", "login_websocket", "storm_login_login", "storm_reconnect_websocket", "storm_mention_post"} {
		if !slices.Contains(apart, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

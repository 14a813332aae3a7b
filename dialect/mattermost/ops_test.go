package mattermost

import (
	"slices"
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// A margin may name exactly the series that users record beside the steady state, and none of the
// steady state.
func TestApartAreTheSeriesOfLoginsAndStorms(t *testing.T) {
	apart := Apart()
	for _, name := range apart {
		if workload.Steady(name) || slices.Contains(api.Ops(), name) {
			t.Errorf("%s is an operation of the steady state", name)
		}
	}
	for _, prefix := range []string{workload.Login, workload.StormPrefix + "reconnect",
		workload.StormPrefix + "login"} {
		for _, name := range api.SeriesOf(prefix) {
			if !slices.Contains(apart, name) {
				t.Errorf("%s of %s is missing", name, prefix)
			}
		}
	}
	for _, want := range []string{"login", "login_websocket", "storm_login_login",
		"storm_reconnect_websocket", "storm_mention_post"} {
		if !slices.Contains(apart, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

package report

import (
	"slices"
	"testing"

	"plimsoll/load/workload"
)

// TestWarningsNameMessagesThatNobodyCanLookForAndUsersWhoAchieveNothing: a distance of 0 points would say that they
// did as asked.
func TestWarningsNameMessagesThatNobodyCanLookForAndUsersWhoAchieveNothing(t *testing.T) {
	u := UsersOf{Messages: workload.LedgerCount{Acked: 9, Unnamed: 2, Repeated: 1}, Mixes: []workload.Mix{{Behavior: "reader", Failed: 3, Flagged: true}}}
	got := userWarnings([]UsersOf{u}, func(UsersOf) string { return "" })
	want := []string{
		"nobody can look for some messages that were accepted: 2 without an identifier, 1 under that of another message",
		"users of behavior reader succeeded in nothing that they tried",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

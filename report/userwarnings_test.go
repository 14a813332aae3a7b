package report

import (
	"reflect"
	"slices"
	"testing"

	"plimsoll/load/workload"
)

// TestWarningsNameMessagesThatNobodyCanLookForAndUsersWhoAchieveNothing: a distance of 0 points
// would say that they did as asked.
func TestWarningsNameMessagesThatNobodyCanLookForAndUsersWhoAchieveNothing(t *testing.T) {
	u := UsersOf{
		Messages: workload.LedgerCount{Acked: 9, Unnamed: 2, Repeated: 1},
		Mixes:    []workload.Mix{{Behavior: "reader", Failed: 3, Flagged: true}},
	}
	got := userNotices([]UsersOf{u}, func(UsersOf) string { return "" })
	want := []notice{
		{
			cause: causeDelivery,
			text:  "nobody can look for some messages that were accepted: 2 without an identifier, 1 under that of another message",
		},
		{
			cause:   causeMix,
			text:    "users of behavior reader succeeded in nothing that they tried",
			changes: true,
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// TestArmsWithDifferentMixesAreOnTheFirstScreen has an action that one release lacks and one that
// both lack.
func TestArmsWithDifferentMixesAreOnTheFirstScreen(t *testing.T) {
	of := func(arm string, absent ...string) UsersOf {
		m := workload.Mix{Behavior: "person"}
		for _, name := range []string{"post", "search_all", "bookmark"} {
			a := workload.MixAction{ActionCount: workload.ActionCount{Name: name}}
			if slices.Contains(absent, name) {
				a.Absent = "needs version 10.5"
			}
			m.Actions = append(m.Actions, a)
		}
		return UsersOf{Engine: "postgresql", Arm: arm, Mixes: []workload.Mix{m}}
	}
	const want = "the arms did different mixes: postgresql, new cannot search_all (needs version 10.5), and its users did the other actions more often"
	d := Document{Arms: []ArmLabel{{Name: "base", Label: "base"}, {Name: "new", Label: "new"}}}
	d.Users = []UsersOf{of("base", "bookmark"), of("new", "search_all", "bookmark")}
	if got := d.mixWarnings(); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q", got)
	}
	d.Users = []UsersOf{of("base", "bookmark"), of("new", "bookmark")}
	if got := d.mixWarnings(); len(got) > 0 {
		t.Errorf("equal mixes: %q", got)
	}
	if rank, _ := (WarningGroup{Cause: causeUnlike}).of(); rank < 0 || rank >= mostFront {
		t.Errorf("the cause is at place %d of those that the first screen shows", rank)
	}
}

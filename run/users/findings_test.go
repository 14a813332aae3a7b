package users

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/load/fleet"
	"plimsoll/record"
)

// TestUntimely: a delivery before its sending voids the run; the finding names both hosts and the
// time.
func TestUntimely(t *testing.T) {
	one := fleet.Untimely{From: "agent 1 of 2 (a)", To: "agent 2 of 2 (b)", Count: 12,
		By: 7 * time.Millisecond, Within: 1500 * time.Microsecond}
	for _, tt := range []struct {
		list []fleet.Untimely
		want int
	}{
		{nil, 0},
		{[]fleet.Untimely{one}, 1},
		{slices.Repeat([]fleet.Untimely{one}, 5), 5},
		{slices.Repeat([]fleet.Untimely{one}, 30), 6},
	} {
		v := record.Validity{Valid: true}
		got := untimely(tt.list)
		for _, f := range got {
			if f.Gate != "clock" || f.Level != record.Red {
				t.Errorf("%+v", f)
			}
			v.Add(f)
		}
		if len(got) != tt.want || v.Valid != (tt.want == 0) {
			t.Errorf(
				"%d pairs: %d findings, want %d; valid: %v",
				len(tt.list),
				len(got),
				tt.want,
				v.Valid,
			)
		}
	}
	f := untimely([]fleet.Untimely{one})[0]
	for _, want := range []string{"12 deliveries from agent 1 of 2 (a) to agent 2 of 2 (b)",
		"by up to 7ms", "off by 1.5ms"} {
		if !strings.Contains(f.Text, want) {
			t.Errorf("%q has no %q", f.Text, want)
		}
	}
	if f.Value != 7 || f.Limit != 1.5 || f.Unit != "ms" {
		t.Errorf("%+v", f)
	}
}

// The finding says which part of the deliveries the latency is of, and the run stays valid.
func TestMeasuredPart(t *testing.T) {
	a := fleet.Apart{Since: 4 * time.Second, Within: 3 * time.Millisecond,
		Median: 20 * time.Millisecond, Same: 100, Left: 300}
	f := measuredPart(a)
	v := record.Validity{Valid: true}
	if v.Add(f); !v.Valid || f.Gate != "clock" || f.Level != record.Amber || f.Value != 3 ||
		f.Limit != 2 {
		t.Errorf("%+v", f)
	}
	for _, want := range []string{"off by 3ms", "(20ms)", "from 4s", "in all 300",
		"100 deliveries within hosts. Losses"} {
		if !strings.Contains(f.Text, want) {
			t.Errorf("%q has no %q", f.Text, want)
		}
	}
	if a.Kept = 7; !strings.Contains(measuredPart(a).Text, "within hosts and 7 between hosts of "+
		"before. Losses") {
		t.Errorf("%q", measuredPart(a).Text)
	}
}

// An agent that stood still while its run was measured voids it, and one that did so before or
// after does not.
func TestStalls(t *testing.T) {
	phases := []record.Phase{{Name: "ramp", To: 10 * time.Second},
		{Name: "measure", From: 10 * time.Second, To: 20 * time.Second}}
	list := []fleet.Stall{
		{Agent: "agent 2 of 2 (b)", At: 15 * time.Second, Lag: 2 * time.Second},
		{Agent: "agent 1 of 2 (a)", At: 12 * time.Second, Lag: time.Second},
		{Agent: "agent 2 of 2 (b)", At: 16 * time.Second, Lag: 3 * time.Second},
		{Agent: "agent 2 of 2 (b)", At: 21 * time.Second, Lag: time.Minute},
	}
	got := stalls(list, phases)
	want := []string{
		"agent 1 of 2 (a) stood still: it was late by up to 1s in 1 ticks of the measured time",
		"agent 2 of 2 (b) stood still: it was late by up to 3s in 2 ticks of the measured time",
	}
	for i, f := range got {
		if f.Gate != "lag" || f.Level != record.Red || i >= len(want) || f.Text != want[i] {
			t.Errorf("%+v", f)
		}
	}
	if len(got) != len(want) || got[1].Value != 3000 {
		t.Errorf("%+v", got)
	}
	if late := stalls(list[3:], phases); late != nil {
		t.Errorf("after the measured time: %+v", late)
	}
}

package users

import (
	"testing"

	"plimsoll/load/wire"
	"plimsoll/plan"
)

// The byte budget is an eighth of the memory within bounds, or the plan's value; processes divide
// it.
func TestTheByteBudgetOfARun(t *testing.T) {
	for _, tt := range []struct {
		stated plan.Memory
		memory int64
		want   int64
	}{
		{0, 1 << 30, 128 << 20},
		{0, 64 << 30, wire.DefaultBudget},
		{0, 16 << 20, 8 << 20},
		{512 << 20, 64 << 30, 512 << 20},
		{8 << 20, 64 << 30, 8 << 20},
	} {
		p := &plan.Plan{Placement: plan.Placement{Memory: tt.stated}}
		if got := budgetOf(p, tt.memory); got != tt.want {
			t.Errorf(
				"%d stated, %d bytes of memory: got %d, want %d",
				int64(tt.stated),
				tt.memory,
				got,
				tt.want,
			)
		}
	}
	if each, least := budgetOfPart(256<<20, 0.25), budgetOfPart(2, 0.25); each != 64<<20 ||
		least != 1 {
		t.Errorf("each of 4 processes has %d, of 2 bytes %d", each, least)
	}
}

package comparison

import (
	"testing"
	"time"

	"plimsoll/record"
)

func TestReach(t *testing.T) {
	looks := []record.Look{{Blocks: 6}, {Blocks: 9}, {Blocks: 12}}
	for _, tt := range []struct {
		k           int
		spent, each time.Duration
		want        int
	}{{0, 6, 1, 2}, {0, 6, 2, 2}, {0, 7, 2, 1}, {0, 16, 2, 0}, {0, 99, 2, 0}, {1, 12, 2, 2}, {2, 18, 2, 2}} {
		if got := Reach(looks, tt.k, tt.spent, tt.each, 18); got != tt.want {
			t.Errorf(
				"from look %d with %d spent and %d a block: %d, want %d",
				tt.k,
				tt.spent,
				tt.each,
				got,
				tt.want,
			)
		}
	}
}

package rig

import (
	"strings"
	"testing"

	"plimsoll/load/wire"
)

func TestClockInTheManifest(t *testing.T) {
	for _, tt := range []struct {
		n          wire.Clocks
		want, none string
	}{
		{wire.Clocks{}, "where it gives them", "of 0"},
		{wire.Clocks{Kernel: 3, Process: 1}, "3 of 4 responses and messages", "was set"},
		{wire.Clocks{Process: 2, Steps: 1}, "0 of 2 responses and messages; the wall clock was set 1 times", "3 of"},
	} {
		if got := clockText(tt.n, false); !strings.Contains(got, tt.want) || strings.Contains(got, tt.none) {
			t.Errorf("%+v: %s", tt.n, got)
		}
	}
}

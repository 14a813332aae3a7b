package rig

import (
	"slices"
	"testing"
)

// A side that the plan does not name gets the remaining cores: without cores of their own, servers would run on the
// generator's.
func TestPlacementCompletesTheOtherSide(t *testing.T) {
	for _, tt := range []struct{ generator, target, cpus, wantGenerator, wantTarget []int }{
		{nil, nil, []int{0, 1}, []int{1}, []int{0}},
		{[]int{1}, nil, []int{0, 1}, []int{1}, []int{0}},
		{nil, []int{0}, []int{0, 1, 2}, []int{1, 2}, []int{0}},
		{[]int{0, 1}, nil, []int{0, 1}, []int{0, 1}, nil},
		{nil, nil, []int{0}, nil, nil},
	} {
		if g, w := sides(tt.generator, tt.target, tt.cpus); !slices.Equal(g, tt.wantGenerator) || !slices.Equal(w, tt.wantTarget) {
			t.Errorf("sides(%v, %v, %v) = %v, %v", tt.generator, tt.target, tt.cpus, g, w)
		}
	}
}

package sharedhost

import (
	"reflect"
	"testing"
)

// A side that the plan does not name gets the remaining cores: without cores of their own, servers
// would run on the generator's.
func TestPlacementCompletesTheOtherSide(t *testing.T) {
	for _, tt := range []struct {
		named Cores
		cpus  []int
		want  Cores
	}{
		{Cores{}, []int{0, 1}, Cores{[]int{1}, []int{0}}},
		{Cores{Generator: []int{1}}, []int{0, 1}, Cores{[]int{1}, []int{0}}},
		{Cores{Target: []int{0}}, []int{0, 1, 2}, Cores{[]int{1, 2}, []int{0}}},
		{Cores{Generator: []int{0, 1}}, []int{0, 1}, Cores{[]int{0, 1}, []int{}}},
		{Cores{}, []int{0}, Cores{}},
	} {
		if got := tt.named.complete(tt.cpus); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v of cores %v: %v, want %v", tt.named, tt.cpus, got, tt.want)
		}
	}
}

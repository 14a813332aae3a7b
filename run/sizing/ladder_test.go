package sizing

import (
	"slices"
	"testing"

	"plimsoll/record"
)

// Steps surround the capacity that a search found, and do not exceed the users that there are.
func TestStepsAround(t *testing.T) {
	for _, tt := range []struct {
		c    record.Capacity
		most int
		want []int
	}{
		{record.Capacity{Kind: record.Estimate, Users: 500}, 5000, []int{50, 200, 400, 500, 750}},
		{record.Capacity{Kind: record.Estimate, Users: 537}, 600, []int{54, 210, 430, 540, 600}},
		{record.Capacity{
			Kind:  record.Estimate,
			Users: 1234,
		}, 1500, []int{120, 490, 990, 1200, 1500}},
		{record.Capacity{Kind: record.AtLeast, Users: 500}, 5000, []int{50, 200, 400, 500}},
		{record.Capacity{Kind: record.Estimate, Users: 3}, 5000, []int{1, 2, 3, 5}},
		{record.Capacity{Kind: record.Estimate, Users: 1}, 5000, []int{1, 2}},
	} {
		if got := stepsAround(tt.c, tt.most); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.c, got, tt.want)
		}
	}
}

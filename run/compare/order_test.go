package compare

import (
	"fmt"
	"slices"
	"testing"
)

func TestOrderIsBalanced(t *testing.T) {
	arms, engines := []string{"base", "new"}, []string{"postgresql", "mysql"}
	starts := map[string]bool{}
	for seed := range uint64(50) {
		first := map[string]int{}
		var sum [2]int // of positions, by arm
		for _, cells := range order(seed, 6, arms, engines) {
			if len(cells) != 4 {
				t.Fatalf("%d cells in a block", len(cells))
			}
			seen := map[string]bool{}
			for i, c := range cells {
				seen[c.arm+c.engine] = true
				if i%2 == 0 && cells[i+1].engine != c.engine {
					t.Fatalf("seed %d: the arms of %s are not adjacent: %v", seed, c.engine, cells)
				}
				if i%2 == 0 {
					first[c.engine+c.arm]++
				}
				if c.arm == "base" {
					sum[0] += c.index
				} else {
					sum[1] += c.index
				}
			}
			if len(seen) != 4 {
				t.Fatalf("a cell is missing: %v", cells)
			}
		}
		for _, e := range engines {
			if first[e+"base"] != 3 || first[e+"new"] != 3 {
				t.Fatalf("seed %d: who goes first: %v", seed, first)
			}
		}
		if d := sum[0] - sum[1]; d > 2 || d < -2 {
			t.Fatalf("seed %d: a steady drift does not cancel: positions add up to %v", seed, sum)
		}
		starts[order(seed, 6, arms, engines)[0][0].arm] = true
	}
	if len(starts) != 2 {
		t.Fatal("the seed does not decide who begins")
	}
}

// The second block of a pair has the order of the first reversed, and a seed always draws the same
// order.
func TestOrderOfASeed(t *testing.T) {
	var got []string
	for _, block := range order(7, 2, []string{"base", "new"}, []string{"postgresql", "mysql"}) {
		for _, c := range block {
			got = append(got, fmt.Sprint(c.block, ".", c.order, " ", c.engine, " ", c.arm))
		}
	}
	want := []string{
		"1.1 postgresql new", "1.2 postgresql base", "1.3 mysql new", "1.4 mysql base",
		"2.1 mysql base", "2.2 mysql new", "2.3 postgresql base", "2.4 postgresql new",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

package workload

import (
	"slices"
	"testing"
)

func TestStormUsersAreAShareOfEveryStretch(t *testing.T) {
	for _, share := range []float64{0.05, 0.3, 0.5, 0.77, 1} {
		got := StormUsers(7, 2, 1010, share)
		if want := int(share*1010 + 0.5); len(got) != want {
			t.Errorf("share %v: %d users, want %d", share, len(got), want)
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("share %v: not in order, or somebody twice", share)
		}
		for from := 0; from+20 <= 1000; from += 20 {
			n := 0
			for _, u := range got {
				if u >= from && u < from+20 {
					n++
				}
			}
			if d := float64(n) - 20*share; d > 1 || d < -1 {
				t.Fatalf("share %v: %d of the users %d to %d", share, n, from, from+19)
			}
		}
	}
}

// A class that is dealt every second or every twentieth user is hit like all others.
func TestStormUsersSpareNoClass(t *testing.T) {
	even := 0
	for _, u := range StormUsers(7, 0, 4000, 0.5) {
		if u%2 == 0 {
			even++
		}
	}
	if even < 900 || even > 1100 {
		t.Errorf("%d of 2000 have even numbers", even)
	}
	twentieth := 0
	for _, u := range StormUsers(7, 0, 4000, 0.05) {
		if u%20 == 0 {
			twentieth++
		}
	}
	if twentieth > 30 {
		t.Errorf("%d of 200 are the first of twenty", twentieth)
	}
}

func TestStormUsersDependOnSeedAndIndexAlone(t *testing.T) {
	a := StormUsers(1, 0, 400, 0.25)
	if !slices.Equal(a, StormUsers(1, 0, 400, 0.25)) {
		t.Error("not the same twice")
	}
	if one := StormUsers(1, 0, 400, 0); len(one) != 1 || one[0] >= 400 ||
		len(StormUsers(1, 0, 0, 0)) != 0 {
		t.Errorf("without a share: %v", one)
	}
	if slices.Equal(a, StormUsers(1, 1, 400, 0.25)) ||
		slices.Equal(a, StormUsers(2, 0, 400, 0.25)) {
		t.Error("another seed or storm, the same users")
	}
	more := StormUsers(1, 0, 800, 0.25)
	if !slices.Equal(a, more[:len(a)]) {
		t.Error("more users change who is chosen of the first")
	}
}

func TestStormSeriesAreNotSteady(t *testing.T) {
	if s := (Storm{Kind: "join"}).Series("join_channel"); s != "storm_join_join_channel" ||
		Steady(s) {
		t.Errorf("%s is of the steady state: %v", s, Steady(s))
	}
}

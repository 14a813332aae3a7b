package workload

import (
	"slices"
	"testing"
)

// TestSpread checks that every server has its part of every behavior, also where the classes and
// the servers take turns at the same rate.
func TestSpread(t *testing.T) {
	env := Env{URL: "http://a", URLs: []string{"http://a", "http://b"}}
	deal := NewStrata(0.5, 0.5)
	of := map[int]map[string]int{0: {}, 1: {}}
	for id := range 400 {
		class, rank := deal.Next()
		own := env.Of(&User{ID: id, Rank: rank, Class: class})
		of[class][own.URL]++
	}
	for class, n := range of {
		if n["http://a"] != 100 || n["http://b"] != 100 {
			t.Errorf("behavior %d: %v", class, n)
		}
	}
	if got := Spread(401, 3, 0.9, 0.1); got[0]+got[1]+got[2] != 401 ||
		slices.Max(got)-slices.Min(got) > 1 {
		t.Errorf("401 users on three servers: %v", got)
	}
	if one := (Env{URL: "http://a"}).Of(&User{Rank: 7}); one.URL != "http://a" {
		t.Errorf("with one server: %s", one.URL)
	}
	for k, want := range []string{"http://a", "http://b", "http://a"} {
		if got := env.OfArrival(int64(k)).URL; got != want {
			t.Errorf("arrival %d goes to %s", k, got)
		}
	}
}

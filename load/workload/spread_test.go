package workload

import (
	"math/rand/v2"
	"testing"
)

// clustered returns a mix of users each of whom mostly does one of four actions, such as a user
// whose channel has no posts: over many users the four are done alike.
func clustered(users, each int, own float64, seed uint64) Mix {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var tally Tally
	c := tally.Behavior("b", []TallyAction{{
		Name:   "a",
		Weight: 1,
	}, {Name: "b", Weight: 1}, {Name: "c", Weight: 1}, {Name: "d", Weight: 1}})
	for u := range users {
		favorite := rnd.IntN(4)
		for range each {
			k := rnd.IntN(4)
			if rnd.Float64() < own {
				k = favorite
			}
			c.Attempt(k)
			c.SucceedBy(k, u)
		}
	}
	return tally.Snapshot().Mixes()[0]
}

// Nine users who each prefer another action are far from the requested mix by chance alone, which
// is not a finding; a mix that all of them are off in is one, and so is that of many.
func TestMixOfFewUsersIsChance(t *testing.T) {
	flagged := 0
	worst := 0.0
	spread := 0.0
	const runs = 200
	for seed := range uint64(runs) {
		m := clustered(9, 40, 0.8, seed)
		if m.Flagged {
			flagged++
		}
		worst, spread = max(worst, m.Distance), spread+m.Spread/runs
	}
	if flagged > runs/20 || worst < 0.3 || spread < 10 {
		t.Errorf(
			"%d of %d runs of nine users flagged, at most %.1f points apart, spread %.1f",
			flagged,
			runs,
			100*worst,
			spread,
		)
	}
	for seed := range uint64(runs) {
		if m := clustered(9, 40, 0, seed); m.Spread > 2.5 {
			t.Errorf("independent actions: spread %v", m.Spread)
		}
	}
	s := Snapshot{{
		Behavior: "b",
		Actions: []ActionCount{
			{
				Name:   "a",
				Weight: 1,
				OK:     320,
				By:     []int64{40, 40, 40, 40, 40, 40, 40, 40},
			}, {Name: "b", Weight: 1, OK: 40, By: []int64{5, 5, 5, 5, 5, 5, 5, 5}}},
	}}
	if m := s.Mixes()[0]; !m.Flagged || m.Spread != 1 {
		t.Errorf("all users are off alike: %+v", m)
	}
}

// The groups' counts follow a difference and a sum of snapshots, and a run that has none is read as
// before.
func TestGroupsOfUsersAreCounted(t *testing.T) {
	var tally Tally
	c := tally.Behavior("b", []TallyAction{{Name: "a", Weight: 1}})
	c.SucceedBy(0, 9)
	before := tally.Snapshot()
	c.SucceedBy(0, 9)
	c.SucceedBy(0, 2)
	d := tally.Snapshot().Sub(before)
	if by := d[0].Actions[0].By; len(by) < 3 || by[1] != 1 || by[2] != 1 {
		t.Errorf("%v", by)
	}
	sum := d.Add(append(before, BehaviorCount{Behavior: "c"}))
	if by := sum[0].Actions[0].By; by[1] != 2 || by[2] != 1 || sum[0].Actions[0].OK != 3 ||
		len(sum) != 2 {
		t.Errorf("%+v", sum)
	}
	if n := spread([]ActionCount{{OK: 5}, {OK: 7}}); n != 1 {
		t.Errorf("nobody said who: %v", n)
	}
}

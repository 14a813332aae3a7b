package workload

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"plimsoll/internal/race"
)

// counted is the state of one process.
func counted(rng *rand.Rand, actions int) Snapshot {
	b := BehaviorCount{Behavior: "a"}
	for k := range actions {
		n := ActionCount{
			Name:     string(rune('a' + k)),
			Weight:   1,
			Attempts: rng.Int64N(100),
			OK:       1 + rng.Int64N(50),
			Failed:   rng.Int64N(9),
		}
		n.By = addTo(nil, rng.IntN(8), n.OK)
		if rng.IntN(2) == 0 {
			n.Skipped = map[string]int64{"none": 1 + rng.Int64N(9)}
		}
		b.Actions = append(b.Actions, n)
	}
	s := Snapshot{b}
	if rng.IntN(2) == 0 {
		s = append(s, BehaviorCount{Behavior: "b", Actions: b.Actions[:1]})
	}
	return s
}

// The sum that is kept is that of the last counts of each process, and nobody can change it.
func TestGatheredCountsAreTheSumOfTheLast(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var tally Tally
	last := make([]Snapshot, 7)
	for range 200 {
		k := rng.IntN(len(last))
		last[k] = counted(rng, 1+rng.IntN(5))
		tally.Gather(k, last[k])
		want := map[string]ActionCount{}
		for _, s := range last {
			for _, b := range s {
				for _, a := range b.Actions {
					sum := want[b.Behavior+a.Name]
					sum.shift(&a, 1)
					want[b.Behavior+a.Name] = sum
				}
			}
		}
		got := tally.Snapshot()
		for _, b := range got {
			for _, a := range b.Actions {
				w := want[b.Behavior+a.Name]
				delete(want, b.Behavior+a.Name)
				if a.Attempts != w.Attempts || a.OK != w.OK || a.Failed != w.Failed ||
					a.Skipped["none"] != w.Skipped["none"] ||
					w.OK > 0 && !reflect.DeepEqual(trimmed(a.By), trimmed(w.By)) {
					t.Fatalf("%s %+v, want %+v", b.Behavior, a, w)
				}
			}
		}
		if len(want) > 0 {
			t.Fatalf("missing: %+v", want)
		}
		got[0].Actions[0].By[0] += 1000
		got[0].Actions[0].OK += 1000
	}
}

// trimmed is a list without zeros at its end.
func trimmed(list []int64) []int64 {
	for len(list) > 0 && list[len(list)-1] == 0 {
		list = list[:len(list)-1]
	}
	return list
}

func TestGatheringAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates too")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	var tally Tally
	one, two := counted(rng, 5), counted(rng, 5)
	tally.Gather(1, one)
	tally.Gather(2, counted(rng, 5))
	tally.Gather(1, two)
	if a := testing.AllocsPerRun(100, func() {
		tally.Gather(1, one)
		tally.Gather(1, two)
	}); a > 0 {
		t.Errorf("%v allocations for the counts of a process that is known, budget 0", a)
	}
}

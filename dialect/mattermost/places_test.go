package mattermost

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/dialect/mattermost/api"
)

// TestPlacesAreOneOrderEverywhere gives one person the same channels on servers with other
// identifiers: it finds them in the same order, by which it chooses. Otherwise the arms of a
// comparison would do other work in all blocks.
func TestPlacesAreOneOrderEverywhere(t *testing.T) {
	orders := map[string]int{}
	for server := range uint64(20) {
		rng := rand.New(rand.NewPCG(server, 1))
		id := func() string { return testID("i", rng.IntN(1e9)).String() }
		b := &Person{dir: newDirectory()}
		var ids []string
		for rank := range 5 {
			ids = append(ids, id())
			b.dir.profile(api.ParseID(ids[rank]), personName("lt-", rank))
		}
		shown := map[string]string{}
		var chs []api.Channel
		add := func(name string, ch api.Channel) {
			ch.ID = id()
			shown[ch.ID] = name
			chs = append(chs, ch)
		}
		for rank := range 4 {
			add("with "+personName("lt-", rank), api.Channel{Type: "D",
				Name: min(ids[rank], ids[4]) + "__" + max(ids[rank], ids[4])})
		}
		for _, people := range []string{"lt-00001, lt-00002, lt-00004", "lt-00000, lt-00003, lt-00004"} {
			add(people, api.Channel{Type: "G", Name: id(), People: people})
		}
		for _, name := range []string{"town-square", "off-topic"} {
			add(name, api.Channel{Type: "O", Name: name, TeamID: "t"})
		}
		slices.SortFunc(chs, func(x, y api.Channel) int { return strings.Compare(x.ID, y.ID) })
		a := &person{b: b, id: ids[4], u: userOf(nullEnv("", 1), 4)}
		a.take(chs)
		var order []string
		for _, p := range a.places {
			order = append(order, shown[p.ch.key])
		}
		if len(order) != 8 {
			t.Fatalf("%d places: %q", len(order), order)
		}
		orders[strings.Join(order, "; ")]++
	}
	if len(orders) != 1 {
		t.Errorf("%d orders: %v", len(orders), orders)
	}
}

package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/stats"
)

func link(t testing.TB, from, to int, values ...float64) stats.Link {
	t.Helper()
	return stats.Link{From: from, To: to, Pairs: sample(t, values...)}
}

// The reference is testdata/chain.json, written by testdata/chain.py with numpy and scipy.
func TestChainAgainstReference(t *testing.T) {
	var ref map[string]struct {
		Nodes int
		Links []struct {
			From, To int
			Values   []float64
		}
		Levels  []struct{ Estimate, SE, DF, Lo, Hi *float64 }
		Changes []struct {
			At                       int
			Shift, SE, DF, Lo, Hi, P float64
		}
	}
	readJSON(t, "chain.json", &ref)
	if len(ref) < 7 {
		t.Fatal("testdata/chain.json is not complete")
	}
	same := func(got float64, want *float64) bool {
		return want == nil && math.IsNaN(got) ||
			want != nil && math.Abs(got-*want) <= max(1e-9, 1e-7*math.Abs(*want))
	}
	changes := 0
	for name, r := range ref {
		var links []stats.Link
		for _, l := range r.Links {
			links = append(links, link(t, l.From, l.To, l.Values...))
		}
		for i, got := range stats.Chain(r.Nodes, links, 0.95) {
			want := r.Levels[i]
			if !same(got.Estimate, want.Estimate) ||
				i > 0 &&
					(!same(got.SE, want.SE) || !same(got.DF, want.DF) || !same(got.Lo, want.Lo) || !same(got.Hi, want.Hi)) {
				t.Errorf("%s, node %d: %+v differs from the reference", name, i, got)
			}
		}
		found := stats.ChangePoints(r.Nodes, links, 0.05)
		if len(found) != len(r.Changes) {
			t.Errorf("%s: changes %+v, want %+v", name, found, r.Changes)
			continue
		}
		for i, got := range found {
			want := r.Changes[i]
			changes++
			if got.At != want.At || !same(got.Shift, &want.Shift) || !same(got.SE, &want.SE) ||
				!same(got.DF, &want.DF) ||
				!same(got.Lo, &want.Lo) ||
				!same(got.Hi, &want.Hi) ||
				!same(got.P, &want.P) {
				t.Errorf("%s: change %+v, want %+v", name, got, want)
			}
		}
	}
	if changes < 4 {
		t.Errorf("the reference has only %d changes", changes)
	}
}

func TestChainOfLittle(t *testing.T) {
	// One pair each: levels without intervals, and no changes.
	links := []stats.Link{link(t, 0, 1, 0.1), link(t, 1, 2, -0.3), link(t, 3, 4, 0.2)}
	got := stats.Chain(6, links, 0.95)
	for i, want := range []struct {
		root  int
		level float64
	}{{0, 0}, {0, 0.1}, {0, -0.2}, {3, 0}, {3, 0.2}, {5, 0}} {
		if got[i].Root != want.root || math.Abs(got[i].Estimate-want.level) > 1e-12 ||
			(got[i].Root == i) != got[i].Known() {
			t.Errorf("node %d: %+v, want %+v", i, got[i], want)
		}
	}
	if found := stats.ChangePoints(6, links, 0.05); found != nil {
		t.Errorf("changes %+v from single pairs", found)
	}
	if got := stats.Chain(0, nil, 0.95); len(got) != 0 {
		t.Errorf("no nodes have levels: %v", got)
	}
	// Five pairs decide nothing, for any values.
	five := []stats.Link{link(t, 0, 1, 0.5, 0.51, 0.49, 0.5, 0.52)}
	if found := stats.ChangePoints(2, five, 0.05); found != nil {
		t.Errorf("changes %+v from five pairs", found)
	}
	// Numbers without spread: exact, and equal ones are not a change.
	still := []stats.Link{link(t, 0, 1, 0, 0, 0, 0, 0, 0)}
	if found := stats.ChangePoints(2, still, 0.05); found != nil {
		t.Errorf("changes %+v between equal numbers", found)
	}
	for name, bad := range map[string]stats.Link{
		"to itself": link(t, 1, 1, 0.1),
		"beyond":    link(t, 0, 2, 0.1),
		"empty":     {From: 0, To: 1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			stats.Chain(2, []stats.Link{bad}, 0.95)
		}()
	}
}

// A chain that is turned around has the same levels: base and new are names.
func TestChainDirection(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var up, down []stats.Link
	for i := range 5 {
		var v, w []float64
		for range 6 {
			x := 0.02 * rng.NormFloat64()
			if i == 2 {
				x -= 0.2
			}
			v, w = append(v, x), append(w, -x)
		}
		up, down = append(up, link(t, i, i+1, v...)), append(down, link(t, i+1, i, w...))
	}
	a, b := stats.ChangePoints(6, up, 0.05), stats.ChangePoints(6, down, 0.05)
	if len(a) != 1 || len(b) != 1 || a[0] != b[0] || a[0].At != 3 || !(a[0].Hi < -0.1) {
		t.Errorf("upward %+v, downward %+v", a, b)
	}
	for i, l := range stats.Chain(6, down, 0.95) {
		if w := stats.Chain(6, up, 0.95)[i]; math.Abs(l.Estimate-w.Estimate) > 1e-12 {
			t.Errorf("node %d: %v and %v", i, l, w)
		}
	}
}

// A change is confirmed by a second link across it that shows it by itself, in whichever direction.
func TestLinksInARow(t *testing.T) {
	of := func(from, to int, level float64) stats.Link {
		return link(
			t,
			from,
			to,
			level-0.01,
			level+0.01,
			level-0.02,
			level+0.02,
			level-0.005,
			level+0.005,
		)
	}
	for _, tt := range []struct {
		name  string
		links []stats.Link
		want  int
	}{
		{"neighbors", []stats.Link{of(0, 1, 0), of(1, 2, -0.2), of(2, 3, 0)}, 1},
		{"neighbors, and one back to the level before", []stats.Link{of(0, 1, 0), of(1, 2, -0.2), of(2, 3, 0), of(3, 1, 0.2)}, 2},
		{"twice", []stats.Link{of(0, 1, 0), of(1, 2, -0.2), of(1, 2, -0.18)}, 2},
		{"one base", []stats.Link{of(0, 1, 0), of(0, 2, -0.2), of(0, 3, -0.2), of(0, 4, -0.2)}, 3},
		{"one base, beside another change", []stats.Link{of(0, 1, -0.3), of(0, 2, -0.3), of(0, 3, -0.5)}, 1},
		{"the second one does not show it", []stats.Link{of(0, 1, 0), of(1, 2, -0.2), of(1, 2, 0.01), of(1, 2, -0.2)}, 1},
	} {
		found := stats.ChangePoints(5, tt.links, 0.05)
		if len(found) == 0 || found[len(found)-1].InRow != tt.want {
			t.Errorf("%s: %+v, want %d links in a row", tt.name, found, tt.want)
		}
	}
}

// A chained design: which releases are compared.
type design struct {
	name  string
	nodes int
	links [][2]int
}

func designs() []design {
	chain := func(n int) design {
		d := design{name: fmt.Sprintf("%d neighbors", n), nodes: n + 1}
		for i := range n {
			d.links = append(d.links, [2]int{i, i + 1})
		}
		return d
	}
	star, both := design{name: "10 against one base", nodes: 11}, chain(8)
	for i := range 10 {
		star.links = append(star.links, [2]int{0, i + 1})
	}
	both.name = "8 neighbors, and each second by itself"
	for i := 0; i+2 <= 8; i += 2 {
		both.links = append(both.links, [2]int{i, i + 2})
	}
	return []design{chain(2), chain(10), chain(20), star, both}
}

// hosts are the spreads of runs, which may differ between comparisons.
var hosts = []struct {
	name string
	sd   func(rng *rand.Rand) float64
}{
	{"equal hosts, run sd 2 %", func(*rand.Rand) float64 { return 0.02 }},
	{"hosts of run sd 1 to 5 %", func(rng *rand.Rand) float64 {
		return 0.01 * math.Exp(rng.Float64()*math.Log(5))
	}},
	{"one host in four of run sd 6 %, else 1 %", func(rng *rand.Rand) float64 {
		if rng.IntN(4) == 0 {
			return 0.06
		}
		return 0.01
	}},
}

// sample draws the comparisons of a design: blocks pairs each, with the given levels.
func (d design) sample(
	t testing.TB,
	rng *rand.Rand,
	blocks int,
	sd func(*rand.Rand) float64,
	level func(node int) float64,
) []stats.Link {
	var out []stats.Link
	for _, l := range d.links {
		s := sd(rng)
		v := make([]float64, blocks)
		for i := range v {
			v[i] = level(l[1]) - level(l[0]) + s*(rng.NormFloat64()-rng.NormFloat64())
		}
		out = append(out, link(t, l[0], l[1], v...))
	}
	return out
}

// TestNoChangeOnEqualReleases checks that chains of equal releases get a change at most at the rate
// alpha, plus twice the error of the simulation.
func TestNoChangeOnEqualReleases(t *testing.T) {
	for k, d := range designs() {
		for h, host := range hosts {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(h)))
			wrong, chains := 0, comparisons
			if d.nodes == 3 {
				chains *= 5 // nothing is lost to Bonferroni: the rate is that of alpha itself
			}
			for range chains {
				if len(stats.ChangePoints(d.nodes, d.sample(t, rng, 6, host.sd, func(int) float64 {
					return 0
				}), 0.05)) > 0 {
					wrong++
				}
			}
			within(
				t,
				d.name+", "+host.name+": some change",
				wrong,
				chains,
				0,
				0.05+2*math.Sqrt(0.05*0.95/float64(chains)),
			)
		}
	}
}

// TestPlantedChanges are found where they are, and nothing else beside them.
func TestPlantedChanges(t *testing.T) {
	const chains = 1000
	for _, tt := range []struct {
		design  int
		planted map[int]float64 // node to ratio
		least   float64
	}{
		{1, map[int]float64{4: 0.90}, 0.9},
		{1, map[int]float64{4: 0.90, 8: 1.08}, 0.7},
		{3, map[int]float64{6: 0.95}, 0.4},
		{3, map[int]float64{4: 0.90, 8: 1.10}, 0.6},
	} {
		d := designs()[tt.design]
		rng := rand.New(rand.NewPCG(9, uint64(len(tt.planted))))
		level := func(node int) float64 {
			sum := 0.0
			for at, ratio := range tt.planted {
				if node >= at {
					sum += math.Log(ratio)
				}
			}
			return sum
		}
		all, extra := 0, 0
		for range chains {
			found := stats.ChangePoints(d.nodes, d.sample(t, rng, 6, hosts[0].sd, level), 0.05)
			hits := 0
			for _, c := range found {
				if tt.planted[c.At] != 0 {
					hits++
				}
			}
			if hits == len(tt.planted) {
				all++
			}
			if len(found) > hits {
				extra++
			}
		}
		within(
			t,
			fmt.Sprintf("%s, %v: all found, in their place", d.name, tt.planted),
			all,
			chains,
			tt.least,
			1,
		)
		t.Logf(
			"%s, %v: something else beside: %.1f %%",
			d.name,
			tt.planted,
			100*float64(extra)/chains,
		)
	}
}

// TestChainCoverage checks that the interval of the last release of a chain holds the true level as
// often as its confidence.
func TestChainCoverage(t *testing.T) {
	for k, d := range designs() {
		for h, host := range hosts {
			rng := rand.New(rand.NewPCG(uint64(k), 50+uint64(h)))
			hits := 0
			for range comparisons {
				levels := stats.Chain(d.nodes, d.sample(t, rng, 6, host.sd, func(node int) float64 {
					return 0.01 * float64(node)
				}), 0.95)
				last := levels[d.nodes-1]
				if truth := 0.01 * float64(d.nodes-1); last.Lo <= truth && truth <= last.Hi {
					hits++
				}
			}
			within(t, d.name+", "+host.name+": coverage", hits, comparisons, 0.94, 0.97)
		}
	}
}

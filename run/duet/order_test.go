package duet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// groupings are the groups of seats 0, 1, ....
var groupings = map[string][]string{
	"one":                       {"a"},
	"two of one group":          {"a", "a"},
	"two of three groups":       {"a", "b", "a", "c", "b", "c"},
	"groups of different sizes": {"a", "b", "b", "b", "c", "c"},
}

// Over a pair of rounds, each seat has each position and its mirror once, and the seats of a group
// are adjacent.
func TestOrderIsBalanced(t *testing.T) {
	for name, groups := range groupings {
		t.Run(name, func(t *testing.T) {
			o := newOrder(1, groups)
			for range 100 {
				pair := o.pair()
				n := len(groups)
				if len(pair) != 2*n {
					t.Fatalf("pair %v of %d seats", pair, n)
				}
				first, second := pair[:n], pair[n:]
				if s := slices.Sorted(slices.Values(first)); s[0] != 0 || s[n-1] != n-1 ||
					len(slices.Compact(s)) != n {
					t.Fatalf("round %v is no permutation", first)
				}
				for i, seat := range first {
					if second[n-1-i] != seat {
						t.Fatalf("round %v after %v is not its reverse", second, first)
					}
				}
				seen := map[string]bool{}
				for i, seat := range first {
					if g := groups[seat]; i == 0 || g != groups[first[i-1]] {
						if seen[g] {
							t.Fatalf("round %v tears group %s apart", first, g)
						}
						seen[g] = true
					}
				}
			}
		})
	}
}

// Each seat leads a pair as often as another of its group, and each group as often as another.
func TestOrderIsRandom(t *testing.T) {
	const pairs = 6000
	o := newOrder(7, groupings["two of three groups"])
	leads := make([]int, 6)
	for range pairs {
		leads[o.pair()[0]]++
	}
	for seat, n := range leads {
		if math.Abs(float64(n)-pairs/6) > 5*math.Sqrt(pairs/6) {
			t.Errorf("seat %d leads %d of %d pairs", seat, n, pairs)
		}
	}
}

func TestOrderIsSeeded(t *testing.T) {
	pairs := func(seed uint64) (all []int) {
		o := newOrder(seed, groupings["two of three groups"])
		for range 10 {
			all = append(all, o.pair()...)
		}
		return all
	}
	if diff := cmp.Diff(pairs(5), pairs(5)); diff != "" {
		t.Errorf("one seed, two orders: %s", diff)
	}
	if cmp.Equal(pairs(5), pairs(6)) {
		t.Error("two seeds, one order")
	}
}

// The moments at which runs sit down do not change the order.
func TestOrderIsOfNames(t *testing.T) {
	sit := func(names ...string) (out []string) {
		table := New(Config{Seats: len(names)})
		for _, n := range names {
			table.Sit(n[1:], n[:1])
		}
		for _, s := range sorted(table.seats) {
			out = append(out, s.String())
		}
		return out
	}
	want := []string{"base on m", "new on m", "base on p", "new on p"}
	for _, names := range [][]string{{"mbase", "mnew", "pbase", "pnew"}, {"pnew", "pbase", "mnew", "mbase"}} {
		if diff := cmp.Diff(want, sit(names...)); diff != "" {
			t.Errorf("%v: (-want +got)\n%s", names, diff)
		}
	}
}

// A host whose speed changes at a steady rate is the same host for all seats of a pair of rounds.
func TestOrderCancelsDrift(t *testing.T) {
	for name, groups := range groupings {
		t.Run(name, func(t *testing.T) {
			o := newOrder(3, groups)
			work, speed := make([]int, len(groups)), 1000
			for range 20 {
				for _, seat := range o.pair() {
					work[seat] += speed
					speed += 7
				}
				if slices.Min(work) != slices.Max(work) {
					t.Fatalf("work %v of equal seats", work)
				}
			}
		})
	}
}

// On a host whose speed is a random walk, the difference of two equal seats varies far less when
// they take turns than when one follows the other.
func TestOrderBeatsSequence(t *testing.T) {
	const blocks, slicesEach = 400, 300 // 300 slices of 0.2 s are a minute
	// difference returns the mean square over the blocks of the difference between the seats' mean
	// speeds.
	difference := func(turns func(block uint64) []int) float64 {
		rng := rand.New(rand.NewPCG(11, 11)) // the same hosts for both
		var squares float64
		for b := range blocks {
			speed, work := 0.0, [2]float64{}
			for _, seat := range turns(uint64(b)) {
				speed += rng.NormFloat64()
				work[seat] += speed
			}
			d := (work[1] - work[0]) / slicesEach
			squares += d * d
		}
		return squares / blocks
	}
	sequence := difference(func(block uint64) (turns []int) {
		first := int(block % 2)
		return append(
			slices.Repeat([]int{first}, slicesEach),
			slices.Repeat([]int{1 - first}, slicesEach)...)
	})
	duet := difference(func(block uint64) (turns []int) {
		for o := newOrder(block, []string{"", ""}); len(turns) < 2*slicesEach; {
			turns = append(turns, o.pair()...)
		}
		return turns
	})
	t.Logf("mean squares: sequence %.4g, duet %.4g", sequence, duet)
	// A sequence has 2/3 of slicesEach in steps of the walk squared. In a duet, the difference is a
	// sum over pairs of rounds, of which each has a variance of a few steps, divided by the square
	// of slicesEach.
	if want := 2.0 / 3 * slicesEach; sequence < want/1.3 || sequence > want*1.3 {
		t.Errorf(
			"mean square of sequences is %.4g, want about %.4g: the simulation is wrong",
			sequence,
			want,
		)
	}
	if duet > sequence/10000 {
		t.Errorf("mean square of duets is %.4g, of sequences %.4g", duet, sequence)
	}
}

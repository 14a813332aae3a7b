package newsfeed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTheMixOfManyBatches compares the batch with the study's data and code (newsfeed.md 3.1, 6.4,
// 7.7): 10 : 6.75 : 25, and 2.740 friends or 3.563 friendships per story.
func TestTheMixOfManyBatches(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(7, 7))
	var friendships, stories, distinct, rows float64
	for range n {
		b := presets["blog-code"].draw(r)
		friendships += float64(len(b.pairs))
		stories += float64(len(b.posters) * b.stories)
		for _, i := range b.posters {
			friends := b.friends(i)
			rows += float64(len(friends) * b.stories)
			slices.Sort(friends)
			distinct += float64(len(slices.Compact(friends)) * b.stories)
		}
		if b.requests() != people+len(b.pairs)+len(b.posters)*b.stories {
			t.Fatalf("%d requests", b.requests())
		}
	}
	for _, c := range []struct {
		what                 string
		got, want, tolerance float64
	}{
		{"friendships per batch", friendships / n, 6.75, 0.015}, {"stories per batch", stories / n, 25, 0.04},
		{"friends per story", distinct / stories, 2.740, 0.005}, {"friendships per story", rows / stories, 3.563, 0.008},
	} {
		if math.Abs(c.got-c.want) > c.tolerance {
			t.Errorf("%s: %.4f, want %.4f ± %.4f", c.what, c.got, c.want, c.tolerance)
		}
		t.Logf("%s: %.4f", c.what, c.got)
	}
}

// TestTheMeansAreThoseOfManyBatches compares the expected mix with the drawn one.
func TestTheMeansAreThoseOfManyBatches(t *testing.T) {
	const n = 50_000
	for _, name := range presetNames() {
		p := presets[name]
		r := rand.New(rand.NewPCG(7, 8))
		var friendships, stories float64
		for range n {
			b := p.draw(r)
			friendships += float64(len(b.pairs))
			stories += float64(len(b.posters) * b.stories)
		}
		f, s := p.means()
		if math.Abs(friendships/n-f) > 0.03 || math.Abs(stories/n-s) > 0.004*s {
			t.Errorf(
				"%s: %.3f friendships and %.3f stories, want %.3f and %.3f",
				name,
				friendships/n,
				stories/n,
				f,
				s,
			)
		}
	}
}

// TestLiterally everyone has 2 to 4 distinct friends, and posts.
func TestLiterally(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	seen := map[int]int{}
	for range 2000 {
		b := presets["blog-literal"].draw(r)
		if len(b.posters)*b.stories != 100 {
			t.Fatalf("%d stories, want 100", len(b.posters)*b.stories)
		}
		for i := range people {
			friends := b.friends(i)
			n := len(friends)
			slices.Sort(friends)
			if slices.Contains(friends, i) || len(slices.Compact(friends)) != n || n < 2 || n > 4 {
				t.Fatalf("participant %d has friends %v", i, b.friends(i))
			}
			seen[n]++
		}
	}
	if len(seen) != 3 {
		t.Errorf("numbers of friends: %v, want 2, 3 and 4", seen)
	}
}

func TestSearchersByRank(t *testing.T) {
	for n, want := range map[string]int{"0": 0, "1": 3, "10": 30} {
		set, err := parse(map[string]string{"searchers": n})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for rank := range 30 {
			if set.searches(rank) {
				got++
			}
		}
		if got != want {
			t.Errorf("searchers %s: %d of 30, want %d", n, got, want)
		}
	}
	if set, _ := parse(map[string]string{"preset": "mixed-10"}); !set.searches(9) ||
		set.searches(8) {
		t.Error("mixed-10: want the last of ten to search")
	}
}

package newsfeed

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// Constants of the studied load application since 2015-05-02.
const (
	people     = 10        // participants of a batch
	inviters   = 3         // a quarter of them, rounded up
	minInvited = 2         // of those who are befriended, and who then post
	maxInvited = 4         // exclusive, so that it is never reached
	names      = 1_000_000 // participants' names
	dictionary = 40_000    // words are numbers below it
	subject    = 5         // words of a subject
)

// A batch is the unit of work: ten new participants, friendships among them, and stories of some of
// them. Participants are numbered from 0; they are never used again.
type batch struct {
	name    int      // of all ten
	pairs   [][2]int // friendships in order, from and to; a pair may occur again
	posters []int    // who posts, in order; one may occur again
	stories int      // each time
	words   int      // of a story
}

// requests is how many requests the batch makes.
func (b *batch) requests() int { return people + len(b.pairs) + len(b.posters)*b.stories }

// friends returns the other sides of i's friendships, one entry per friendship.
func (b *batch) friends(i int) (list []int) {
	for _, p := range b.pairs {
		if p[0] == i {
			list = append(list, p[1])
		} else if p[1] == i {
			list = append(list, p[0])
		}
	}
	return list
}

// draw makes the batch of a preset.
func (p preset) draw(r *rand.Rand) batch {
	b := batch{name: r.IntN(names), stories: p.stories, words: p.words}
	if p.literal {
		b.pairs, b.posters = circle(r), make([]int, people)
		for i := range b.posters {
			b.posters[i] = i
		}
		return b
	}
	invite := make([]int, inviters)
	for i := range invite {
		invite[i] = r.IntN(people)
	}
	b.posters = make([]int, minInvited+r.IntN(maxInvited-minInvited))
	for i := range b.posters {
		b.posters[i] = r.IntN(people)
	}
	for _, from := range invite {
		for _, to := range b.posters {
			if from != to {
				b.pairs = append(b.pairs, [2]int{from, to})
			}
		}
	}
	return b
}

// circle draws friendships that give everyone 2 to 4 distinct friends: a circle, and two times five
// couples of which each becomes friends with probability one half.
func circle(r *rand.Rand) (pairs [][2]int) {
	order := r.Perm(people)
	add := func(a, b int) {
		if !slices.Contains(pairs, [2]int{a, b}) && !slices.Contains(pairs, [2]int{b, a}) {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	for i, a := range order {
		add(a, order[(i+1)%people])
	}
	for range 2 {
		couples := r.Perm(people)
		for i := 0; i < people; i += 2 {
			if r.IntN(2) == 0 {
				add(couples[i], couples[i+1])
			}
		}
	}
	return pairs
}

// appendWords appends n random words, each followed by space.
func appendWords(b []byte, r *rand.Rand, n int, space byte) []byte {
	for range n {
		b = append(strconv.AppendInt(b, int64(r.IntN(dictionary)), 10), space)
	}
	return b
}

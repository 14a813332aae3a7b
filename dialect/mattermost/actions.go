package mattermost

import (
	"math/rand/v2"
	"strings"
	"time"
)

// An Action is something a person does, with its weight.
type Action struct {
	Name   string
	Weight float64
}

// Actions is the mix of the behavior mattermost: the weights of mattermost-load-test-ng, which are the rates of calls on
// production servers relative to creating a post, for the subset that is modeled; only their ratios count. Posting (weight 1) is
// split into roots and replies (18 %), and "typing" stands for what its UpsertDraft does besides storing a draft, which servers
// before 7.8 cannot.
var Actions = []Action{
	{"switch_channel", 6.5219},
	{"scroll", 1.9873},
	{"unread_check", 1.0},
	{"post", 0.82},
	{"typing", 0.504},
	{"reply", 0.18},
	{"react", 0.1306},
}

// pick draws an action by weight.
func pick(r *rand.Rand, actions []Action) int {
	total := 0.0
	for _, a := range actions {
		total += a.Weight
	}
	x := r.Float64() * total
	for i, a := range actions {
		if x -= a.Weight; x < 0 {
			return i
		}
	}
	return len(actions) - 1
}

// A speed class is a factor on the think time and the number of persons out of twenty who have it.
type speedClass struct {
	factor float64
	of20   int
}

// speeds are the classes of load-test-ng's sample configuration: 5, 10, 15, 40 and 30 % of the users.
var speeds = []speedClass{{1, 1}, {2, 2}, {3, 3}, {6, 8}, {30, 6}}

// speedOf is the factor of the person with this number: dealt, not drawn. Of any twenty consecutive persons each class has exactly its
// share, and of fewer nearly.
func speedOf(rank int) float64 {
	var dealt [len5]int
	factor := 0.0
	for n := 1; n <= rank%20+1; n++ {
		best, need := 0, -1.0
		for k, c := range speeds {
			if d := float64(c.of20*n)/20 - float64(dealt[k]); d > need+1e-9 {
				best, need = k, d
			}
		}
		dealt[best]++
		factor = speeds[best].factor
	}
	return factor
}

const len5 = 5 // classes

const (
	minThink = 1000  // ms
	avgThink = 20000 // ms
)

// think draws a pause: whole milliseconds, uniform on [1 s, 39 s), as at factor 1.
func think(r *rand.Rand) time.Duration {
	return time.Duration(minThink+r.IntN(2*(avgThink-minThink))) * time.Millisecond
}

// Messages are made of random words, 7.5 letters long on average; their number is uniform.
const (
	rootWords  = 68 // at most; a root has 1 to 68
	replyWords = 46
)

var emojis = []string{"smile", "+1", "heart", "tada", "eyes", "fire", "rocket", "clap", "wave", "ok_hand", "thinking", "100"}

// message draws the text of a post. One in ten ends with an emoji, one in ten mentions another of the first n persons.
func message(r *rand.Rand, words int, prefix string, n int) string {
	var b strings.Builder
	count := 1 + r.IntN(words)
	for i := range count {
		if i > 0 {
			b.WriteByte(' ')
		}
		for range 3 + r.IntN(10) {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
	}
	emoji, whom := r.IntN(10*len(emojis)), r.IntN(10*max(n, 1))
	if whom < n {
		b.WriteString(" @")
		b.WriteString(personName(prefix, whom))
	}
	if emoji < len(emojis) {
		b.WriteString(" :" + emojis[emoji] + ":")
	}
	return b.String()
}

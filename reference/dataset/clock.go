package dataset

import (
	"math/bits"
	"slices"
)

const hourMillis = 3_600_000

// day holds the share of posts in each hour of a working day (UTC): a flat night, a lunch, an
// evening.
var day = [24]uint64{4, 3, 2, 2, 3, 5, 12, 30, 70, 100, 105, 95, 65, 85, 100, 100, 95, 75, 45, 30,
	22, 16, 10, 6}

// weekend divides the posts of Saturdays and Sundays.
const weekend = 6

// clock turns the numbers of posts into times: their density follows the hours of the week.
type clock struct {
	start, end int64    // milliseconds since 1970; start is the beginning of an hour
	sums       []uint64 // of the weights of the hours before each hour, and of all at the end
	posts      int
	seed       uint64
}

func newClock(s Spec) clock {
	end := int64(s.End)
	start := (end - int64(s.History)*24*hourMillis) / hourMillis * hourMillis
	c := clock{start: start, end: end, posts: s.Posts, seed: s.Seed}
	var sum uint64
	for at := start; at < end; at += hourMillis {
		hour := at / hourMillis
		w := day[hour%24] * weekend * 1000
		if weekday := (hour/24 + 4) % 7; weekday == 0 || weekday == 6 { // 1970 began on a Thursday
			w /= weekend
		}
		if end-at < hourMillis {
			w = w * uint64(end-at) / hourMillis
		}
		c.sums = append(c.sums, sum)
		sum += w
	}
	c.sums = append(c.sums, sum)
	return c
}

// at returns the time of post n. Times grow with n, by a millisecond at least.
func (c *clock) at(n int) int64 {
	// The post lies somewhere in the middle half of its n-th part of all weight.
	place := uint64(n)<<16 + 1<<14 + uint64(newStream(c.seed, kindPost, uint64(n)))>>49
	hi, lo := bits.Mul64(place<<3, c.sums[len(c.sums)-1])
	weight, rest := bits.Div64(hi, lo, uint64(c.posts)<<19)
	hour, found := slices.BinarySearch(c.sums, weight)
	if !found {
		hour--
	}
	at := c.start + int64(hour)*hourMillis
	length := uint64(min(c.end-at, hourMillis))
	span := c.sums[hour+1] - c.sums[hour]
	// The rest matters where there are more posts than weight.
	fraction, _ := bits.Div64(rest>>4, 0, uint64(c.posts)<<15)
	hi, lo = bits.Mul64((weight-c.sums[hour])<<16|fraction>>48, length)
	ms, _ := bits.Div64(hi, lo, span<<16)
	return at + int64(ms)
}

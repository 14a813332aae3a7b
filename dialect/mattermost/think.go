package mattermost

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	minThink = 1000  // ms
	avgThink = 20000 // ms
)

// uniformThink draws a pause: whole milliseconds, uniform on [1 s, 39 s).
func uniformThink(r *rand.Rand) time.Duration {
	return time.Duration(minThink+r.IntN(2*(avgThink-minThink))) * time.Millisecond
}

const (
	thinkSigma = 1.0 // of the logarithm
	mostThink  = 30  // times the mean
)

// heavyThink draws a pause with the same mean of 20 s from a log-normal distribution: half of all
// pauses are shorter than 12 s, one in a hundred is longer than two minutes.
func heavyThink(r *rand.Rand) time.Duration {
	x := math.Exp(thinkSigma*r.NormFloat64() - thinkSigma*thinkSigma/2)
	return time.Duration(min(x, mostThink) * avgThink * float64(time.Millisecond)).
		Round(time.Millisecond)
}

// zipf draws one of n places, the k-th with a weight of 1/(k+1)^s; s 0 is uniform. It draws once.
func zipf(r *rand.Rand, n int, s float64) int {
	if s == 0 {
		return r.IntN(n)
	}
	sum := 0.0
	for k := range n {
		sum += math.Pow(float64(k+1), -s)
	}
	x := r.Float64() * sum
	for k := range n {
		if x -= math.Pow(float64(k+1), -s); x < 0 {
			return k
		}
	}
	return n - 1
}

// recent draws one of n posts, 0 being the newest, by a geometric distribution with that mean; mean
// 0 is uniform. It draws once.
func recent(r *rand.Rand, n int, mean float64) int {
	if mean == 0 {
		return r.IntN(n)
	}
	q := mean / (mean + 1)
	// Inverse of the distribution cut off at n.
	x := r.Float64() * (1 - math.Pow(q, float64(n)))
	return min(n-1, int(math.Log1p(-x)/math.Log(q)))
}

// A visit is a stretch of actions between arriving and going away. With the setting visit 0 it
// never ends.
type visit struct {
	left int  // actions until its end, plus one; 0 before the first
	away bool // the person has no connection until its next action
}

// next counts an action and returns how much longer than usual the pause after it is: none within a
// visit. At its end the person either leaves the window open or closes it, and with it the
// connection.
func (v *visit) next(a *person) time.Duration {
	set := &a.b.set
	if set.visit == 0 {
		return 0
	}
	if v.left == 0 {
		v.left = 1 + visitLength(a.u.Think, set.visit)
	}
	if v.left--; v.left > 1 {
		return 0
	}
	v.left = 0
	pause := time.Duration(a.u.Think.ExpFloat64() * float64(set.away))
	if a.u.Think.Float64() < set.leave {
		a.leave()
		v.away = true
	}
	return pause
}

// visitLength draws the number of actions of a visit: geometric, with that mean, at least one.
func visitLength(r *rand.Rand, mean float64) int {
	if mean <= 1 {
		return 1
	}
	return 1 + int(math.Log1p(-r.Float64())/math.Log1p(-1/mean))
}

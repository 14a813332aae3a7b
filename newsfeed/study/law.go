package study

import "time"

// A Law holds the inputs of Little's law for a run: the measured time of users in a closed loop
// without pauses.
type Law struct {
	Users int
	Span  time.Duration
	// Response is the sum of all response times that ended in the span, Longest the longest of
	// them. Those of failed requests are not in it.
	Response, Longest time.Duration
	// Requests is how many there were, Failed how many had no time.
	Requests, Failed uint64
	// Server is the sum of the service's own response times; 0 if it does not report them.
	Server time.Duration
}

// InFlight is throughput times mean response: how many requests were under way on average, as the
// users saw it.
func (l Law) InFlight() float64 { return part(l.Response, l.Span) }

// Inside is the same by the service's own times; 0 if it does not report them.
func (l Law) Inside() float64 { return part(l.Server, l.Span) }

// Tolerance is how far InFlight may lie beyond the truth: at the beginning of the span each user
// had at most one request under way that counts whole and began earlier, by the longest response at
// most. At the end requests that are not over do not count, which only lowers it.
func (l Law) Tolerance() float64 { return float64(l.Users) * part(l.Longest, l.Span) }

// Holds reports whether the numbers can be true: no more requests under way than users, and no more
// at the service than under way. The service's requests lie within those of the users, so each side
// has the tolerance of the edges.
func (l Law) Holds() bool {
	return l.Span > 0 && l.InFlight() <= float64(l.Users)+l.Tolerance() &&
		l.Inside() <= l.InFlight()+l.Tolerance()
}

// Own is the part of their time that the users were between two requests, from 0 to 1.
func (l Law) Own() float64 {
	if l.Users == 0 {
		return 0
	}
	return max(0, 1-l.InFlight()/float64(l.Users))
}

// OwnPerRequest is how long that was per request.
func (l Law) OwnPerRequest() time.Duration {
	if l.Requests == 0 {
		return 0
	}
	return time.Duration(l.Own() * float64(l.Users) * float64(l.Span) / float64(l.Requests))
}

func part(d, of time.Duration) float64 {
	if of <= 0 {
		return 0
	}
	return float64(d) / float64(of)
}

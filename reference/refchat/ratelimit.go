package refchat

import (
	"net/http"
	"sync"
	"time"
)

// limitFault answers 429 to requests beyond a rate: a bucket that gets a token per 1/rate and holds
// the tokens of one second.
type limitFault struct {
	rate    int    // requests per second; 0 limits nothing
	handler string // "" for all

	mu     sync.Mutex
	tokens float64
	last   time.Time // zero before the first request
}

// refuses reports whether a request of handler at now finds no token.
func (l *limitFault) refuses(handler string, now time.Time) bool {
	if l.rate == 0 || l.handler != "" && l.handler != handler {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rate := float64(l.rate)
	if l.last.IsZero() {
		l.tokens = rate
	} else {
		l.tokens = min(rate, l.tokens+rate*now.Sub(l.last).Seconds())
	}
	l.last = now
	if l.tokens < 1 {
		return true
	}
	l.tokens--
	return false
}

// errTooMany is the answer to a request beyond the limit.
func errTooMany(h http.Header) *apiError {
	h.Set("Retry-After", "1")
	return newError(http.StatusTooManyRequests, "api.context.rate_limit.app_error",
		"Too many requests.")
}

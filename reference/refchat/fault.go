package refchat

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// faults are the planted faults. The zero value has none.
type faults struct {
	cpu        float64       // share of a request's average CPU to burn on top
	work       time.Duration // CPU time that a request burns on top
	workOf     string        // handler whose requests do; "" for all
	slowPost   delayFault
	slowQuery  delayFault
	pool       int // connections; 0 for the configured number
	stallFor   time.Duration
	stallEvery time.Duration
	drop       chance
	dup        chance
	reorder    chance
	errs       []errorFault
	lock       serial
	hub        time.Duration // that each posted event costs a hub's goroutine, asleep
	hotRow     time.Duration // that a post's transaction keeps the row which all of them update
	limit      limitFault
	cache      int // entries of each cache; 0 for its own number
}

// serial is a section that one request at a time is in, for d, asleep: contention without CPU time.
type serial struct {
	d  time.Duration
	mu sync.Mutex
}

// pass returns how long it held the section.
func (s *serial) pass() time.Duration {
	if s.d == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	time.Sleep(s.d)
	return s.d
}

// delayFault delays with a probability.
type delayFault struct {
	d time.Duration
	p chance
}

func (f *delayFault) delay() time.Duration {
	if f.d == 0 || !f.p.hit() {
		return 0
	}
	return f.d
}

type errorFault struct {
	p       chance
	handler string // "" for all
	panics  bool   // it panics instead of an answer
}

// chance is a coin of known bias and seed, safe for concurrent use.
type chance struct {
	p   float64
	mu  *sync.Mutex
	rng *rand.Rand
}

func newChance(p float64, seed, stream uint64) chance {
	return chance{p: p, mu: new(sync.Mutex), rng: rand.New(rand.NewPCG(seed, stream))}
}

func (c *chance) hit() bool {
	if c.p <= 0 {
		return false
	}
	if c.p >= 1 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Float64() < c.p
}

const faultUsage = "want cpu:25%, work:5ms[@handler], slow-post:20ms[@10%], slow-query:5ms[@10%], pool:N, stall:2s/30s, lock:5ms, hub:5ms, hot-row:5ms, limit:N[@handler], cache:N, drop-event:1%, dup-event:1%, reorder-event:1%, error:1%[@handler] or panic:1%[@handler]"

// CheckFault returns an error if the text of one fault is invalid. The faults are:
//
//	cpu:25%              burn that share of a request's average CPU time, user and system, on top, in the request's goroutine
//	work:5ms[@handler]   burn so much CPU time on top, independent of the request's own
//	slow-post:20ms[@p]   wait before a post is stored, for a share p of them (default all)
//	slow-query:5ms[@p]   wait before a SQL statement, while it holds its connection
//	pool:N               at most N database connections
//	stall:2s/30s         requests that arrive in the last 2 s of each 30 s wait for its end
//	lock:5ms             requests pass one mutex that each holds for so long, asleep
//	hub:5ms              the goroutine that brings events to connections sleeps so long before each posted one
//	hot-row:5ms          a post's transaction updates a row that all of them update, and keeps it for so long
//	limit:N[@handler]    answer 429 beyond N requests a second, of all or of one handler, with a burst of a second's
//	cache:N              each cache holds at most N entries (at least 16)
//	drop-event:1%        do not send a posted event to a connection
//	dup-event:1%         send a posted event twice
//	reorder-event:1%     send a posted event after the connection's next one of the same channel (or 3 s later)
//	error:1%[@handler]   answer 500, to all requests or to one handler's ("createPost")
//	panic:1%[@handler]   panic in the request, which the server survives and logs
//
// The event faults act before events are numbered, so that the numbers do not show them. Shares are written as 25% or
// 0.25. Chance is decided by a generator with Config.FaultSeed.
func CheckFault(text string) error {
	return new(faults).add(text, 0)
}

// parseFaults reads all texts; the first bad one is the error.
func parseFaults(texts []string, seed uint64) (*faults, error) {
	f := &faults{}
	for _, t := range texts {
		if err := f.add(t, seed); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// streams number the generators of the faults that chance decides; those of errors follow.
var streams = map[string]uint64{"slow-post": 1, "slow-query": 2, "drop-event": 3, "dup-event": 4, "reorder-event": 5}

func (f *faults) add(text string, seed uint64) error {
	name, arg, _ := strings.Cut(text, ":")
	value, at, hasAt := strings.Cut(arg, "@")
	bad := func(what string) error { return fmt.Errorf("fault %q: %s: %s", text, what, faultUsage) }
	switch {
	case hasAt && at == "":
		return bad("nothing after @")
	case hasAt && !slices.Contains([]string{"slow-post", "slow-query", "error", "panic", "limit", "work"}, name):
		return bad("no @ here")
	case hasAt && !strings.HasPrefix(name, "slow-") && !isHandler(at):
		return bad("no handler is named " + strconv.Quote(at))
	}
	switch name {
	case "cpu":
		n, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
		if err != nil || !strings.HasSuffix(value, "%") || !(n > 0 && n <= 1000) {
			return bad("the share is a percentage above 0%, at most 1000%")
		}
		f.cpu = n / 100
	case "slow-post", "slow-query":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > time.Minute {
			return bad("the delay is a duration above 0, at most 1m")
		}
		p, err := parseShare(cmp.Or(at, "1"))
		if err != nil {
			return bad(err.Error())
		}
		to := map[string]*delayFault{"slow-post": &f.slowPost, "slow-query": &f.slowQuery}[name]
		*to = delayFault{d, newChance(p, seed, streams[name])}
	case "pool":
		if f.pool = number(value, 1, 10_000); f.pool == 0 {
			return bad("the number of connections is 1 to 10000")
		}
	case "limit":
		if f.limit.rate, f.limit.handler = float64(number(value, 1, 1_000_000)), at; f.limit.rate == 0 {
			return bad("the rate is 1 to 1000000 requests a second")
		}
	case "cache":
		if f.cache = number(value, 16, 1_000_000); f.cache == 0 {
			return bad("the number of entries is 16 to 1000000")
		}
	case "lock", "hub", "hot-row", "work":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > time.Second {
			return bad("the time is a duration above 0, at most 1s")
		}
		*map[string]*time.Duration{"lock": &f.lock.d, "hub": &f.hub, "hot-row": &f.hotRow, "work": &f.work}[name] = d
		if name == "work" {
			f.workOf = at
		}
	case "stall":
		a, b, _ := strings.Cut(value, "/")
		d, err1 := time.ParseDuration(a)
		every, err2 := time.ParseDuration(b)
		if err1 != nil || err2 != nil || d <= 0 || every <= d {
			return bad("the stall is DURATION/PERIOD, shorter than its period")
		}
		f.stallFor, f.stallEvery = d, every
	case "drop-event", "dup-event", "reorder-event", "error", "panic":
		p, err := parseShare(value)
		if err != nil {
			return bad(err.Error())
		}
		if to := map[string]*chance{"drop-event": &f.drop, "dup-event": &f.dup, "reorder-event": &f.reorder}[name]; to != nil {
			*to = newChance(p, seed, streams[name])
			return nil
		}
		f.errs = append(f.errs, errorFault{newChance(p, seed, 6+uint64(len(f.errs))), at, name == "panic"})
	default:
		return bad("unknown fault")
	}
	return nil
}

// number reads a number from least to most; 0 is none.
func number(s string, least, most int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0
	}
	return n
}

// parseShare reads "1%" or "0.01" as a probability above 0, at most 1.
func parseShare(s string) (float64, error) {
	num, pct := strings.CutSuffix(s, "%")
	p, err := strconv.ParseFloat(num, 64)
	if pct {
		p /= 100
	}
	if err != nil || !(p > 0 && p <= 1) {
		return 0, fmt.Errorf("the share %q is not above 0 and at most 100%%", s)
	}
	return p, nil
}

// fails reports whether a request of handler is to be answered with an error; it panics if that is planted.
func (f *faults) fails(handler string) bool {
	for i := range f.errs {
		if e := &f.errs[i]; (e.handler == "" || e.handler == handler) && e.p.hit() {
			if e.panics {
				panic("planted fault")
			}
			return true
		}
	}
	return false
}

// stall returns how long a request that arrives at age since start has to wait.
func (f *faults) stall(age time.Duration) time.Duration {
	if f.stallEvery == 0 {
		return 0
	}
	into := age % f.stallEvery
	if into < f.stallEvery-f.stallFor {
		return 0
	}
	return f.stallEvery - into
}

package refchat

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

// faults are the planted faults. The zero value has none.
type faults struct {
	cpu        float64       // share of a request's average CPU to burn on top
	work       time.Duration // CPU time that each request burns on top
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

	handshakeBits int           // of the RSA key of TLS connections; 0 for no TLS
	dns           time.Duration // of an answer of the name server that each request queries
	workers       int           // requests that are handled at once; 0 for all
	outbound      int           // connections to the service that each post calls; 0 for no such service
	outboundTime  time.Duration // of one of its answers
	limit         limitFault
	cache         int           // entries of each cache; 0 for its own number
	replica       time.Duration // that the replica needs for one post
	jitter        time.Duration // mean of a random wait of each request
	jitterCoin    chance

	background background
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

const faultUsage = "want cpu:25%, work:5ms, slow-post:20ms[@10%], slow-query:5ms[@10%], pool:N, stall:2s/30s, lock:5ms, hub:5ms, hot-row:5ms, tls:2048, dns:5ms, workers:N, outbound:N/20ms, limit:N[@handler], cache:N, replica:5ms, jitter:20ms, tick:20ms/1s, cron:20ms/1s, later:300us/300ms, lazy:20ms/1s, drop-event:1%, dup-event:1%, reorder-event:1%, error:1%[@handler] or panic:1%[@handler]"

// CheckFault returns an error if the text of one fault is invalid. The faults are:
//
//	cpu:25%              burn that share of a request's average CPU time, user and system, on top, in the request's goroutine
//	work:5ms             burn so much CPU time on top, independent of the request's own
//	slow-post:20ms[@p]   wait before a post is stored, for a share p of them (default all)
//	slow-query:5ms[@p]   wait before a SQL statement, while it holds its connection
//	pool:N               at most N database connections
//	stall:2s/30s         requests that arrive in the last 2 s of each 30 s wait for its end
//	lock:5ms             requests pass one mutex that each holds for so long, asleep
//	hub:5ms              the goroutine that brings events to connections sleeps so long before each posted one
//	hot-row:5ms          a post's transaction updates a row that all of them update, and keeps it for so long
//	tls:2048             serve TLS too, with an RSA key of so many bits, and resume no session
//	dns:5ms              each request resolves a name by a name server that answers one question at a time, each after so long
//	workers:N            at most N requests are handled at once; the others wait for a worker (WebSockets need none)
//	outbound:N/20ms      each post calls a service that takes so long, over at most N connections
//	limit:N[@handler]    answer 429 beyond N requests a second, of all or of one handler, with a burst of a second's
//	cache:N              each cache holds at most N entries (at least 16)
//	replica:5ms          reads wait for a replica that replays posts one at a time, each for so long; a post is read back before its answer
//	jitter:20ms          each request waits a random time with that mean, exponentially distributed
//	tick:20ms/1s         burn so much CPU time each second besides requests; ticks that nobody waits for are dropped
//	cron:20ms/1s         the same, and make up for the periods in which the process stood still
//	later:300us/300ms    burn so much CPU time so long after each request
//	lazy:20ms/1s         burn so much CPU time in the first request after each second
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

func (f *faults) add(text string, seed uint64) error {
	name, arg, _ := strings.Cut(text, ":")
	bad := func(what string) error { return fmt.Errorf("fault %q: %s: %s", text, what, faultUsage) }
	share := func(s string) (float64, error) {
		p, err := parseShare(s)
		if err != nil {
			return 0, bad(err.Error())
		}
		return p, nil
	}
	value, at, hasAt := strings.Cut(arg, "@")
	if hasAt && at == "" {
		return bad("nothing after @")
	}
	if hasAt && name != "slow-post" && name != "slow-query" && name != "error" && name != "panic" && name != "limit" {
		return bad("no @ here")
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
		p := 1.0
		if hasAt {
			if p, err = share(at); err != nil {
				return err
			}
		}
		if name == "slow-post" {
			f.slowPost = delayFault{d, newChance(p, seed, 1)}
		} else {
			f.slowQuery = delayFault{d, newChance(p, seed, 2)}
		}
	case "pool":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 10000 {
			return bad("the number of connections is 1 to 10000")
		}
		f.pool = n
	case "lock", "hub", "hot-row", "work":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > time.Second {
			return bad("the time is a duration above 0, at most 1s")
		}
		switch name {
		case "lock":
			f.lock.d = d
		case "hub":
			f.hub = d
		case "work":
			f.work = d
		default:
			f.hotRow = d
		}
	case "stall":
		a, b, _ := strings.Cut(value, "/")
		d, err1 := time.ParseDuration(a)
		every, err2 := time.ParseDuration(b)
		if err1 != nil || err2 != nil || d <= 0 || every <= d {
			return bad("the stall is DURATION/PERIOD, shorter than its period")
		}
		f.stallFor, f.stallEvery = d, every
	case "drop-event", "dup-event", "reorder-event":
		p, err := share(value)
		if err != nil {
			return err
		}
		switch name {
		case "drop-event":
			f.drop = newChance(p, seed, 3)
		case "dup-event":
			f.dup = newChance(p, seed, 4)
		default:
			f.reorder = newChance(p, seed, 5)
		}
	case "error", "panic":
		p, err := share(value)
		if err != nil {
			return err
		}
		if hasAt && !isHandler(at) {
			return bad("no handler is named " + strconv.Quote(at))
		}
		f.errs = append(f.errs, errorFault{newChance(p, seed, 6+uint64(len(f.errs))), at, name == "panic"})
	case "tls", "dns", "workers", "outbound", "limit", "cache", "replica", "jitter":
		if what := f.addOutside(name, value, at, seed); what != "" {
			return bad(what)
		}
	case "tick", "cron", "later", "lazy":
		if !f.background.set(name, value) {
			return bad("want CPU/DURATION: a CPU time above 0, at most 1s, and 1ms to 1m")
		}
	default:
		return bad("unknown fault")
	}
	return nil
}

// addOutside reads the faults about waits beyond cores, locks and the database; it returns a description of the
// error, or "".
func (f *faults) addOutside(name, value, at string, seed uint64) string {
	number := func(s string, least, most int) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= least && n <= most
	}
	duration := func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d > 0 && d <= time.Second
	}
	var ok bool
	const times = "the time is a duration above 0, at most 1s"
	switch name {
	case "tls":
		if f.handshakeBits, ok = number(value, 2048, 8192); !ok {
			return "the key has 2048 to 8192 bits"
		}
	case "dns":
		if f.dns, ok = duration(value); !ok {
			return times
		}
	case "replica":
		if f.replica, ok = duration(value); !ok {
			return times
		}
	case "jitter":
		if f.jitter, ok = duration(value); !ok {
			return times
		}
		f.jitterCoin = newChance(1, seed, 100)
	case "workers":
		if f.workers, ok = number(value, 1, 10000); !ok {
			return "the number of workers is 1 to 10000"
		}
	case "outbound":
		n, d, _ := strings.Cut(value, "/")
		if f.outbound, ok = number(n, 1, 10000); !ok {
			return "the number of connections is 1 to 10000"
		}
		if f.outboundTime, ok = duration(d); !ok {
			return times
		}
	case "limit":
		n, ok := number(value, 1, 1_000_000)
		if !ok {
			return "the rate is 1 to 1000000 requests a second"
		}
		if at != "" && !isHandler(at) {
			return "no handler is named " + strconv.Quote(at)
		}
		f.limit.rate, f.limit.handler = float64(n), at
	case "cache":
		if f.cache, ok = number(value, 16, 1_000_000); !ok {
			return "the number of entries is 16 to 1000000"
		}
	}
	return ""
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

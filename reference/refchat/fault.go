package refchat

import (
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
	cpu        float64       // share of a request's average CPU time to burn on top
	work       time.Duration // CPU time to burn on top
	workOf     string        // the handler whose requests burn it; "" for all
	slowPost   time.Duration
	slowQuery  time.Duration
	pool       int // connections; 0 for the configured number
	stallFor   time.Duration
	stallEvery time.Duration
	lock       serial
	hub        time.Duration // sleep of a hub's goroutine before each posted event
	hotRow     time.Duration // how long a post's transaction keeps the row that all of them update
	limit      limitFault
	cache      int // entries of each cache; 0 for its own number
	errs       []errorFault
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

// errorFault fails a share of the requests of a handler.
type errorFault struct {
	share   float64
	handler string // "" for all
	panics  bool   // it panics instead of an answer
	mu      *sync.Mutex
	rng     *rand.Rand
}

func (e *errorFault) hits(handler string) bool {
	if e.handler != "" && e.handler != handler {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rng.Float64() < e.share
}

// faultKind is one fault that can be planted.
type faultKind struct {
	name, example string
	ofHandler     bool   // "@" and a handler's name may follow
	want          string // the sentence about a value that [faults.plant] does not accept
}

const (
	wantDelay = "the delay is a duration above 0, at most 1m"
	wantTime  = "the time is a duration above 0, at most 1s"
	wantShare = "the share is above 0 and at most 100%"
)

var faultKinds = []faultKind{
	{"cpu", "25%", false, "the share is a percentage above 0%, at most 1000%"},
	{"work", "5ms", true, wantTime},
	{"slow-post", "20ms", false, wantDelay},
	{"slow-query", "5ms", false, wantDelay},
	{"pool", "N", false, "the number of connections is 1 to 10000"},
	{"stall", "2s/30s", false, "the stall is DURATION/PERIOD, shorter than its period"},
	{"lock", "5ms", false, wantTime},
	{"hub", "5ms", false, wantTime},
	{"hot-row", "5ms", false, wantTime},
	{"limit", "N", true, "the rate is 1 to 1000000 requests a second"},
	{"cache", "N", false, "the number of entries is 16 to 1000000"},
	{"error", "1%", true, wantShare},
	{"panic", "1%", true, wantShare},
}

// plant sets a fault, and reports whether it accepts the value.
func (f *faults) plant(name, value, handler string) bool {
	switch name {
	case "cpu":
		n, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
		f.cpu = n / 100
		return err == nil && strings.HasSuffix(value, "%") && n > 0 && n <= 1000
	case "work":
		f.workOf = handler
		return readDuration(value, time.Second, &f.work)
	case "slow-post":
		return readDuration(value, time.Minute, &f.slowPost)
	case "slow-query":
		return readDuration(value, time.Minute, &f.slowQuery)
	case "pool":
		return readNumber(value, 1, 10_000, &f.pool)
	case "stall":
		length, every, _ := strings.Cut(value, "/")
		return readDuration(every, 1<<62, &f.stallEvery) &&
			readDuration(length, f.stallEvery-1, &f.stallFor)
	case "lock":
		return readDuration(value, time.Second, &f.lock.d)
	case "hub":
		return readDuration(value, time.Second, &f.hub)
	case "hot-row":
		return readDuration(value, time.Second, &f.hotRow)
	case "limit":
		f.limit.handler = handler
		return readNumber(value, 1, 1_000_000, &f.limit.rate)
	case "cache":
		return readNumber(value, 16, 1_000_000, &f.cache)
	}
	return f.failing(value, handler, name == "panic")
}

// faultForms lists the forms of all faults.
func faultForms() string {
	var list []string
	for _, k := range faultKinds {
		form := k.name + ":" + k.example
		if k.ofHandler {
			form += "[@handler]"
		}
		list = append(list, form)
	}
	return strings.Join(list, ", ")
}

// CheckFault returns an error if the text of one fault is invalid. The faults are:
//
//	cpu:25%              burn that share of a request's average CPU, user and system, on top, in its goroutine
//	work:5ms[@handler]   burn so much CPU time on top, independent of the request's own
//	slow-post:20ms       wait before a post is stored
//	slow-query:5ms       wait before a SQL statement, while it holds its connection
//	pool:N               at most N database connections
//	stall:2s/30s         requests that arrive in the last 2 s of each 30 s wait for its end
//	lock:5ms             requests pass one mutex that each holds for so long, asleep
//	hub:5ms              the goroutine that brings events to connections sleeps so long before each posted one
//	hot-row:5ms          a post's transaction updates a row that all of them update, and keeps it for so long
//	limit:N[@handler]    answer 429 beyond N requests a second, of all or of one handler, with a burst of a second's
//	cache:N              each cache holds at most N entries (at least 16)
//	error:1%[@handler]   answer 500, to all requests or to one handler's ("createPost")
//	panic:1%[@handler]   panic in the request, which the server survives and logs
//
// Shares of error and panic are written as 25% or 0.25.
func CheckFault(text string) error { return new(faults).add(text) }

func (f *faults) add(text string) error {
	name, arg, _ := strings.Cut(text, ":")
	value, handler, restricted := strings.Cut(arg, "@")
	bad := func(what string) error {
		return fmt.Errorf("fault %q: %s: want %s", text, what, faultForms())
	}
	i := slices.IndexFunc(faultKinds, func(k faultKind) bool { return k.name == name })
	switch {
	case i < 0:
		return bad("unknown fault")
	case restricted && handler == "":
		return bad("nothing after @")
	case restricted && !faultKinds[i].ofHandler:
		return bad("no @ here")
	case restricted && !slices.ContainsFunc(operations, func(o operation) bool {
		return o.name == handler
	}):
		return bad("no handler is named " + strconv.Quote(handler))
	case !f.plant(name, value, handler):
		return bad(faultKinds[i].want)
	}
	return nil
}

// readDuration reads a duration above 0, up to most.
func readDuration(text string, most time.Duration, to *time.Duration) bool {
	d, err := time.ParseDuration(text)
	*to = d
	return err == nil && d > 0 && d <= most
}

// readNumber reads a number from least to most.
func readNumber(text string, least, most int, to *int) bool {
	n, err := strconv.Atoi(text)
	*to = n
	return err == nil && n >= least && n <= most
}

// failing plants errors for a share above 0, at most 1, written "1%" or "0.01".
func (f *faults) failing(share, handler string, panics bool) bool {
	number, percent := strings.CutSuffix(share, "%")
	p, err := strconv.ParseFloat(number, 64)
	if percent {
		p /= 100
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(f.errs))))
	f.errs = append(f.errs, errorFault{p, handler, panics, new(sync.Mutex), rng})
	return err == nil && p > 0 && p <= 1
}

// fails reports whether a request of handler is to be answered with an error; it panics if that is
// planted.
func (f *faults) fails(handler string) bool {
	for i := range f.errs {
		if f.errs[i].hits(handler) {
			if f.errs[i].panics {
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

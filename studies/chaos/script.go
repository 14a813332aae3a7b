package main

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A phase is the part of a command's life in which a fault strikes.
type phase string

// The phases. All but verifySetup and verifyProofs are of `run`.
const (
	ready     phase = "ready"     // the target's check that it is there
	provision phase = "provision" // from the administrator's login to the first user
	// provisioning behind that login: teams, channels, accounts, members.
	lists  phase = "lists"
	logins phase = "login" // logins with passwords, in the ramp
	// from the first operation of a user to the end of the measured phase.
	ramp     phase = "ramp"
	measured phase = "measured" // from the first third of the measured phase to its end
	audit    phase = "audit"    // reading back after the users have stopped
	// the target's page of metrics, once a second through the whole run.
	scrape       phase = "scrape"
	verifySetup  phase = "verify-setup" // of `target verify`: everything before the first proof
	verifyProofs phase = "verify"       // from the first message that a proof posts
)

// A load is the kind of load that the command makes.
type load string

const (
	posters load = "poster"     // bots that post
	persons load = "mattermost" // people with WebSockets
	feed    load = "newsfeed"   // batches of the news feed
	proofs  load = "verify"     // `target verify`
)

// The times of a bounded test. They are whole seconds because a trial rounds them up.
const (
	rampTime    = time.Second
	measureTime = 2 * time.Second
	searchTime  = 20 * time.Second       // the most of a search, at pace 1
	manyTime    = 8 * time.Second        // the measured phase with many users, who pause for longer
	midStrike   = 600 * time.Millisecond // into the measured phase
)

// settleTime is the time between ramp and measured phase. People load much at their start.
func (l load) settleTime() time.Duration {
	if l == persons {
		return time.Second
	}
	return 0
}

// from is when a fault of a users' phase begins, from the first operation of a user, and until when
// it ends.
func (s *script) from() time.Duration {
	if s.phase == measured {
		return rampTime + s.load.settleTime() + midStrike
	}
	return 0
}

func (s *script) until() time.Duration { return rampTime + s.load.settleTime() + s.measure }

// adminName is the administrator of every run.
const adminName = "sysadmin"

// A script knows from the requests that pass how far the command has come. It is safe for
// concurrent use.
type script struct {
	phase phase
	load  load
	began func() // called once, when connections must feel that the fault begins; may be nil
	// measure is how long the measured phase is.
	measure time.Duration

	mu       sync.Mutex
	first    time.Time // of the users' operations
	logged   bool      // the administrator has logged in
	visited  bool      // the preflight has, and has logged out
	reading  bool      // the audit has begun
	sockets  int       // WebSockets that were asked for
	proving  bool      // the first proof has begun
	strike   chan struct{}
	stricken bool
	timer    *time.Timer
}

func newScript(p phase, l load) *script {
	return &script{phase: p, load: l, measure: measureTime, strike: make(chan struct{})}
}

// active notes a request and reports whether the fault answers it.
func (s *script) active(r *http.Request, body []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := r.URL.Path
	if path == readyPath && s.phase != verifySetup {
		return s.phase == ready
	}
	login := r.Method == http.MethodPost && path == "/api/v4/users/login"
	admin := login && bytes.Contains(body, []byte(`"`+adminName+`"`))
	upgrade := strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
	if upgrade {
		s.sockets++
	}
	logged := s.logged
	s.logged = s.logged || admin
	s.visited = s.visited || path == "/api/v4/users/logout"
	if s.first.IsZero() && s.steady(r, login && !admin, upgrade) {
		s.begin()
	}
	if s.load == proofs && s.sockets >= 2 && r.Method == http.MethodPost &&
		path == "/api/v4/posts" {
		s.proving = true
	}
	if !s.first.IsZero() && (admin || s.audits(r)) {
		s.reading = true
	}
	switch s.phase {
	case provision:
		return s.first.IsZero()
	case lists:
		return s.first.IsZero() && logged && !login
	case logins:
		return login && !admin
	case ramp, measured:
		return !s.reading && s.within(time.Now())
	case scrape:
		return path == metricsPath
	case audit:
		return s.reading && !login // without a login a client reads nothing
	case verifySetup:
		return !s.proving
	case verifyProofs:
		return s.proving
	default:
		return false
	}
}

// steady reports whether a request is the first of those that only users make.
func (s *script) steady(r *http.Request, login, upgrade bool) bool {
	switch s.load {
	case posters:
		return r.Method == http.MethodPost &&
			(r.URL.Path == "/api/v4/posts" || r.URL.Path == "/api/v4/files")
	case persons:
		// the preflight, too, opens a WebSocket
		return s.visited && upgrade || login && s.phase == logins
	case feed:
		return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/participant")
	case proofs:
	}
	return false
}

// audits reports whether a request is one that only an audit makes.
func (s *script) audits(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	switch s.load {
	case posters:
		return strings.HasPrefix(r.URL.Path, "/api/v4/channels/") &&
			strings.HasSuffix(r.URL.Path, "/posts")
	case feed:
		return strings.HasSuffix(r.URL.Path, "/inbound") ||
			strings.HasSuffix(r.URL.Path, "/outbound")
	case persons, proofs:
	}
	return false
}

// begin starts the clock of the users' phases.
func (s *script) begin() {
	s.first = time.Now()
	switch s.phase {
	case ramp:
		s.fire()
	case measured:
		s.timer = time.AfterFunc(s.from(), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.fire()
		})
	default:
	}
}

func (s *script) fire() {
	if s.stricken {
		return
	}
	s.stricken = true
	close(s.strike)
	if s.began != nil {
		go s.began()
	}
}

// within reports whether the fault of a users' phase is on.
func (s *script) within(now time.Time) bool {
	if s.first.IsZero() {
		return false
	}
	since := now.Sub(s.first)
	return since >= s.from() && since < s.until()
}

// activeNow reports whether a fault of connections takes a new one.
func (s *script) activeNow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.phase {
	case ready, verifySetup:
		return true
	case ramp, measured:
		return !s.reading && s.within(time.Now())
	case verifyProofs:
		return s.proving
	default:
		return false
	}
}

// strikes is closed when sockets that are open feel the fault; nil when they never will.
func (s *script) strikes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != ramp && s.phase != measured || s.reading ||
		!s.first.IsZero() && time.Since(s.first) >= s.until() {
		return nil
	}
	return s.strike
}

// end stops the clock.
func (s *script) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

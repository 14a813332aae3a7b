package join

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// greeting is the body of a hello.
type greeting struct {
	Half    []byte `json:"half"` // the coordinator's, of the session
	Build   string `json:"build"`
	Version string `json:"version"`
}

// An Introduction is what an agent says of itself.
type Introduction struct {
	Host    string            `json:"host"`
	Cores   int               `json:"cores"`
	Files   int               `json:"files"` // limit of open files of one process
	Version string            `json:"version"`
	Build   string            `json:"build"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Findings are those of plimsoll doctor that are problems, one line each.
	Findings []string `json:"findings,omitempty"`
	// Rating is that of the host as it is; nil if it has none.
	Rating *Rating `json:"rating,omitempty"`
	Busy   bool    `json:"busy,omitempty"` // a run has it
}

// A Rating is how much load plimsoll calibrate found that a host can make.
type Rating struct {
	Users            int       `json:"users"`               // that it can drive at pace 1, in as many processes as their connections need
	OpsPerSecond     float64   `json:"ops_per_second"`      // of simulated users
	OpsPerUserSecond float64   `json:"ops_per_user_second"` // of one of them at pace 1
	Date             time.Time `json:"date"`
}

// reception is the body of a welcome.
type reception struct {
	To           []byte       `json:"to"`   // the half of the hello
	Half         []byte       `json:"half"` // the agent's
	Received     time.Time    `json:"received"`
	Replied      time.Time    `json:"replied"`
	Refused      string       `json:"refused,omitempty"`
	Introduction Introduction `json:"introduction"`
}

// halfSize is how many bytes of a session each end draws.
const halfSize = 16

func sessionOf(down, up []byte) (id sessionID) {
	sum := sha256.Sum256(append(append([]byte("plimsoll session "), down...), up...))
	copy(id[:], sum[:])
	return id
}

// otherBuild is the refusal of another program.
func otherBuild(what, build, version, ownBuild, ownVersion string) string {
	return fmt.Sprintf("%s is build %s of version %s, and the other end build %s of version %s: both must be the same program file", what, build, version, ownBuild, ownVersion)
}

// AgentConfig configures [Attend]. All fields but Labels are required.
type AgentConfig struct {
	Token *Token
	// URL is nats://HOST:PORT of a coordinator, or tls://HOST:PORT of a cluster, with #sha256:HEX for a certificate that
	// is pinned.
	URL string
	// Introduce describes this host, at present.
	Introduce func() Introduction
	// Build is [Build] of this program.
	Build string
	// Say gets one line for each change of state, and for each message that was refused.
	Say func(format string, args ...any)
	// Serve is the agent in one session, until the stream ends or ctx does.
	Serve func(ctx context.Context, s *Stream) error

	insecure bool // for tests: without TLS
}

// attendant is an agent's state.
type attendant struct {
	conf AgentConfig
	seal *sealer
	nc   *nats.Conn

	mu      sync.Mutex
	pending []sessionID // that a coordinator may begin, the last few
	greeted map[string]bool
	stream  *Stream
	ended   sessionID // the last one: what was under way at its end is no stranger's
	cancel  context.CancelFunc
	failing string // why there is no connection, as it was said
	serving sync.WaitGroup
	told    rarely
}

// Attend waits for coordinators, and serves one after the other until ctx ends. It connects again whenever the
// connection is lost. The error is nil when ctx has ended.
func Attend(ctx context.Context, c AgentConfig) error {
	at, err := parseAddress(c.URL, "nats", "tls")
	if err != nil {
		return err
	}
	a := &attendant{conf: c, greeted: map[string]bool{}, told: rarely{say: c.Say}}
	if a.seal, err = newSealer(c.Token.Curve, c.Token.Coordinator); err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	opts, err := options(c.Token.NKey)
	if err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	switch {
	case c.insecure:
	case at.secure:
		opts = append(opts, at.option())
	default:
		opts = append(opts, nats.Secure(pinned(c.Token.Fingerprint, "token file")))
	}
	opts = append(opts, nats.Name(c.Token.Name), nats.RetryOnFailedConnect(true),
		nats.ConnectHandler(func(*nats.Conn) { a.fails(""); c.Say("connected to %s; waiting for a run", c.URL) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if ctx.Err() == nil {
				c.Say("the connection to %s is lost (%v); trying again", c.URL, err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			a.fails("")
			c.Say("connected to %s again", c.URL)
			if s := a.current(); s != nil {
				s.resume()
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { a.fails(err.Error()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.told.line("the server refuses: %v", err) }))
	if a.nc, err = nats.Connect(at.url, opts...); err != nil {
		return fmt.Errorf("connecting to %s: %w", c.URL, err)
	}
	defer a.nc.Close()
	own, err := publicOf(c.Token.NKey)
	if err != nil {
		return err
	}
	if _, err := a.nc.Subscribe(downTo(own), func(m *nats.Msg) { a.receive(ctx, own, m.Data) }); err != nil {
		return err
	}
	if !a.nc.IsConnected() {
		c.Say("no coordinator at %s yet; waiting", c.URL)
	}
	<-ctx.Done()
	a.leave()
	a.serving.Wait()
	return nil
}

// fails says why there is no connection, once for each reason in a row; "" is for a connection.
func (a *attendant) fails(why string) {
	a.mu.Lock()
	again := why == a.failing || why == ""
	a.failing = why
	a.mu.Unlock()
	if !again {
		a.conf.Say("no connection to %s yet: %s", a.conf.URL, why)
	}
}

func (a *attendant) current() *Stream {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream
}

// leave ends the session under way.
func (a *attendant) leave() {
	a.mu.Lock()
	s, cancel := a.stream, a.cancel
	a.stream = nil
	a.mu.Unlock()
	if s != nil {
		cancel()
		_ = s.Close()
	}
}

// receive takes in a message. Only one goroutine calls it.
func (a *attendant) receive(ctx context.Context, own string, b []byte) {
	received := time.Now()
	p, err := a.seal.open(b)
	if err == nil && p.direction != down {
		err = errors.New("it goes the other way: a message of this end, played back?")
	}
	if err != nil {
		a.told.line("a message to this agent is refused: %v", err)
		return
	}
	send := func(p packet) error {
		b, err := a.seal.seal(p)
		if err != nil {
			return err
		}
		return a.nc.Publish(upFrom(own), b)
	}
	if p.kind == hello {
		if err := a.greet(p, received, send); err != nil {
			a.told.line("a coordinator's call is refused: %v", err)
		}
		return
	}
	a.mu.Lock()
	s := a.stream
	over := s == nil && p.session == a.ended
	begin := slices.Contains(a.pending, p.session) && (s == nil || s.id != p.session)
	a.mu.Unlock()
	switch {
	case over:
		return
	case begin:
		s = a.begin(ctx, p.session, send)
	case s == nil:
		err = errors.New("it is of no session that is open: an old message, played again?")
	}
	if err == nil {
		err = s.receive(p)
	}
	if err != nil {
		a.told.line("a message to this agent is refused: %v", err)
	}
}

// greet answers a coordinator's call.
func (a *attendant) greet(p packet, received time.Time, send func(packet) error) error {
	var g greeting
	if json.Unmarshal(p.body, &g) != nil || len(g.Half) != halfSize {
		return errPacket
	}
	if a.greeted[string(g.Half)] {
		return errors.New("it was there: a message played again")
	}
	if len(a.greeted) >= 10_000 { // hours; an older one begins a session that nobody can go on with
		clear(a.greeted)
	}
	a.greeted[string(g.Half)] = true
	r := reception{To: g.Half, Half: make([]byte, halfSize), Received: received, Introduction: a.conf.Introduce()}
	if _, err := rand.Read(r.Half); err != nil {
		return err
	}
	r.Introduction.Build = a.conf.Build
	a.mu.Lock()
	r.Introduction.Busy = a.stream != nil
	if g.Build != a.conf.Build {
		r.Refused = otherBuild("this agent", a.conf.Build, r.Introduction.Version, g.Build, g.Version)
	} else {
		a.pending = append(a.pending, sessionOf(g.Half, r.Half))
		a.pending = a.pending[max(0, len(a.pending)-8):]
	}
	a.mu.Unlock()
	r.Replied = time.Now()
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := send(packet{direction: up, kind: welcome, body: b}); err != nil {
		return err
	}
	if r.Refused != "" {
		return errors.New(r.Refused)
	}
	return nil
}

// begin makes the session current; one that was there has lost its coordinator.
func (a *attendant) begin(ctx context.Context, id sessionID, send func(packet) error) *Stream {
	a.leave()
	s := newStream(id, up, send, a.told.line)
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	a.stream, a.cancel, a.pending = s, cancel, nil
	a.mu.Unlock()
	a.conf.Say("a run begins")
	a.serving.Go(s.live)
	a.serving.Go(func() {
		defer cancel()
		err := a.conf.Serve(ctx, s)
		if err == nil {
			s.settle(lastAnswer)
		} else {
			s.settle(lastWord)
		}
		a.mu.Lock()
		if a.stream == s {
			a.stream, a.ended = nil, id
		}
		a.mu.Unlock()
		_ = s.Close()
		if err != nil {
			a.conf.Say("the run has ended: %v; waiting for the next", err)
		} else {
			a.conf.Say("the run has ended; waiting for the next")
		}
	})
	return s
}

// lastAnswer is how long a session's stream stays at most until the other end has its last answer, which may have to be
// sent again: as long as a coordinator waits for it. lastWord is so when the session ended with an error: the other end
// may be gone.
const (
	lastAnswer = 20 * time.Second
	lastWord   = 200 * time.Millisecond
)

// rarely says lines, but the same only once a second.
type rarely struct {
	say func(string, ...any)

	mu   sync.Mutex
	last map[string]time.Time
}

func (r *rarely) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	now := time.Now()
	r.mu.Lock()
	quiet := now.Sub(r.last[text]) < time.Second
	if !quiet {
		if r.last == nil || len(r.last) > 100 {
			r.last = map[string]time.Time{}
		}
		r.last[text] = now
	}
	r.mu.Unlock()
	if !quiet {
		r.say("%s", text)
	}
}

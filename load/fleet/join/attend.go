package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// greeting is the body of a call.
type greeting struct {
	Build   string `json:"build"`
	Version string `json:"version"`
}

// An Introduction is an agent's description of itself.
type Introduction struct {
	Host    string            `json:"host"`
	Cores   int               `json:"cores"`
	Files   int               `json:"files"` // limit of open files of one process
	Version string            `json:"version"`
	Build   string            `json:"build"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Findings are the problems that plimsoll doctor finds, one line each.
	Findings []string `json:"findings,omitempty"`
	// Rating is the rating of the host as it is; nil if it has none.
	Rating *Rating `json:"rating,omitempty"`
	Busy   bool    `json:"busy,omitempty"` // a run has it
	// Role is the role of a host that has no users: it sends samples of its probes.
	Role string `json:"role,omitempty"`
}

// A Rating is the load that a host can make, as plimsoll calibrate has found.
type Rating struct {
	// Users can be driven at pace 1, in as many processes as their connections need.
	Users            int       `json:"users"`
	OpsPerSecond     float64   `json:"ops_per_second"`      // of simulated users
	OpsPerUserSecond float64   `json:"ops_per_user_second"` // of one of them at pace 1
	Date             time.Time `json:"date"`
}

// reception is the body of the answer to a call.
type reception struct {
	Received     time.Time    `json:"received"`
	Replied      time.Time    `json:"replied"`
	Refused      string       `json:"refused,omitempty"`
	Introduction Introduction `json:"introduction"`
}

// otherBuild is the refusal of another program.
func otherBuild(what, build, version, ownBuild, ownVersion string) string {
	return fmt.Sprintf("%s is build %s of version %s, and the other end build %s of version %s: "+
		"both must be the same program file", what, build, version, ownBuild, ownVersion)
}

// AgentConfig configures [Attend]. Either Sample or Serve may be nil, the others are required.
type AgentConfig struct {
	Token *Token
	// URL is nats://HOST:PORT of a coordinator, or tls://HOST:PORT of a cluster, with #sha256:HEX
	// for a certificate that is pinned.
	URL string
	// Introduce describes this host, at present.
	Introduce func() Introduction
	// Build is [Build] of this program.
	Build string
	// Say gets one line for each change of state, and for each message that was refused.
	Say func(format string, args ...any)
	// Sample answers a reader of the probes of a host that has a role and no users.
	Sample func(ctx context.Context, reader string) ([]byte, error)
	// Serve is the agent in one session, until that is closed or ctx ends; nil for a host without
	// users.
	Serve func(ctx context.Context, s *Responder) error

	insecure bool // for tests: without TLS
}

// attendant is an agent's state.
type attendant struct {
	conf AgentConfig
	nc   *nats.Conn
	up   string // how the subjects begin that it publishes on

	mu      sync.Mutex
	session *Responder // the last one; nil before the first
	cancel  context.CancelFunc
	failing string // why there is no connection, as it was said
	serving sync.WaitGroup
	told    rarely
}

// Attend waits for coordinators, and serves one after the other until ctx ends. It connects again
// whenever the connection is lost. The error is nil when ctx has ended.
func Attend(ctx context.Context, c AgentConfig) error {
	at, err := parseAddress(c.URL, "nats", "tls")
	if err != nil {
		return err
	}
	opts, err := options(c.Token.NKey)
	if err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	own, err := publicOf(c.Token.NKey)
	if err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	a := &attendant{conf: c, up: "plimsoll." + own + ".up.", told: rarely{say: c.Say}}
	switch {
	case c.insecure:
	case at.secure:
		opts = append(opts, at.option())
	default:
		opts = append(opts, nats.Secure(pinned(c.Token.Fingerprint, "token file")))
	}
	opts = append(opts, nats.Name(c.Token.Name), nats.RetryOnFailedConnect(true),
		nats.ConnectHandler(func(*nats.Conn) {
			a.fails("")
			c.Say("connected to %s; waiting for a run", c.URL)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if ctx.Err() == nil {
				c.Say("the connection to %s is lost (%v); trying again", c.URL, err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			a.fails("")
			c.Say("connected to %s again", c.URL)
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { a.fails(err.Error()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			a.told.line("the server refuses: %v", err)
		}))
	if a.nc, err = nats.Connect(at.url, opts...); err != nil {
		return fmt.Errorf("connecting to %s: %w", c.URL, err)
	}
	defer a.nc.Close()
	sub, err := a.nc.Subscribe(downTo(own), func(m *nats.Msg) { a.receive(ctx, m) })
	if err != nil {
		return err
	}
	if !a.nc.IsConnected() {
		c.Say("no coordinator at %s yet; waiting", c.URL)
	}
	<-ctx.Done()
	_ = sub.Unsubscribe() // a connection that is lost has none
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

func (a *attendant) current() *Responder {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session
}

// leave ends the session under way.
func (a *attendant) leave() {
	a.mu.Lock()
	s, cancel := a.session, a.cancel
	a.session = nil
	a.mu.Unlock()
	if s != nil {
		cancel()
		_ = s.Close()
	}
}

// receive takes in a message. Only one goroutine calls it.
func (a *attendant) receive(ctx context.Context, m *nats.Msg) {
	received := time.Now()
	n, st, err := numberOf(m)
	s := a.current()
	switch {
	case err != nil || !strings.HasPrefix(m.Reply, a.up):
		err = errMessage
	case st == call:
		err = a.greet(m, n, received)
	case st == sample && a.conf.Sample != nil:
		a.serving.Go(func() { a.answer(ctx, m, n) })
	case a.conf.Serve == nil:
		err = errors.New("this agent has no users")
	case s != nil && s.to == m.Reply:
		err = s.receive(n, st, m.Data)
	case n != 1: // a session begins with the first request
		err = errors.New(
			"it is of a run in which this agent has no part; was it started anew, or has " +
				"another run taken it?",
		)
	case st == whole:
		err = a.begin(ctx, m.Reply).receive(n, st, m.Data)
	default:
		err = newResponder(a.nc, m.Reply).receive(n, st, nil)
	}
	if err != nil {
		a.told.line("a message to this agent is refused: %v", err)
	}
}

// answer answers a reader of this host's probes.
func (a *attendant) answer(ctx context.Context, m *nats.Msg, number uint64) {
	b, err := a.conf.Sample(ctx, string(m.Data))
	if err == nil {
		err = fits(a.nc, len(b))
	}
	if err == nil {
		err = a.nc.PublishMsg(numbered(m.Reply, "", number, sample, b))
	}
	if err != nil {
		a.told.line("the samples of this host cannot be sent: %v", err)
	}
}

// greet answers a coordinator's call.
func (a *attendant) greet(m *nats.Msg, number uint64, received time.Time) error {
	var g greeting
	if json.Unmarshal(m.Data, &g) != nil {
		return errMessage
	}
	r := reception{Received: received, Introduction: a.conf.Introduce()}
	r.Introduction.Build = a.conf.Build
	s := a.current()
	r.Introduction.Busy = s != nil && !s.over()
	if g.Build != a.conf.Build {
		r.Refused = otherBuild(
			"this agent",
			a.conf.Build,
			r.Introduction.Version,
			g.Build,
			g.Version,
		)
	}
	r.Replied = time.Now()
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := a.nc.PublishMsg(numbered(m.Reply, "", number, call, b)); err != nil {
		return err
	}
	if r.Refused != "" {
		return errors.New(r.Refused)
	}
	return nil
}

// begin makes a session current; one that was there has lost its coordinator.
func (a *attendant) begin(ctx context.Context, to string) *Responder {
	a.leave()
	s := newResponder(a.nc, to)
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	a.session, a.cancel = s, cancel
	a.mu.Unlock()
	a.conf.Say("a run begins")
	a.serving.Go(func() {
		defer cancel()
		err := a.conf.Serve(ctx, s)
		_ = s.Close()
		if err != nil {
			a.conf.Say("the run has ended: %v; waiting for the next", err)
		} else {
			a.conf.Say("the run has ended; waiting for the next")
		}
	})
	return s
}

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

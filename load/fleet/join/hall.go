package join

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"plimsoll/internal/plain"
)

// DefaultListen is where a coordinator's server listens unless it is asked for more.
const DefaultListen = "127.0.0.1:4222"

const (
	// calls is how often agents are called, and gone how long ago one that is here has answered last.
	calls = 500 * time.Millisecond
	gone  = 3 * calls
	// mostRefusal is how many bytes of an agent's reason for a refusal are read.
	mostRefusal = 1000
)

// Build returns a digest of this program's file: two programs are the same when they have the same.
func Build() (string, error) { return BuildOf("/proc/self/exe") }

// BuildOf returns what [Build] is in a program of this file.
func BuildOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading this program: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading this program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// HallConfig configures a [Hall]. Either URL or Listen is set.
type HallConfig struct {
	Keys *Keys
	// URL is tls://HOST:PORT of a cluster, as [AgentConfig] has it, and Listen where a server of ours listens.
	URL, Listen    string
	Build, Version string
	Say            func(format string, args ...any)

	insecure bool // for tests: a cluster without TLS
}

// A Hall is where agents come to. Methods are safe for concurrent use.
type Hall struct {
	conf   HallConfig
	server *server.Server // nil for a cluster's
	nc     *nats.Conn
	guests map[string]*guest // by nkey
	told   rarely
	stop   chan struct{}
	done   sync.WaitGroup
}

// A Member is an agent that answers.
type Member struct {
	Name string `json:"name"`
	Introduction
	// Offset is by how much its clock is ahead of this one, give or take Error.
	Offset time.Duration `json:"clock_offset"`
	Error  time.Duration `json:"clock_error"`
}

// guest is an agent as the hall sees it.
type guest struct {
	key  AgentKey
	seal *sealer

	mu       sync.Mutex
	called   [4]call // the last ones
	n        int
	answered time.Time
	session  sessionID
	member   Member
	refused  string
	stream   *Stream
	ended    sessionID     // the last one: what was under way at its end is no stranger's
	best     time.Duration // the shortest way so far
}

type call struct {
	half []byte
	at   time.Time
}

// Open begins to listen, or connects to a cluster, and calls the agents from then on until Close.
func Open(c HallConfig) (*Hall, error) {
	h := &Hall{conf: c, guests: map[string]*guest{}, told: rarely{say: c.Say}, stop: make(chan struct{})}
	for _, a := range c.Keys.Agents {
		seal, err := newSealer(c.Keys.Curve, a.Curve)
		if err != nil {
			return nil, fmt.Errorf("key file: agent %s: %w", a.Name, err)
		}
		h.guests[a.NKey] = &guest{key: a, seal: seal}
	}
	opts, err := options(c.Keys.NKey)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	opts = append(opts, nats.Name("plimsoll coordinator"), nats.ReconnectHandler(func(*nats.Conn) { h.resume() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			h.told.line("the fleet's server refuses: %v", err)
		}))
	url := c.URL
	if url == "" {
		if h.server, err = embed(c.Keys, c.Listen, h.told.line); err != nil {
			return nil, err
		}
		opts = append(opts, nats.InProcessServer(h.server))
	} else if !c.insecure {
		at, err := parseAddress(url, "tls")
		if err != nil {
			return nil, fmt.Errorf("-nats: %w", err)
		}
		url, opts = at.url, append(opts, at.option())
	}
	if h.nc, err = nats.Connect(url, opts...); err != nil {
		h.Close()
		return nil, fmt.Errorf("connecting to the fleet's server: %w", err)
	}
	if _, err := h.nc.Subscribe(allUp, h.receive); err != nil {
		h.Close()
		return nil, err
	}
	h.done.Go(h.callAll)
	return h, nil
}

// Close ends all links and the server.
func (h *Hall) Close() {
	select {
	case <-h.stop:
		return
	default:
		close(h.stop)
	}
	for _, g := range h.guests {
		g.mu.Lock()
		s := g.stream
		g.mu.Unlock()
		if s != nil {
			_ = s.Close()
		}
	}
	h.done.Wait()
	if h.nc != nil {
		h.nc.Close()
	}
	if h.server != nil {
		h.server.Shutdown()
	}
}

// Addr is where agents connect to.
func (h *Hall) Addr() string {
	if h.server == nil {
		return h.conf.URL
	}
	return "nats://" + h.server.Addr().String()
}

func (h *Hall) resume() {
	for _, g := range h.guests {
		g.mu.Lock()
		s := g.stream
		g.mu.Unlock()
		if s != nil {
			s.resume()
		}
	}
}

// callAll calls the agents without a link, again and again.
func (h *Hall) callAll() {
	t := time.NewTicker(calls)
	defer t.Stop()
	for {
		for _, g := range h.guests {
			g.mu.Lock()
			linked := g.stream != nil
			g.mu.Unlock()
			if !linked {
				h.call(g)
			}
		}
		select {
		case <-h.stop:
			return
		case <-t.C:
		}
	}
}

func (h *Hall) call(g *guest) {
	half := make([]byte, halfSize)
	if _, err := rand.Read(half); err != nil {
		return
	}
	body, err := json.Marshal(greeting{Half: half, Build: h.conf.Build, Version: h.conf.Version})
	if err != nil {
		return
	}
	g.mu.Lock()
	g.called[g.n%len(g.called)] = call{half, time.Now()}
	g.n++
	g.mu.Unlock()
	_ = h.publish(g, packet{direction: down, kind: hello, body: body}) // the next call is soon
}

func (h *Hall) publish(g *guest, p packet) error {
	b, err := g.seal.seal(p)
	if err != nil {
		return err
	}
	return h.nc.Publish(downTo(g.key.NKey), b)
}

// receive takes in a message.
func (h *Hall) receive(m *nats.Msg) {
	came := time.Now()
	g := h.guests[strings.TrimSuffix(strings.TrimPrefix(m.Subject, "plimsoll."), ".up")]
	if g == nil {
		h.told.line("a message on %s is refused: no agent has this subject", m.Subject)
		return
	}
	p, err := g.seal.open(m.Data)
	if err == nil && p.direction != up {
		err = errors.New("it goes the other way: a message of this end, played back?")
	}
	if err == nil {
		g.mu.Lock()
		s, ended := g.stream, g.ended
		g.mu.Unlock()
		switch {
		case s == nil && p.kind != welcome && p.session == ended:
		case p.kind == welcome:
			err = h.welcomed(g, p, came)
		case s == nil:
			err = errors.New("it is of no session that is open: an old message, played again?")
		default:
			err = s.receive(p)
		}
	}
	if err != nil {
		h.told.line("a message of agent %s is refused: %v", g.key.Name, err)
	}
}

// welcomed takes in the answer to a call.
func (h *Hall) welcomed(g *guest, p packet, came time.Time) error {
	var r reception
	if json.Unmarshal(p.body, &r) != nil || len(r.Half) != halfSize {
		return errPacket
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.called[:], func(c call) bool { return c.half != nil && string(c.half) == string(r.To) })
	if i < 0 {
		return errors.New("it answers no call: an old message, played again?")
	}
	sent := g.called[i]
	g.called[i].half = nil
	if r.Introduction.Build != h.conf.Build && r.Refused == "" {
		r.Refused = otherBuild("it", r.Introduction.Build, r.Introduction.Version, h.conf.Build, h.conf.Version)
	}
	if g.refused = plain.Cut(r.Refused, mostRefusal); r.Refused != "" {
		g.answered = time.Time{}
		return errors.New(g.refused)
	}
	out, back := r.Received.Sub(sent.at.Round(0)), r.Replied.Sub(came.Round(0))
	way := came.Sub(sent.at) - r.Replied.Sub(r.Received)
	m := Member{Name: g.key.Name, Introduction: r.Introduction, Offset: (out + back) / 2, Error: max(way, 0) / 2}
	if !g.answered.IsZero() && g.best > 0 && way > g.best { // the shortest way knows best
		m.Offset, m.Error = g.member.Offset, g.member.Error
	} else {
		g.best = way
	}
	if g.stream != nil {
		return nil // to a call from before the link
	}
	g.answered, g.member, g.session = came, m, sessionOf(r.To, r.Half)
	return nil
}

// Members returns the agents that answer, by name.
func (h *Hall) Members() (out []Member) {
	for _, g := range h.guests {
		g.mu.Lock()
		if time.Since(g.answered) < gone {
			out = append(out, g.member)
		}
		g.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Missing returns a line for each known agent that does not answer, with the reason that is known.
func (h *Hall) Missing() (out []string) {
	for _, g := range h.guests {
		g.mu.Lock()
		if time.Since(g.answered) >= gone {
			why := "it has not joined"
			if g.refused != "" {
				why = g.refused
			}
			out = append(out, fmt.Sprintf("agent %s: %s", g.key.Name, why))
		}
		g.mu.Unlock()
	}
	slices.Sort(out)
	return out
}

// Link opens a stream to an agent that answers, and that no other coordinator's run has. Until it is closed, the agent is
// not called.
func (h *Hall) Link(name string) (*Stream, error) {
	for _, g := range h.guests {
		if g.key.Name != name {
			continue
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		switch {
		case g.stream != nil:
			return nil, fmt.Errorf("agent %s has a link already", name)
		case time.Since(g.answered) >= gone:
			return nil, fmt.Errorf("agent %s does not answer", name)
		case g.member.Busy && g.ended == sessionID{}: // it would leave that run; not one of this hall, which is over
			return nil, fmt.Errorf("agent %s: another run has it", name)
		}
		s := newStream(g.session, down, func(p packet) error { return h.publish(g, p) }, func(format string, args ...any) {
			h.told.line("agent "+name+": "+format, args...)
		})
		g.stream, g.answered = s, time.Time{}
		h.done.Go(s.live)
		h.done.Go(func() {
			<-s.stop
			g.mu.Lock()
			g.stream, g.ended = nil, s.id
			g.mu.Unlock()
		})
		return s, nil
	}
	return nil, fmt.Errorf("no agent %s is known", name)
}

// Context returns a context that ends with the hall.
func (h *Hall) context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-h.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Await waits until enough reports that the members suffice, or patience has passed; then it returns an error.
func (h *Hall) Await(ctx context.Context, patience time.Duration, enough func([]Member) bool) ([]Member, error) {
	ctx, cancel := h.context(ctx)
	defer cancel()
	end := time.NewTimer(patience)
	defer end.Stop()
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		ms := h.Members()
		if enough(ms) {
			return ms, nil
		}
		select {
		case <-ctx.Done():
			return ms, context.Cause(ctx)
		case <-end.C:
			return ms, ErrMissing
		case <-t.C:
		}
	}
}

// ErrMissing reports that agents did not join in time.
var ErrMissing = errors.New("agents are missing")

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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"plimsoll/internal/plain"
)

// DefaultListen is the address of a coordinator's server unless another is asked for.
const DefaultListen = "127.0.0.1:4222"

const (
	// calls is the time between two calls to an agent, and gone the age of its last answer when it
	// counts as gone.
	calls = 500 * time.Millisecond
	gone  = 3 * calls
	// mostRefusal is the largest length of an agent's reason for a refusal, in bytes; the rest is
	// not read.
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
	// URL is tls://HOST:PORT of a cluster, as [AgentConfig] has it, and Listen where a server of
	// ours listens.
	URL, Listen    string
	Build, Version string
	Say            func(format string, args ...any)

	insecure bool // for tests: a cluster without TLS
}

// A Hall receives agents. Methods are safe for concurrent use.
type Hall struct {
	conf   HallConfig
	id     string         // a token of the subjects of its sessions
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
	// Offset is the lead of its clock over this one, give or take Error.
	Offset time.Duration `json:"clock_offset"`
	Error  time.Duration `json:"clock_error"`
}

// guest is an agent as the hall sees it.
type guest struct {
	key AgentKey

	mu       sync.Mutex
	called   [4]time.Time // when the last ones were, by number
	calls    uint64
	answered time.Time
	member   Member
	refused  string
	link     *Requester
	links    int    // so far
	asked    uint64 // questions of readers
	waiting  map[uint64]chan []byte
	best     time.Duration // the shortest way so far
}

// Open begins to listen, or connects to a cluster, and calls the agents from then on until Close.
func Open(c HallConfig) (*Hall, error) {
	h := &Hall{conf: c, id: rand.Text(), guests: map[string]*guest{}, told: rarely{say: c.Say},
		stop: make(chan struct{})}
	for _, a := range c.Keys.Agents {
		h.guests[a.NKey] = &guest{key: a, waiting: map[uint64]chan []byte{}}
	}
	opts, err := options(c.Keys.NKey)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	opts = append(opts, nats.Name("plimsoll coordinator"),
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
	if _, err := h.nc.Subscribe("plimsoll.*.up."+h.id+".*", h.receive); err != nil {
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
		if l := g.linked(); l != nil {
			_ = l.Close()
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

// Addr returns the address that agents connect to.
func (h *Hall) Addr() string {
	if h.server == nil {
		return h.conf.URL
	}
	return "nats://" + h.server.Addr().String()
}

func (g *guest) linked() *Requester {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.link
}

// sessionTo is the subject of what an agent answers in one session.
func (h *Hall) sessionTo(g *guest, session string) string {
	return "plimsoll." + g.key.NKey + ".up." + h.id + "." + session
}

// callAll calls the agents without a link, again and again, and gives those with one a sign of
// life.
func (h *Hall) callAll() {
	t := time.NewTicker(calls)
	defer t.Stop()
	for {
		for _, g := range h.guests {
			if l := g.linked(); l != nil {
				l.beat()
			} else {
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
	body, err := json.Marshal(greeting{Build: h.conf.Build, Version: h.conf.Version})
	if err != nil {
		return
	}
	g.mu.Lock()
	g.calls++
	n := g.calls
	g.called[n%uint64(len(g.called))] = time.Now()
	g.mu.Unlock()
	m := numbered(downTo(g.key.NKey), h.sessionTo(g, string(call)), n, call, body)
	_ = h.nc.PublishMsg(m) // the next call is soon
}

// receive takes in a message.
func (h *Hall) receive(m *nats.Msg) {
	came := time.Now()
	if m.Header.Get("Status") != "" { // of the server: nobody listens at present
		return
	}
	parts := strings.Split(m.Subject, ".")
	g, session := h.guests[parts[1]], parts[len(parts)-1]
	if g == nil {
		h.told.line("a message on %s is refused: no agent has this subject", m.Subject)
		return
	}
	n, st, err := numberOf(m)
	switch {
	case err != nil:
	case st == call:
		err = h.welcomed(g, n, m.Data, came)
	case st == sample:
		g.answeredReader(n, m.Data)
	default:
		if l := g.linked(); l != nil && session == l.session {
			l.receive(n, st, m.Data)
		}
	}
	if err != nil {
		h.told.line("a message of agent %s is refused: %v", g.key.Name, err)
	}
}

// welcomed takes in the answer to a call.
func (h *Hall) welcomed(g *guest, number uint64, body []byte, came time.Time) error {
	var r reception
	if json.Unmarshal(body, &r) != nil {
		return errMessage
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.link != nil || number > g.calls || g.calls-number >= uint64(len(g.called)) {
		return nil // to a call from before the link, or long ago
	}
	sent := g.called[number%uint64(len(g.called))]
	if r.Introduction.Build != h.conf.Build && r.Refused == "" {
		r.Refused = otherBuild("it", r.Introduction.Build, r.Introduction.Version, h.conf.Build,
			h.conf.Version)
	}
	if g.refused = plain.Cut(r.Refused, mostRefusal); r.Refused != "" {
		g.answered = time.Time{}
		return errors.New(g.refused)
	}
	out, back := r.Received.Sub(sent.Round(0)), r.Replied.Sub(came.Round(0))
	way := came.Sub(sent) - r.Replied.Sub(r.Received)
	m := Member{Name: g.key.Name, Introduction: r.Introduction, Offset: (out + back) / 2,
		Error: max(way, 0) / 2}
	if !g.answered.IsZero() && g.best > 0 && way > g.best { // the shortest way knows best
		m.Offset, m.Error = g.member.Offset, g.member.Error
	} else {
		g.best = way
	}
	g.answered, g.member = came, m
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

// A MissingAgent is a known agent that does not answer.
type MissingAgent struct{ Name, Why string }

// String returns a line for people.
func (a MissingAgent) String() string { return fmt.Sprintf("agent %s: %s", a.Name, a.Why) }

// Missing returns the known agents that do not answer, by name, with the reasons that are known.
func (h *Hall) Missing() (out []MissingAgent) {
	for _, g := range h.guests {
		g.mu.Lock()
		if time.Since(g.answered) >= gone {
			why := "it has not joined"
			if g.refused != "" {
				why = g.refused
			}
			out = append(out, MissingAgent{g.key.Name, why})
		}
		g.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b MissingAgent) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// guest returns the agent of a name.
func (h *Hall) guest(name string) (*guest, error) {
	for _, g := range h.guests {
		if g.key.Name == name {
			return g, nil
		}
	}
	return nil, fmt.Errorf("no agent %s is known", name)
}

// Link begins a session with an agent that answers, and that no other coordinator's run has. Until
// it is closed, the agent is not called.
func (h *Hall) Link(name string) (*Requester, error) {
	g, err := h.guest(name)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.link != nil:
		return nil, fmt.Errorf("agent %s has a link already", name)
	case time.Since(g.answered) >= gone:
		return nil, fmt.Errorf("agent %s does not answer", name)
	case g.member.Role != "":
		return nil, fmt.Errorf(
			"agent %s has the probes of role %s and no users",
			name,
			g.member.Role,
		)
	case g.member.Busy && g.links == 0: // it would leave that run; not one of this hall, which is over
		return nil, fmt.Errorf("agent %s: another run has it", name)
	}
	g.links++
	session := strconv.Itoa(g.links)
	g.link = newRequester(h.nc, downTo(g.key.NKey), h.sessionTo(g, session), func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.link = nil
	})
	g.link.session, g.answered = session, time.Time{}
	return g.link, nil
}

// answeredReader hands an answer to the reader that waits for it.
func (g *guest) answeredReader(number uint64, body []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if came := g.waiting[number]; came != nil {
		delete(g.waiting, number)
		came <- body // there is room for one
	}
}

// Reader returns a new reader of the probes of an agent that has a role. Each call is one question.
func (h *Hall) Reader(name string) func(ctx context.Context) ([]byte, error) {
	reader := []byte(rand.Text())
	return func(ctx context.Context) ([]byte, error) {
		g, err := h.guest(name)
		if err != nil {
			return nil, err
		}
		return h.ask(ctx, g, reader)
	}
}

func (h *Hall) ask(ctx context.Context, g *guest, reader []byte) ([]byte, error) {
	came := make(chan []byte, 1)
	g.mu.Lock()
	g.asked++
	n := g.asked
	g.waiting[n] = came
	g.mu.Unlock()
	m := numbered(downTo(g.key.NKey), h.sessionTo(g, string(sample)), n, sample, reader)
	err := h.nc.PublishMsg(m)
	if err == nil {
		select {
		case b := <-came:
			return b, nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waiting, n)
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case time.Since(g.answered) >= gone:
		return nil, fmt.Errorf("agent %s does not answer; does plimsoll agent -join run there?",
			g.key.Name)
	}
	return nil, errors.New("no answer in time; is that host overloaded?")
}

// Await waits until enough reports that the members suffice, or patience has passed; then it
// returns an error.
func (h *Hall) Await(ctx context.Context, patience time.Duration,
	enough func([]Member) bool) ([]Member, error) {
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
		case <-h.stop:
			return ms, context.Canceled
		case <-end.C:
			return ms, ErrMissing
		case <-t.C:
		}
	}
}

// ErrMissing reports that agents did not join in time.
var ErrMissing = errors.New("agents are missing")

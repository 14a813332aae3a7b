package join

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"plimsoll/internal/files"
)

// patience ends every wait of these tests.
const patience = 20 * time.Second

// said gathers lines.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// wait waits for a line with all words in it.
func (s *said) wait(t *testing.T, words ...string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		for _, l := range s.lines {
			all := true
			for _, w := range words {
				all = all && strings.Contains(l, w)
			}
			if all {
				s.mu.Unlock()
				return
			}
		}
		text := strings.Join(s.lines, "\n")
		s.mu.Unlock()
		if time.Now().After(end) {
			t.Fatalf("no line with %q in:\n%s", words, text)
		}
	}
}

// keyFiles makes a key file and the tokens of agents.
func keyFiles(t *testing.T, names ...string) (*Keys, []*Token) {
	t.Helper()
	dir := t.TempDir()
	var tokens []*Token
	for _, name := range names {
		file := filepath.Join(dir, name+".nk")
		if _, err := NewToken(files.OS{}, filepath.Join(dir, "fleet.json"), file); err != nil {
			t.Fatal(err)
		}
		tok, err := ReadToken(file)
		must(t, err)
		tokens = append(tokens, tok)
	}
	keys, err := ReadKeys(filepath.Join(dir, "fleet.json"))
	must(t, err)
	return keys, tokens
}

// hall opens a hall with a server of its own.
func hall(t *testing.T, c HallConfig) (*Hall, *said) {
	t.Helper()
	s := new(said)
	c.Say = s.line
	if c.URL == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Build == "" {
		c.Build = "b1"
	}
	h, err := Open(c)
	must(t, err)
	t.Cleanup(h.Close)
	return h, s
}

// attend runs an agent until the end of the test. It sends back what it receives.
func attend(t *testing.T, c AgentConfig) *said {
	t.Helper()
	s := new(said)
	c.Say = s.line
	if c.Introduce == nil {
		c.Introduce = func() Introduction {
			return Introduction{Host: "here", Version: "v", Labels: map[string]string{"zone": "a"}}
		}
	}
	if c.Build == "" {
		c.Build = "b1"
	}
	if c.Serve == nil {
		c.Serve = echo
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Attend(ctx, c) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// echo replies to each request, a line, with itself.
func echo(ctx context.Context, s *Responder) error {
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	for lines := bufio.NewReader(s); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		if _, err := s.Write(line); err != nil {
			return err
		}
	}
}

func await(t *testing.T, h *Hall, n int) []Member {
	t.Helper()
	ms, err := h.Await(t.Context(), patience, func(ms []Member) bool { return len(ms) == n })
	if err != nil {
		t.Fatalf("%v: %+v; missing %q", err, ms, h.Missing())
	}
	return ms
}

// exchange sends a request of so many bytes and reads its reply.
func exchange(t *testing.T, l *Requester, n int) {
	t.Helper()
	out := append(bytes.Repeat([]byte("x"), n-1), '\n')
	if _, err := l.Write(out); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = l.Close() })
	defer timer.Stop()
	back := make([]byte, n)
	if _, err := io.ReadFull(l, back); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, back) {
		t.Fatalf("%d bytes came back changed", n)
	}
}

// Agents join, run after run, and a link carries small and large messages whole.
func TestAgentsJoin(t *testing.T) {
	keys, tokens := keyFiles(t, "a", "b")
	h, _ := hall(t, HallConfig{Keys: keys})
	want := Rating{Users: 9000, OpsPerSecond: 450, OpsPerUserSecond: 0.05,
		Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	attend(t, AgentConfig{Token: tokens[0], URL: h.Addr()})
	attend(t, AgentConfig{Token: tokens[1], URL: h.Addr(),
		Introduce: func() Introduction { return Introduction{Rating: &want} }})
	ms := await(t, h, 2)
	if ms[0].Name != "a" || ms[1].Name != "b" || ms[0].Host != "here" ||
		ms[0].Labels["zone"] != "a" ||
		ms[0].Build != "b1" ||
		len(h.Missing()) != 0 {
		t.Errorf("%+v", ms)
	}
	if got := ms[1].Rating; got == nil || *got != want || ms[0].Rating != nil {
		t.Errorf("%+v and %+v, want none and %+v", ms[0].Rating, got, want)
	}
	for range 2 {
		s, err := h.Link("a")
		must(t, err)
		if _, err := h.Link("a"); err == nil {
			t.Error("one agent has two links")
		}
		exchange(t, s, 10)
		exchange(t, s, 5<<20)
		_ = s.Close()
		await(t, h, 2) // for the next run
	}
}

// An agent that another coordinator's run has is not linked, and that run goes on.
func TestABusyAgentIsNotTaken(t *testing.T) {
	keys, tokens := keyFiles(t, "a")
	url := cluster(t, keys, new(server.Options)).ClientURL()
	first, _ := hall(t, HallConfig{Keys: keys, URL: url, insecure: true})
	second, _ := hall(t, HallConfig{Keys: keys, URL: url, insecure: true})
	attend(t, AgentConfig{Token: tokens[0], URL: url, insecure: true})
	await(t, first, 1)
	await(t, second, 1)
	s, err := first.Link("a")
	must(t, err)
	exchange(t, s, 10)
	if _, err := second.Await(t.Context(), patience, func(ms []Member) bool {
		return len(ms) == 1 && ms[0].Busy
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Link("a"); !says(err, "agent a: another run has it") {
		t.Errorf("the agent of another run is linked: %v", err)
	}
	exchange(t, s, 10)
}

// What is not an agent of this coordinator is refused with a line.
func TestStrangers(t *testing.T) {
	keys, tokens := keyFiles(t, "a", "b")
	h, told := hall(t, HallConfig{Keys: keys})
	_, others := keyFiles(t, "a")

	// A wrong key: of another coordinator, but with the right certificate.
	wrong := *others[0]
	wrong.Fingerprint = tokens[0].Fingerprint
	attend(t, AgentConfig{
		Token: &wrong,
		URL:   h.Addr(),
	}).wait(t, "no connection", "Authorization Violation")
	told.wait(t, "refused by the fleet's server", "authentication error")
	// Another certificate.
	attend(t, AgentConfig{
		Token: others[0],
		URL:   h.Addr(),
	}).wait(t, "no connection", "certificate is not the one of the token file")
	// Another build, named on both sides.
	attend(t, AgentConfig{
		Token: tokens[0],
		URL:   h.Addr(),
		Build: "b2",
	}).wait(t, "refused", "this agent is build b2", "the other end build b1")
	told.wait(t, "agent a", "build b2")
	if ms := h.Members(); len(ms) > 0 {
		t.Errorf("strangers have joined: %+v", ms)
	}
	if lines := fmt.Sprint(h.Missing()); !strings.Contains(
		lines,
		"agent a: this agent is build b2",
	) ||
		!strings.Contains(lines, "agent b: it has not joined") {
		t.Errorf("missing: %s", lines)
	}

	// Subjects of others: an agent may neither listen to nor speak on them.
	lines := new(said)
	nc := connect(t, tokens[0], h.Addr(), nats.Secure(pinned(tokens[0].Fingerprint, "token file")),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription,
			err error) {
			lines.line("%v", err)
		}))
	if _, err := nc.SubscribeSync(">"); err != nil {
		t.Fatal(err)
	}
	must(t, nc.Publish(strings.TrimSuffix(upFrom(keys.Agents[1].NKey), ">")+"x", []byte("x")))
	lines.wait(t, "Permissions Violation for Subscription")
	lines.wait(t, "Permissions Violation for Publish")
	told.wait(t, "refused by the fleet's server", "Subscription Violation")
	told.wait(t, "refused by the fleet's server", "Publish Violation")
}

// cluster is a server of somebody else that knows the keys, until the end of the test.
func cluster(t *testing.T, keys *Keys, opts *server.Options) *server.Server {
	t.Helper()
	opts.Host = "127.0.0.1"
	opts.Port = server.RANDOM_PORT
	opts.NoLog = true
	opts.NoSigs = true
	must(t, keys.authorize(opts))
	s, err := server.NewServer(opts)
	must(t, err)
	go s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(patience) {
		t.Fatal("the cluster does not listen")
	}
	return s
}

// connect is a client with an agent's key that does as it likes.
func connect(t *testing.T, tok *Token, url string, more ...nats.Option) *nats.Conn {
	t.Helper()
	opts, err := options(tok.NKey)
	must(t, err)
	nc, err := nats.Connect(url, append(opts, more...)...)
	must(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// Messages that are of no protocol, or of a session that is not the agent's, are refused with a
// line and change nothing.
func TestOddMessages(t *testing.T) {
	keys, tokens := keyFiles(t, "a")
	url := cluster(t, keys, new(server.Options)).ClientURL()
	h, told := hall(t, HallConfig{Keys: keys, URL: url, insecure: true})
	lines := attend(t, AgentConfig{Token: tokens[0], URL: url, insecure: true})
	await(t, h, 1)
	l, err := h.Link("a")
	must(t, err)
	exchange(t, l, 10)
	agent := keys.Agents[0].NKey
	another := "plimsoll." + agent + ".up.another.1"
	for _, m := range []*nats.Msg{
		{Subject: downTo(agent), Data: []byte("hello")},
		numbered(downTo(agent), another, 7, whole, []byte("a request in the middle\n")),
		numbered(downTo(agent), l.reply, 1, whole, []byte("the request that was there\n")),
		numbered(downTo(agent), l.reply, 2, "unknown", nil),
	} {
		must(t, h.nc.PublishMsg(m))
	}
	lines.wait(t, "a message to this agent is refused", "it is no message of this protocol")
	lines.wait(
		t,
		"a message to this agent is refused",
		"it is of a run in which this agent has no part",
	)
	h.receive(&nats.Msg{Subject: l.reply, Data: []byte("hello")})
	told.wait(t, "a message of agent a is refused: it is no message of this protocol")
	exchange(t, l, 10)
}

// A message of 100 MB is refused with a line, by each end and by a server of ours.
func TestLargeMessage(t *testing.T) {
	keys, tokens := keyFiles(t, "a")
	h, _ := hall(t, HallConfig{Keys: keys})
	replied := make(chan error, 1)
	attend(t, AgentConfig{
		Token: tokens[0],
		URL:   h.Addr(),
		Serve: func(_ context.Context, s *Responder) error {
			_, err := s.Write(make([]byte, 100<<20))
			replied <- err
			return err
		},
	})
	await(t, h, 1)
	l, err := h.Link("a")
	must(t, err)
	const want = "a message of 104857600 bytes is refused: the fleet's server takes at most 67107840 (max_payload)"
	if _, err := l.Write(make([]byte, 100<<20)); !says(err, want) {
		t.Errorf("%v, want %q", err, want)
	}
	if _, err := l.Write([]byte("report\n")); err != nil {
		t.Fatal(err)
	}
	if err := <-replied; !says(err, want) {
		t.Errorf("%v, want %q", err, want)
	}
	nc := connect(t, tokens[0], h.Addr(), nats.Secure(pinned(tokens[0].Fingerprint, "token file")))
	if err := nc.Publish(upFrom(keys.Agents[0].NKey), make([]byte, 100<<20)); !errors.Is(
		err,
		nats.ErrMaxPayload,
	) {
		t.Errorf("%v, want %v", err, nats.ErrMaxPayload)
	}
}

// Files that others may read, or that are of another kind, are refused, and no error shows a key.
func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	keyFile, tokenFile := filepath.Join(dir, "k.json"), filepath.Join(dir, "a.nk")
	if _, err := NewToken(files.OS{}, keyFile, tokenFile); err != nil {
		t.Fatal(err)
	}
	var tok Token
	b, err := os.ReadFile(tokenFile)
	if err != nil || json.Unmarshal(b, &tok) != nil {
		t.Fatal(err)
	}
	check := func(err error, want string) {
		t.Helper()
		if !says(err, want) || strings.Contains(err.Error(), tok.NKey) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	_, err = NewToken(files.OS{}, keyFile, tokenFile)
	check(err, "is there already")
	_, err = NewToken(files.OS{}, keyFile, filepath.Join(t.TempDir(), "a.nk"))
	check(err, "there is an agent a already")
	_, err = NewToken(files.OS{}, keyFile, filepath.Join(dir, "a b.nk"))
	check(err, "is no name of an agent")
	_, err = ReadKeys(tokenFile)
	check(err, "is not one of a coordinator")
	_, err = ReadToken(keyFile)
	check(err, "is not one of an agent")
	other := filepath.Join(dir, "other")
	must(t, os.WriteFile(other, []byte("no JSON"), 0o600))
	_, err = ReadToken(other)
	check(err, "is not what plimsoll fleet -new-token writes")
	must(t, os.Chmod(tokenFile, 0o644))
	_, err = ReadToken(tokenFile)
	check(err, "has mode 0644, so others may read or change it; run: chmod 600")
	_, err = ReadToken(filepath.Join(dir, "none"))
	check(err, "plimsoll fleet -new-token FILE")
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says reports whether an error has a text in it.
func says(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

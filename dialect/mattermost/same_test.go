package mattermost

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/reference/refnull"
)

// A tape records the requests of each user: the requests by token, with moments blotted out.
type tape struct {
	mu  sync.Mutex
	log map[string][]string
}

type tapedConn struct {
	net.Conn
	t *tape
}

var moment = regexp.MustCompile(`\d{13}`)

func (c tapedConn) Write(b []byte) (int, error) {
	if head, body, ok := strings.Cut(string(b), "\r\n\r\n"); ok {
		line, _, _ := strings.Cut(head, " HTTP/1.1")
		_, token, _ := strings.Cut(head, "Authorization: Bearer ")
		token, _, _ = strings.Cut(token, "\r\n")
		c.t.mu.Lock()
		c.t.log[token] = append(c.t.log[token], moment.ReplaceAllString(line+" "+body, "T"))
		c.t.mu.Unlock()
	}
	return c.Conn.Write(b)
}

func (t *tape) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return tapedConn{conn, t}, nil
}

// nullInProcess starts the null server within this process.
func nullInProcess(t *testing.T) (url string) {
	t.Helper()
	s, err := refnull.New(refnull.Config{})
	noError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		noError(t, <-done)
	})
	return s.URL()
}

// process plays one process of a run: the persons of some ranks carry out acts actions each. It
// returns the requests of each, sorted (calls go out together), and its think times.
func process(
	t *testing.T, all, from, to, acts int, weights map[string]float64,
) (sent map[string][]string, think map[int][]time.Duration) {
	t.Helper()
	tape := &tape{log: map[string][]string{}}
	env := nullEnv(nullInProcess(t), 0.0001)
	env.Weights = weights
	env.Params["speed"] = "1"
	env.Ledger = nil
	b := &Person{}
	noError(t, b.Provision(t.Context(), env, all))
	env.Dial = tape.dial
	think = map[int][]time.Duration{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for rank := from; rank < to; rank++ {
		u := userOf(env, rank)
		a := newActor(t, b, env, u)
		wg.Go(func() {
			defer a.Close()
			u.Schedule(u.Now())
			if err := a.Login(t.Context()); err != nil {
				t.Error(err)
			}
			for range acts {
				d := a.Think()
				mu.Lock()
				think[rank] = append(think[rank], d)
				mu.Unlock()
				if err := a.Act(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	delete(tape.log, "") // a login has no token yet
	for _, log := range tape.log {
		slices.Sort(log)
	}
	return tape.log, think
}

// Whether one process plays all users or two play a half each, each user thinks as long and sends
// the same, where it sees the same.
func TestSameSeedSameUsers(t *testing.T) {
	weights := map[string]float64{}
	for name, w := range Mixes()[DefaultMix] {
		// Posts of others would change a person's view: here all persons only read, so that all see
		// the same.
		if !strings.HasPrefix(name, "create_") {
			weights[name] = w
		}
	}
	const users, acts = 6, 60
	sent, think := process(t, users, 0, users, acts, weights)
	requests := 0
	for _, log := range sent {
		requests += len(log)
	}
	if len(sent) != users || requests < users*acts {
		t.Fatalf("%d requests of %d users", requests, len(sent))
	}
	for _, half := range [][2]int{{0, users / 2}, {users / 2, users}} {
		again, times := process(t, users, half[0], half[1], acts, weights)
		if len(again) != users/2 {
			t.Fatalf("%d users in a half", len(again))
		}
		for token, log := range again {
			if !slices.Equal(log, sent[token]) {
				t.Errorf(
					"user %s sends other requests: %s",
					token,
					firstDifference(sent[token], log),
				)
			}
		}
		for rank, ds := range times {
			if !slices.Equal(ds, think[rank]) {
				t.Errorf("user %d thinks otherwise", rank)
			}
		}
	}
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%q instead of %q", b[i], a[i])
		}
	}
	return fmt.Sprintf("%d instead of %d", len(b), len(a))
}

// A user's next action does not depend on the answers of the server.
func TestNamesDoNotDependOnTheServer(t *testing.T) {
	var mu sync.Mutex
	broken := false
	url := nullInProcess(t)
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			w.WriteHeader(500)
		}
	})
	states := [2][2]uint64{}
	for i := range states {
		env := nullEnv(url, 0.0001)
		env.Timeout = time.Second
		b := &Person{}
		noError(t, b.Provision(t.Context(), env, 1))
		u := userOf(env, 0)
		actor := newActor(t, b, env, u)
		u.Schedule(u.Now())
		noError(t, actor.Login(t.Context()))
		if i == 1 { // from here on everything fails
			mu.Lock()
			broken = true
			mu.Unlock()
			a := actor.(*person)
			a.pool.close()
			a.pool.closed = false
			a.pool.cfg.URL = addr
		}
		for range 100 {
			noError(t, actor.Act(t.Context()))
			actor.Think()
		}
		actor.Close()
		states[i] = [2]uint64{u.Action.Uint64(), u.Think.Uint64()}
	}
	if states[0] != states[1] {
		t.Error("a failing server changed what the user does next, or when")
	}
}

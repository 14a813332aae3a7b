package users

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/fleet"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// TestMain has this program be an agent when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		b := Builder{Behavior: behaviorNamed, Secrets: new(plain.Secrets)}
		if err := fleet.Serve(context.Background(), os.Stdin, os.Stdout, b.Build); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func behaviorNamed(name string) (workload.Behavior, error) {
	if name != "visitor" {
		return nil, fmt.Errorf("there is no behavior %s", name)
	}
	return new(visitor), nil
}

// visitor is a behavior whose users request a page each with their own token.
type visitor struct {
	Tokens map[int]string // by rank
}

func (v *visitor) Provision(_ context.Context, _ workload.Env, n int) error {
	v.Tokens = map[int]string{}
	for rank := range n {
		v.Tokens[rank] = fmt.Sprintf("token-%03d", rank)
	}
	return nil
}

func (v *visitor) State(ranks []int) ([]byte, error) {
	own := map[int]string{}
	for _, rank := range ranks {
		own[rank] = v.Tokens[rank]
	}
	return json.Marshal(own)
}

func (v *visitor) Restore(_ workload.Env, state []byte) error {
	return json.Unmarshal(state, &v.Tokens)
}

func (v *visitor) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	token := v.Tokens[u.Rank]
	if token == "" {
		return nil, fmt.Errorf("the user of rank %d has no token", u.Rank)
	}
	client, err := wire.NewClient(wire.Config{URL: env.URL, Timeout: env.Timeout, Dial: env.Dial})
	return &visiting{env, u, client, token}, err
}

// visiting is one visitor.
type visiting struct {
	env    workload.Env
	u      *workload.User
	client *wire.Client
	token  string
}

func (a *visiting) Login(context.Context) error { return nil }
func (a *visiting) Think() time.Duration        { return 50 * time.Millisecond }
func (a *visiting) Close()                      { _ = a.client.Close() }

func (a *visiting) Act(ctx context.Context) error {
	sent := time.Now()
	if _, err := a.client.Do(ctx, &wire.Request{Path: "/" + a.token}); err != nil &&
		ctx.Err() == nil {
		return err
	}
	a.client.Release()
	a.u.Done(a.env.Registry.Name("visit"), sent, sent, time.Now(), measure.OK, 1)
	return nil
}

// visited is a server that notes who has come.
type visited struct {
	*httptest.Server
	mu     sync.Mutex
	tokens map[string]string // the address that each came from
	change chan struct{}     // gets a value when somebody new has come
}

func newVisited(t *testing.T) *visited {
	v := &visited{tokens: map[string]string{}, change: make(chan struct{}, 100)}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		defer v.mu.Unlock()
		token := strings.TrimPrefix(r.URL.Path, "/")
		if v.tokens[token] == "" {
			v.change <- struct{}{}
		}
		v.tokens[token], _, _ = strings.Cut(r.RemoteAddr, ":")
		fmt.Fprint(w, strings.Repeat("welcome ", 1000))
	}))
	t.Cleanup(v.Close)
	return v
}

// await waits until n visitors have come.
func (v *visited) await(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-v.change:
		case <-time.After(time.Minute):
			v.mu.Lock()
			defer v.mu.Unlock()
			t.Fatalf("only %v have come", v.tokens)
		}
	}
}

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/reference/refnull"
)

// TestPluginIsLoaded has one person on a null server with the plugin in front: it loads the boards
// when it logs in, the board of each channel, and votes.
func TestPluginIsLoaded(t *testing.T) {
	t.Parallel()
	null, err := refnull.New(refnull.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- null.Run(ctx) }()
	defer func() {
		stop()
		<-done
	}()
	var mu sync.Mutex
	var methods []string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		methods = append(methods, r.Method)
		mu.Unlock()
		_, _ = io.WriteString(w, `{"id":"x1"}`)
	}))
	defer front.Close()
	d := mattermost.With(boards)
	for _, op := range boards.Ops {
		if !slices.Contains(d.Ops(), op) {
			t.Errorf("rules do not know %s", op)
		}
	}
	if w := d.Mixes()["default"]["vote_on_board"]; w != 0.2 {
		t.Errorf("a vote weighs %v", w)
	}
	env := workload.Env{
		URL: pluginAt(t, null.URL(), front.URL), Seed: 1, Pace: 0.001, Timeout: time.Minute,
		Registry: measure.NewRegistry(1), Weights: map[string]float64{"vote_on_board": 1},
		Secret: func(name string) string {
			return map[string]string{"admin_password": "Aa1!aaaaaaaa"}[name]
		},
	}
	b := d.Behaviors[d.Weighted]()
	if err := b.Provision(t.Context(), env, 1); err != nil {
		t.Fatal(err)
	}
	u := workload.NewUser(0, 0, 1, env.Pace, env.Registry.Recorder(0), clock.New(time.Now()))
	a, err := b.NewActor(env, u)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	u.Schedule(u.Now())
	if err := a.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Act(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"GET", "GET", "POST"}; !slices.Equal(methods, want) {
		t.Errorf("the plugin got %v, want %v", methods, want)
	}
	ok := map[string]uint64{}
	for _, w := range env.Registry.Cut() {
		ok[w.Name] = w.Classes[measure.OK]
	}
	if ok["login_boards"] != 1 || ok["login_board"] != 1 || ok["vote"] != 1 {
		t.Errorf("recorded %v", ok)
	}
}

// pluginAt serves a server with a plugin's paths answered by another.
func pluginAt(t *testing.T, server, plugin string) string {
	t.Helper()
	pass := func(to string) http.Handler {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		return httputil.NewSingleHostReverseProxy(u)
	}
	mux := http.NewServeMux()
	mux.Handle("/plugins/", pass(plugin))
	mux.Handle("/", pass(server))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

package script

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	expect "plimsoll/internal/failure"
	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/script/bundle"
	"plimsoll/load/workload"
)

// bundled returns the JSON of a bundle of CommonJS code.
func bundled(t testing.TB, code string, env ...string) []byte {
	t.Helper()
	b, err := json.Marshal(bundle.Bundle{Name: "test.js", Env: env, Digest: "sha256:0",
		Code: "(function(require, exports, module) { \"use strict\";" + code + "\n})"})
	expect.None(t, err)
	return b
}

// imports is what tests' scripts begin with.
const imports = `const {check, group, sleep, fail} = require("k6"); const http = require("k6/http");`

// A stage is a script before a server.
type stage struct {
	t   testing.TB
	b   *Behavior
	env workload.Env

	mu    sync.Mutex
	lines []string
}

// staged provisions a behavior with a script; h serves it. Variables are those of env.Params.
func staged(t testing.TB, h http.HandlerFunc, code string, params map[string]string) *stage {
	t.Helper()
	s := &stage{t: t, b: New()}
	s.env = workload.Env{Seed: 7, Pace: 1, Timeout: 10 * time.Second, Params: params,
		Clock: clock.New(time.Now()), Registry: measure.NewRegistry(1), Tally: new(workload.Tally),
		Secrets: new(plain.Secrets), Log: s.log}
	if h != nil {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		s.env.URL = srv.URL
	} else {
		s.env.URL = "http://127.0.0.1:1"
	}
	var names []string
	for name := range params {
		names = append(names, name)
	}
	s.env.Script = bundled(t, imports+code, names...)
	expect.None(t, s.b.Provision(t.Context(), s.env, 1))
	return s
}

func (s *stage) log(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// said returns what was logged.
func (s *stage) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// says fails the test unless these texts were logged.
func (s *stage) says(wants ...string) {
	s.t.Helper()
	for _, want := range wants {
		if said := s.said(); !strings.Contains(said, want) {
			s.t.Errorf("the log is %q, want %q", said, want)
		}
	}
}

// quiet fails the test if something was logged.
func (s *stage) quiet() {
	s.t.Helper()
	if said := s.said(); said != "" {
		s.t.Error(said)
	}
}

// user returns the actor of a user.
func (s *stage) user(id int) *actor {
	s.t.Helper()
	u := workload.NewUser(id, id, s.env.Seed, s.env.Pace, s.env.Registry.Recorder(id), s.env.Clock)
	a, err := s.b.NewActor(s.env, u)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(a.Close)
	return a.(*actor)
}

// act makes n iterations of a user.
func (s *stage) act(a *actor, n int) {
	s.t.Helper()
	for range n {
		a.user.Schedule(a.user.Now())
		if err := a.Act(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
	a.user.Flush()
}

// windows returns what was recorded.
func (s *stage) windows() map[string]*measure.Window {
	out := map[string]*measure.Window{}
	for _, w := range s.env.Registry.Cut() {
		out[w.Name] = w
	}
	return out
}

func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"method":%q,"path":%q,"query":%q,"list":[1,{"a":"b"}]}`, r.Method, r.URL.Path, r.URL.RawQuery)
}

func TestDefaultFunction(t *testing.T) {
	t.Parallel()
	s := staged(t, hello, `
exports.default = function (data) {
	const res = http.get(__ENV.BASE_URL + "/posts/17?x=1");
	check(res, {"is 200": r => r.status === 200, "has path": r => r.json("path") === "/posts/17",
		"never": r => false, "deep": r => r.json("list.1.a") === "b"});
	sleep(0.001);
	if (__ITER === 1) { fail("on " + __VU); }
}`, nil)
	a := s.user(4)
	s.act(a, 3)
	got := s.windows()
	for name, want := range map[string][2]uint64{
		"GET /posts/{id}":   {3, 0},
		"check is 200":      {3, 0},
		"check has path":    {3, 0},
		"check deep":        {3, 0},
		"check never":       {0, 3},
		"iteration default": {2, 1},
	} {
		w := got[name]
		if w == nil {
			t.Errorf("%s: nothing was recorded", name)
			continue
		}
		if w.Classes[measure.OK] != want[0] || w.Classes[measure.Script] != want[1] {
			t.Errorf("%s: %v, want %v", name, w.Classes, want)
		}
	}
	s.says("test.js:7: on 5")
}

func TestEndOfTheRunLeavesTheScript(t *testing.T) {
	t.Parallel()
	s := staged(t, hello, `exports.default = () => { try { sleep(3600) } finally { for (;;) {} } }`, nil)
	a := s.user(0)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := a.Act(ctx); err != workload.ErrStop {
		t.Errorf("Act returned %v, want ErrStop", err)
	}
}

package script

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/sobek"

	expect "plimsoll/internal/failure"
	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

const weighted = `exports.actions = {
	read: {weight: 3, run(user, data) { http.get("/read/" + Math.floor(Math.random() * 1e9)) }},
	never: {weight: 0, run() { throw 1 }},
	write: {weight: 1, run() { http.post("/write", "" + Math.random()) }},
}`

// record returns a handler that notes what it was asked, and a function that returns it.
func record() (http.HandlerFunc, func() []string) {
	var mu sync.Mutex
	var asked []string
	return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Own"))
		}, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(asked)
		}
}

// TestSameSeedSameLoad: actions and chance of a user are a function of the seed and its number.
func TestSameSeedSameLoad(t *testing.T) {
	t.Parallel()
	var runs [2][]string
	for i := range runs {
		h, asked := record()
		s := staged(t, h, weighted, nil)
		s.act(s.user(3), 60)
		s.act(s.user(4), 3)
		runs[i] = asked()
		mixes := s.env.Tally.Snapshot().Mixes()
		if len(mixes) != 1 || mixes[0].OK != 63 || mixes[0].Actions[0].Requested != 0.75 ||
			mixes[0].Actions[1].Attempts != 0 || mixes[0].Flagged {
			t.Errorf("the mix is %+v", mixes)
		}
	}
	if !slices.Equal(runs[0], runs[1]) {
		t.Error("two runs with one seed differ")
	}
	if slices.Equal(runs[0][:3], runs[0][60:]) {
		t.Error("two users have the same load")
	}
}

// TestArrivals: an arrival is one action, whoever serves it.
func TestArrivals(t *testing.T) {
	t.Parallel()
	h, asked := record()
	s := staged(t, h, weighted, nil)
	for i := range 2 {
		u := workload.NewServerUser(i, s.env, s.env.Clock)
		server, err := s.b.NewServer(s.env, u)
		expect.None(t, err)
		u.Become(17)
		u.Schedule(u.Now())
		expect.None(t, server.Serve(t.Context(), 17))
		server.Close()
	}
	if all := asked(); len(all) != 2 || all[0] != all[1] {
		t.Errorf("one arrival by two servers: %q", all)
	}
}

func TestSetupAndTeardown(t *testing.T) {
	t.Parallel()
	h, asked := record()
	s := staged(t, h, `
exports.setup = () => { http.post("/make"); return {users: [{name: "a"}], n: 1} };
exports.teardown = data => { http.del("/make/" + data.users[0].name) };
exports.default = data => {
	http.get("/" + data.users[0].name + "/" + data.n);
	data.users[0].name = "changed"; data.n++;
}`, nil)
	a, b := s.user(0), s.user(1)
	s.act(a, 2)
	s.act(b, 1)
	if err := s.b.Provision(t.Context(), s.env, 2); err != nil { // again, for more users
		t.Fatal(err)
	}
	expect.None(t, s.b.Finish(t.Context(), s.env))
	want := []string{"POST /make ", "GET /a/1 ", "GET /changed/2 ", "GET /a/1 ", "DELETE /make/a "}
	if got := asked(); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
	if string(s.b.Setup()) != `{"users":[{"name":"a"}],"n":1}` {
		t.Errorf("the result of setup is %s", s.b.Setup())
	}
	if w := s.windows(); w["setup POST /make"] == nil || w["POST /make"] != nil {
		t.Error("the operations of setup are not beside the load")
	}
}

func TestProvisionFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, want string }{
		{`exports.setup = () => { fail("no room") }; exports.default = () => {}`, "setup: test.js:1: no room"},
		{`exports.x = 1`, "exports no default function and no actions"},
		{`exports.default = () => {}; exports.actions = {}`, "want one of them"},
		{`exports.actions = {a: 1}`, "action a has no function run"},
		{`exports.actions = {a: {weight: -1, run() {}}}`, "weight of action a"},
		{`exports.actions = {a: {weight: 0, run() {}}}`, "no action has a weight"},
		{`exports.default = () => {}; http.get("/")`, "request in the init code"},
		{`exports.default = () => {}; sleep(1)`, "sleep() in the init code"},
		{"exports.default = () => {};\n\nthrow new Error('early')", "test.js:3: early"},
	} {
		err := New().Provision(t.Context(), workload.Env{URL: "http://127.0.0.1:1",
			Script: bundled(t, imports+tt.code)}, 1)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.code, err, tt.want)
		}
	}
	if err := New().Provision(t.Context(), workload.Env{}, 1); err == nil {
		t.Error("there is no script, and no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := New().Provision(ctx, workload.Env{URL: "http://127.0.0.1:1", Pace: 1,
		Script: bundled(t, imports+`exports.setup = () => sleep(60); exports.default = () => {}`)}, 1)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error of an ended setup is %v", err)
	}
}

// TestStateRoundTrip: users in another process see the setup's result and the variables of this one.
func TestStateRoundTrip(t *testing.T) {
	t.Parallel()
	h, asked := record()
	s := staged(t, h, `
exports.setup = () => ({id: 7});
exports.default = data => { http.get("/" + data.id, {headers: {"X-Own": __ENV.MY_TOKEN + Object.keys(__ENV)}}) }`,
		map[string]string{"MY_TOKEN": "tiger-stripes-17"})
	text, err := s.b.State([]int{0})
	expect.None(t, err)
	there := &stage{t: t, b: New(), env: s.env}
	there.env.Params, there.env.Secrets = nil, new(plain.Secrets)
	there.env.Secret = func(string) string { t.Error("a secret was asked for"); return "" }
	expect.None(t, there.b.Restore(there.env, text))
	there.act(there.user(0), 1)
	if got, want := asked(), []string{"GET /7 tiger-stripes-17BASE_URL,MY_TOKEN"}; !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
	if text := there.env.Secrets.Redact("tiger-stripes-17"); text != plain.Redacted {
		t.Errorf("the token is shown: %s", text)
	}
	if err := New().Restore(there.env, []byte("{")); err == nil {
		t.Error("half a state was taken")
	}
}

// TestVariables holds the order of the sources of __ENV.
func TestVariables(t *testing.T) {
	t.Setenv("OF_ENVIRONMENT", "environment")
	t.Setenv("BOTH", "environment")
	env := workload.Env{
		Params: map[string]string{"BOTH": "params", "PLIMSOLL_ADMIN": "root"},
		Secret: func(name string) string {
			return map[string]string{"admin": "no", "admin_password": "secret", "REF": "resolved"}[name]
		},
		Secrets: new(plain.Secrets),
	}
	got := valuesOf([]string{"BASE_URL", "BOTH", "OF_ENVIRONMENT", "PLIMSOLL_ADMIN", "PLIMSOLL_ADMIN_PASSWORD", "REF", "NONE"}, &env)
	want := map[string]string{"BOTH": "params", "OF_ENVIRONMENT": "environment", "PLIMSOLL_ADMIN": "root",
		"PLIMSOLL_ADMIN_PASSWORD": "secret", "REF": "resolved"}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("variables %s, want %s", a, b)
	}
}

// TestSecretsAreMasked: neither an exception nor the console nor a failure shows one.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	const secret = "tiger-stripes-17"
	s := staged(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, `exports.default = () => {
	console.log("token", __ENV.MY_TOKEN, {token: __ENV.MY_TOKEN}); console.error("shown");
	http.get("/" + __ENV.MY_TOKEN);
	throw new Error("bad token " + __ENV.MY_TOKEN);
}`, map[string]string{"MY_TOKEN": secret})
	s.act(s.user(0), 1)
	if said := s.said(); strings.Contains(said, secret) {
		t.Errorf("the log shows a secret: %s", said)
	}
	s.says("test.js:4: bad token [redacted]", "console.log: token [redacted] {\"token\":\"[redacted]\"}",
		"console.error: shown", "status 500")
}

func TestConsoleIsBounded(t *testing.T) {
	t.Parallel()
	s := staged(t, nil, `exports.default = () => { for (let i = 0; i < 1000; i++) console.log("x".repeat(5000)) }`, nil)
	s.act(s.user(0), 1)
	if len(s.lines) != mostLines || len(s.said()) > mostLines*700 {
		t.Errorf("%d lines of %d bytes", len(s.lines), len(s.said()))
	}
}

// TestPollution: what a script changes of the language reaches neither other users nor the host.
func TestPollution(t *testing.T) {
	t.Parallel()
	s := staged(t, hello, `exports.default = () => {
	if (__VU === 1) {
		Object.prototype.status = 1; Object.prototype.headers = {"X-Own": "polluted"}; Object.prototype.name = "polluted";
		JSON.parse = JSON.stringify = () => "polluted"; Array.prototype.map = null;
		globalThis.http = null; Object.prototype.toString = () => "polluted"; String.prototype.split = null;
		Object.setPrototypeOf(http, {get: null}); Object.setPrototypeOf(__ENV, {BASE_URL: "polluted"});
		try { __ENV.BASE_URL = "polluted" } catch {}
		try { http.get = () => "polluted" } catch {}
	} else if ({}.status !== undefined || [].map === null || JSON.parse("1") !== 1) {
		throw new Error("polluted");
	}
	const res = http.get(__ENV.BASE_URL + "/x");
	if (res.status !== 200 || res.json("path") !== "/x") { throw new Error("the host is polluted " + res.body) }
	check(res, {"fine": r => r.status === 200});
}`, nil)
	first, second := s.user(0), s.user(1)
	s.act(first, 1)
	s.act(second, 1)
	s.act(first, 1)
	s.act(s.user(2), 1)
	s.quiet()
	if n := s.windows()["check fine"].Classes[measure.OK]; n != 4 {
		t.Errorf("%d checks held, want 4", n)
	}
}

// TestSharedArray: users see one list, made once, and cannot change it.
func TestSharedArray(t *testing.T) {
	t.Parallel()
	s := staged(t, nil, `
const {SharedArray} = require("k6/data");
let made = 0;
const list = new SharedArray("people", () => { made = 1; return JSON.parse('[{"name":"a"},{"name":"b","tags":["x"]}]') });
exports.default = () => {
	if (made) { throw new Error("made again") }
	if (!Array.isArray(list) || list.length !== 2 || list[1].tags[0] !== "x" || list.map(p => p.name).join() !== "a,b" ||
		JSON.stringify(list[0]) !== '{"name":"a"}' || [...list].length !== 2) { throw new Error(JSON.stringify(list)) }
	for (const change of [() => list[0] = 1, () => list[0].name = 1, () => list.length = 0, () => list.push(1), () => delete list[0].name]) {
		let kept = false;
		try { change() } catch { kept = true }
		if (!kept) { throw new Error("changed") }
	}
}`, nil)
	s.act(s.user(0), 2)
	s.act(s.user(1), 1)
	s.quiet()
}

// TestRestAfterAnException: a user rests after an exception, by the clock of the wall and not of the plan.
func TestRestAfterAnException(t *testing.T) {
	t.Parallel()
	s := staged(t, nil, `exports.default = () => { if (__ITER === 0) { throw new Error("once") } }`, nil)
	s.env.Pace = 0.1
	a := s.user(0)
	if a.Think() != 0 {
		t.Error("it rests before the first action")
	}
	s.act(a, 1)
	if got := time.Duration(float64(a.Think()) * a.user.Pace); got != exceptionRest {
		t.Errorf("it rests for %v", got)
	}
	if s.act(a, 1); a.Think() != 0 {
		t.Error("it rests after a good action")
	}
}

// TestCookiesOfAnIteration: the jar is empty in each, unless the script keeps it.
func TestCookiesOfAnIteration(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{"{}": "GET /?||||", "{noCookiesReset: true}": "GET /?|||sid=s1|"} {
		s := staged(t, mirror, `exports.options = `+options+`;
exports.default = () => { if (__ITER === 0) { http.get("/login") } else { throw http.get("/").body } }`, nil)
		s.act(s.user(0), 2)
		if said := s.said(); !strings.HasSuffix(said, want) {
			t.Errorf("options %s: %s, want %s", options, said, want)
		}
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	s := staged(t, hello, `exports.default = () => {
	const v = group("page", () => { http.get("/"); return 7 });
	if (v !== 7) { throw new Error("no value") }
	try { group("bad", () => { throw 1 }) } catch {}
}`, nil)
	s.act(s.user(0), 1)
	w := s.windows()
	if w["group page"].Classes[measure.OK] != 1 || w["group bad"].Classes[measure.Script] != 1 ||
		w["iteration default"].Classes[measure.OK] != 1 {
		t.Errorf("groups are not counted: %s", s.said())
	}
}

// TestHandler: handlers run while the user's own code waits, their requests are beside the user's,
// and they cannot sleep.
func TestHandler(t *testing.T) {
	t.Parallel()
	waits, gate := make(chan struct{}), make(chan struct{})
	s := staged(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/own" {
			close(waits)
			<-gate
		}
	}, `
globalThis.order = [];
globalThis.heard = text => { order.push(text); if (text === "rest") { sleep(1) } http.get("/beside") };
exports.default = () => {
	http.get("/own");
	if (order.join() !== "one,rest") { throw new Error("heard " + order) }
	http.get("/next");
}`, nil)
	a := s.user(0)
	done := make(chan struct{})
	go func() {
		s.act(a, 1)
		close(done)
	}()
	<-waits
	call := func(text string) error {
		return a.handle(t.Context(), time.Now(), new(workload.Beside), func() error {
			f, _ := sobek.AssertFunction(a.rt.Get("heard"))
			_, err := f(nil, a.rt.ToValue(text))
			return err
		})
	}
	if err := call("one"); err != nil {
		t.Error(err)
	}
	if err := call("rest"); err == nil || !strings.Contains(err.Error(), "sleep() in a handler") {
		t.Errorf("a handler slept: %v", err)
	}
	close(gate)
	<-done
	w := s.windows()
	if w["GET /beside"].Count() != 1 || w["GET /next"].Count() != 1 || s.said() != "" {
		t.Errorf("%v: %s", w, s.said())
	}
	a.Close()
	if err := call("late"); err != workload.ErrStop {
		t.Errorf("a handler ran after the end: %v", err)
	}
}

// TestEndlessLoops: what computes for more than a second is interrupted, wherever it does, and its
// user goes on.
func TestEndlessLoops(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, want string }{
		{"for (;;) { try { for (;;) { Math.sqrt(2) } } catch {} finally { continue } }", "test.js:2: computed for more than 1s"},
		{"throw {get message() { for (;;); }}", "something that cannot be shown"},
		{"check(1, {get a() { for (;;); }})", "test.js:2: computed for more than 1s"},
	} {
		s := staged(t, hello, "exports.default = () => { if (__ITER === 1) { http.get('/'); return }\n"+tt.code+"\n}", nil)
		s.act(s.user(0), 2)
		s.says(tt.want)
		if w := s.windows()["iteration default"]; w.Classes[measure.Script] != 1 || w.Classes[measure.OK] != 1 {
			t.Errorf("%s: iterations %v", tt.code, w.Classes)
		}
	}
}

// TestWaitsAreNoComputing: a user whose requests and pauses take longer than it may compute is not
// interrupted.
func TestWaitsAreNoComputing(t *testing.T) {
	t.Parallel()
	s := staged(t, hello, `exports.default = () => { sleep(1.5); http.get("/") }`, nil)
	s.act(s.user(0), 1)
	s.quiet()
}

// TestIterations: a user who has done all of its iterations rests until the end, here and in another
// process, and a number of them that is none is refused.
func TestIterations(t *testing.T) {
	t.Parallel()
	s := staged(t, nil, `exports.default = function () {}`, nil)
	s.env.Variables = map[string]string{Iterations: "2"}
	s.b = New()
	expect.None(t, s.b.Provision(t.Context(), s.env, 1))
	state, err := s.b.State(nil)
	expect.None(t, err)
	elsewhere := New()
	expect.None(t, elsewhere.Restore(s.env, state))
	for what, b := range map[string]*Behavior{"here": s.b, "elsewhere": elsewhere} {
		s.b = b
		a := s.user(0)
		for done, want := range []time.Duration{0, 0, forever} {
			if got := a.Think(); got != want {
				t.Errorf("%s: after %d iterations it waits %v, want %v", what, done, got, want)
			}
			s.act(a, 1)
		}
	}
	s.env.Variables[Iterations] = "some"
	if err := New().Provision(t.Context(), s.env, 1); err == nil || !strings.Contains(err.Error(), "want a whole number") {
		t.Error(err)
	}
}

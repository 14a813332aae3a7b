package script

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	expect "plimsoll/internal/failure"
	"plimsoll/load/measure"
	"plimsoll/load/script/guard"
	"plimsoll/load/workload"
)

// hostile is a server whose answers are as bad as their paths say.
func hostile(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/deep":
		_, _ = io.WriteString(w, strings.Repeat("[", 4_000_000))
	case "/proto":
		_, _ = io.WriteString(w, `{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}`)
	case "/headers":
		w.Header().Set("__proto__", "polluted")
		w.Header().Set("constructor", "x")
		for i := range 50 {
			w.Header().Add("X-Many", fmt.Sprint(i))
		}
		w.Header().Set("Set-Cookie", "__proto__=1")
	case "/bytes":
		_, _ = w.Write([]byte{0, 0xff, 0xfe, 0x1b, '[', '3', '1', 'm', 0xc3})
	case "/length":
		_, _ = io.WriteString(w, `{"length": 4294967295, "toString": 1, "toJSON": null}`)
	}
}

// short makes the limits of computing ones that are soon reached.
func short(t testing.TB, p *play) { bounded(t, p, 300*time.Millisecond) }

// expecting makes them short for a script that is to reach one, and else far away, also for a machine
// or a build that is slow.
func expecting(t testing.TB, p *play, want string) {
	if strings.Contains(want, "computed for") || strings.Contains(want, "cannot be shown") {
		short(t, p)
	} else {
		bounded(t, p, time.Minute)
	}
}

func bounded(t testing.TB, p *play, cpu time.Duration) {
	w := guard.New(guard.Limit{CPU: cpu})
	t.Cleanup(w.Close)
	p.limits.realms, p.limits.acts, p.limits.around = 1, w, w
}

// TestHostileActions has scripts that break out, break down or never end, each in an action of a user.
// The user goes on, the exception is counted and says what happened where, and the process keeps its
// memory.
func TestHostileActions(t *testing.T) {
	t.Parallel()
	const slow = "test.js:2: computed for more than 300ms"
	for name, tt := range map[string]struct{ code, want string }{
		"loop":             {`for (;;);`, "computed for more than 300ms"}, // the engine has no position of a jump
		"caught loop":      {`try { for (;;) f() } catch { } finally { for (;;) f() }; function f() {}`, slow},
		"getter":           {`http.get("/", {get headers() { for (;;); }})`, slow},
		"text of a URL":    {`http.get({toString() { for (;;); }})`, slow},
		"text of a tag":    {`http.get("/", {tags: {name: {toString() { for (;;); }}}})`, slow},
		"proxy as body":    {`http.post("/", new Proxy({}, {ownKeys() { for (;;); }}))`, slow},
		"proxy as check":   {`check(1, new Proxy({}, {ownKeys() { for (;;); }}))`, slow},
		"check":            {`check(1, {"never": () => { for (;;); }})`, slow},
		"group":            {`group("g", () => { for (;;); })`, slow},
		"checks":           {`for (;;) check(1, {"ever": true})`, slow},
		"JSON":             {`JSON.stringify(new Proxy({}, {ownKeys() { for (;;); }}))`, slow},
		"promise":          {`return new Promise(() => { for (;;); })`, slow},
		"promises":         {`const f = () => Promise.resolve().then(f); return f()`, "computed for more than 300ms"},
		"thenable":         {`return Promise.resolve({then(f) { for (;;); }})`, slow},
		"thrown loop":      {`throw {get message() { for (;;); }}`, "cannot be shown"},
		"thrown text":      {`throw {toString() { for (;;); }}`, "cannot be shown"},
		"thrown nothing":   {`throw undefined`, "test.js:2: undefined"},
		"thrown proxy":     {`throw new Proxy({}, {get() { throw 1 }})`, "cannot be shown"},
		"thrown symbol":    {`throw Symbol("s")`, "test.js:2: "},
		"thrown at once":   {`throw {get message() { throw this.message }}`, "cannot be shown"},
		"long message":     {`throw new Error("x".repeat(1e7))`, "test.js:2: xxxx"},
		"expression":       {`/(?=a)(a+)+$/.test("a".repeat(40) + "b"); for (;;);`, slow},
		"text bomb":        {`"x".repeat(1e9)`, "test.js:2: RangeError: 1000000000 characters are too many"},
		"buffer bomb":      {`new Uint8Array(2e9)`, "test.js:2: RangeError: 2000000000 elements are too many"},
		"JSON bomb":        {`JSON.stringify(Array(1000).fill("x".repeat(1e6)))`, "test.js:2: RangeError: "},
		"own JSON bomb":    {`console.log(Array(1000).fill("x".repeat(1e6))); fail("after")`, "test.js:2: RangeError: "},
		"deep":             {`let a = []; for (let i = 0; i < 2e4; i++) a = [a]; console.log(a); String(a)`, "test.js:2: RangeError: "},
		"big numbers":      {`BigInt(2)`, "BigInt is not supported"},
		"deep JSON":        {`http.get("/deep").json()`, "the body is not JSON"},
		"recursion":        {`const f = () => { try { f() } finally { f() } }; f()`, "nested more than 2000 deep"},
		"native recursion": {`const f = x => [1].map(f); f()`, "nested more than 2000 deep"},
		"own text":         {`const o = {toString() { return "" + this }}; http.get(o)`, "nested more than 2000 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := staged(t, hostile, "let n = 0; exports.default = () => { if (n++) return;\n"+tt.code+"\n}", nil)
			expecting(t, s.b.play, tt.want)
			s.act(s.user(0), 2)
			if said := s.said(); !strings.Contains(said, tt.want) || len(said) > 2000 {
				t.Errorf("the log is %.2000q, want %q", said, tt.want)
			}
			if w := s.windows()["iteration default"]; w == nil || w.Classes[measure.Script] != 1 || w.Classes[measure.OK] != 1 {
				t.Errorf("the iterations are %v, want one exception and one that was good", w)
			}
		})
	}
}

// TestHostileStart has scripts whose top level or setup is hostile: the run does not begin.
func TestHostileStart(t *testing.T) {
	t.Parallel()
	const plain = `; exports.default = () => {}`
	for name, tt := range map[string]struct{ code, want string }{
		"loop of setup":   {`exports.setup = () => { for (;;); }` + plain, "setup: test.js:1: computed for more than 300ms"},
		"bomb of setup":   {`exports.setup = () => "x".repeat(17e6)` + plain, "want at most 16777216"},
		"setup too large": {`exports.setup = () => Array(1e4).fill("x".repeat(1e4))` + plain, "setup: RangeError: "},
		"cycle of setup":  {`exports.setup = () => { const a = {}; a.a = a; return a }` + plain, "setup: TypeError: Converting circular structure"},
		"getter":          {`Object.defineProperty(exports, "default", {get() { throw new Error("no") }})`, "no"},
		"weight":          {`exports.actions = {a: {run() {}, get weight() { throw new Error("no weight") }}}`, "no weight"},
		"thrown":          {`throw undefined` + plain, "test.js:1: undefined"},
		"exports":         {`module.exports = null`, "script"},
		"exports proxy":   {`module.exports = new Proxy({}, {get() { throw new Error("shy") }})`, "shy"},
		"many actions":    {`exports.actions = new Proxy({}, {ownKeys: () => Array.from({length: 1000}, (_, i) => "a" + i), getOwnPropertyDescriptor: () => ({enumerable: true, configurable: true, value: 1}), get: () => () => 1})`, "want at most 100"},
		"SharedArray":     {`const {SharedArray} = require("k6/data"); new SharedArray("a", () => ({length: 1e9}))` + plain, "returns no array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := newPlay(bundled(t, imports+tt.code))
			expect.None(t, err)
			expecting(t, p, tt.want)
			expect.Says(t, p.setup(t.Context(), workload.Env{URL: "http://127.0.0.1:1", Pace: 1}), tt.want)
		})
	}
}

// TestSetupWithFunctions holds what JSON leaves of a result.
func TestSetupWithFunctions(t *testing.T) {
	t.Parallel()
	s := staged(t, nil, `exports.setup = () => ({f() {}, u: undefined, n: NaN, d: new Date(0), __proto__: {x: 1}});
		exports.default = data => { check(data, {"is plain": d => JSON.stringify(d) === '{"n":null,"d":"1970-01-01T00:00:00.000Z"}'}) }`, nil)
	s.act(s.user(0), 1)
	if w := s.windows()["check is plain"]; w == nil || w.Classes[measure.OK] != 1 {
		t.Errorf("the result of setup is %s", s.b.Setup())
	}
}

// TestPollutionReachesNoHost has a script that replaces what host code could be made of, and goes on.
func TestPollutionReachesNoHost(t *testing.T) {
	t.Parallel()
	s := staged(t, hello, `
		const define = Object.defineProperty, evil = () => { throw new Error("polluted") };
		const all = [[Object.prototype, "toString valueOf hasOwnProperty"], [Function.prototype, "call apply bind toString"],
			[Array.prototype, "push join map forEach slice concat indexOf keys values"], [String.prototype, "toString split replace indexOf"],
			[JSON, "parse stringify"], [Math, "random floor"], [Date.prototype, "getTime toISOString"], [Promise.prototype, "then catch"],
			[Object, "keys freeze assign defineProperty"], [Reflect, "ownKeys get"], [Map.prototype, "get set"], [RegExp.prototype, "exec test"]].map(([o, names]) => [o, names.split(" ")]);
		for (const [o, names] of all) for (const n of names) { try { o[n] = evil } catch { } };
		for (const n of ["timeout", "headers", "tags", "cookies", "redirects", "responseType", "status", "name"])
			define(Object.prototype, n, {get: evil, set: evil, configurable: true});
		const list = Array.prototype;
		for (const g of ["JSON", "Math", "Date", "Object", "Array", "Error", "TypeError", "RangeError", "Promise", "__VU", "__ENV", "console"]) globalThis[g] = undefined;
		for (const k of ["get", "post"]) { try { http[k] = evil } catch { } try { delete http[k] } catch { } };
		list[Symbol.iterator] = evil;
		exports.default = () => {
			const r = http.get("/x");
			for (const k in {status: 1, body: 1, json: 1}) { try { r[k] = evil } catch { } try { delete r[k] } catch { } };
			check(r, {"is untouched": r => r.status === 200 && r.json("method") === "GET" && r.headers["Content-Type"] === "application/json"});
			group("g", () => http.post("/y", "text"));
			sleep(0);
		}`, nil)
	s.act(s.user(0), 2)
	w := s.windows()
	for _, name := range []string{"GET /x", "POST /y", "check is untouched", "group g", "iteration default"} {
		if w[name] == nil || w[name].Classes[measure.OK] != 2 {
			t.Errorf("%s: %v, want 2 good ones; the log: %s", name, w[name], s.said())
		}
	}
}

// TestHostileAnswers has a server that answers as badly as it can.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	s := staged(t, hostile, `exports.default = () => {
		const p = http.get("/proto").json();
		check(1, {"no pollution by JSON": () => ({}).polluted === undefined && p.polluted === undefined || typeof p.polluted === "number" && ({}).polluted === undefined});
		const h = http.get("/headers");
		check(1, {"no pollution by headers": () => ({}).polluted === undefined && h.headers["X-Many"].split(", ").length === 50 && Object.keys(h.cookies).length >= 0 && ({}).value === undefined});
		check(1, {"bytes": () => http.get("/bytes").body.length > 0 && http.get("/bytes", {responseType: "binary"}).body.byteLength === 9});
		check(1, {"length": () => { const l = http.get("/length"); return l.json("length") === 4294967295 && l.json("toString.x") === undefined && l.json("#") === 4294967295 }});
	}`, nil)
	s.act(s.user(0), 1)
	for _, name := range []string{"no pollution by JSON", "no pollution by headers", "bytes", "length"} {
		if w := s.windows()["check "+name]; w != nil && w.Classes[measure.OK] == 1 {
			continue
		}
	}
	s.quiet()
}

// TestNamesWithoutBound has a script that makes up names without end, and very long ones.
func TestNamesWithoutBound(t *testing.T) {
	t.Parallel()
	s := staged(t, hello, `
		exports.actions = {
			checks() { const set = {}; for (let i = 0; i < 1e4; i++) set["c" + i] = true; check(1, set) },
			ops() { for (let i = 0; i < 300; i++) http.get("/", {tags: {name: "n" + i}}) },
			groups() { for (let i = 0; i < 1e3; i++) group("g" + i, () => {}) },
			long() { const long = "x".repeat(1e7); check(1, {[long]: true}); group(long, () => {}); http.get("/", {tags: {name: long}}) },
			escapes() { const e = "\x1b[31m\n\r\u202e"; check(1, {[e]: true}); http.get("/", {tags: {name: e}}); group(e, () => {}); throw new Error(e) },
		}`, nil)
	s.act(s.user(0), 20)
	all := s.windows()
	if n := len(all); n > 3*(mostNames+2)+10 {
		t.Errorf("%d series", n)
	}
	for name := range all {
		if len(name) > 200 || strings.ContainsAny(name, "\x1b\n\r\u202e") {
			t.Errorf("a series has the name %.300q", name)
		}
	}
	if said := s.said(); strings.ContainsAny(strings.ReplaceAll(said, "\n", ""), "\x1b\r\u202e") {
		t.Errorf("the log has control characters: %q", said)
	}
}

// TestSecretsStayOut has a script that says its secrets wherever it can say something.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-t0k3n-value"
	s := staged(t, hello, `exports.setup = () => ({token: __ENV.API_TOKEN});
		exports.default = data => {
			const x = data.token;
			console.log(x, {x}); check(1, {[x]: true}); group(x, () => {});
			http.get("/" + x); http.get("/a?t=" + x, {tags: {name: "op " + x}});
			throw new Error("with " + x);
		}`, map[string]string{"API_TOKEN": secret})
	s.act(s.user(0), 2)
	for name := range s.windows() {
		failureIn(t, "a series", name, secret)
	}
	failureIn(t, "the log", s.said(), secret)
}

func failureIn(t *testing.T, what, text, secret string) {
	t.Helper()
	if strings.Contains(text, secret) {
		t.Errorf("%s has a secret: %s", what, text)
	}
}

// TestEndOfTheRunReachesAll has users who never yield: each leaves soon after the end.
func TestEndOfTheRunReachesAll(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"requests": `for (;;) try { http.get("/x") } catch { }`,
		"refused":  `for (;;) try { http.get("/gone", {timeout: 1}) } catch { }`,
		"checks":   `for (;;) { check(1, {a: true}); sleep(0) }`,
		"groups":   `for (;;) group("g", () => { for (;;) sleep(0.001) })`,
		"handlers": `try { for (;;) sleep(1) } finally { for (;;) http.get("/y") }`,
		"batch":    `for (;;) http.batch(Array(100).fill("/z"))`,
		"computes": `let n = 0; for (;;) n++`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := staged(t, hello, `exports.default = () => { `+code+` }`, nil)
			short(t, s.b.play)
			a := s.user(0)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			a.user.Schedule(a.user.Now())
			if err := a.Act(ctx); err != workload.ErrStop {
				t.Errorf("Act returned %v, want ErrStop", err)
			}
		})
	}
}

// TestManyAtOnce has many users who all compute without end.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := staged(t, nil, `exports.default = () => { for (;;); }`, nil)
	short(t, s.b.play)
	var wg sync.WaitGroup
	for i := range 20 {
		a := s.user(i)
		a.user.Schedule(a.user.Now())
		wg.Go(func() { expect.None(t, a.Act(t.Context())) })
	}
	wg.Wait()
	s.says("test.js:1: computed for more than 300ms")
}

// FuzzHost gives values of all kinds to each function of each module. Whatever happens is an
// exception: nothing panics or hangs, and the user's lock is free afterwards.
func FuzzHost(f *testing.F) {
	for i := range 40 {
		f.Add(uint64(i*7919), []byte{byte(i), byte(i * 3), byte(i * 5), byte(i * 11)})
	}
	f.Fuzz(func(t *testing.T, seed uint64, picks []byte) {
		if len(picks) > 12 {
			picks = picks[:12]
		}
		numbers := make([]int, len(picks))
		for i, p := range picks {
			numbers[i] = int(p)
		}
		list, err := json.Marshal(numbers)
		expect.None(t, err)
		code := fmt.Sprintf(fuzzed, list, seed%2147483646+1)
		s := staged(t, hello, code, nil)
		short(t, s.b.play)
		a := s.user(0)
		a.user.Schedule(a.user.Now())
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- a.Act(ctx) }()
		select {
		case err = <-done:
		case <-time.After(30 * time.Second):
			buf := make([]byte, 1<<16)
			t.Fatalf("it hangs: %s\n%s", code, buf[:runtime.Stack(buf, true)])
		}
		if err != nil && err != workload.ErrStop {
			t.Fatal(err)
		}
		if !a.mu.TryLock() {
			t.Fatalf("the lock is taken after %s", code)
		}
		a.mu.Unlock()
		if strings.Contains(s.said(), "panic") {
			t.Fatalf("%s\nafter %s", s.said(), code)
		}
	})
}

// fuzzed is a script that calls host functions by numbers.
const fuzzed = `
const picks = %s; let state = %d;
const next = n => (state = state * 48271 %% 2147483647) %% n;
const values = [
	() => undefined, () => null, () => true, () => 0, () => -1, () => NaN, () => 1e308, () => 2**53, () => "", () => "/x",
	() => "http://127.0.0.1:1/", () => "::::", () => "\ud800", () => "x".repeat(1000), () => Symbol("s"), () => [], () => [1, [2]],
	() => ({}), () => ({a: some()}), () => [some(), some()], () => () => some(), () => { throw new Error("made") }, () => new Proxy({}, {}),
	() => new Proxy(() => {}, {get() { throw 1 }}), () => ({toString() { throw 2 }}), () => ({get headers() { throw 3 }}), () => new ArrayBuffer(3),
	() => new Uint8Array(3), () => new Date(NaN), () => /a/g, () => Promise.reject(1), () => http, () => http.get, () => new Map([[1, 2]]),
	() => ({headers: some(), tags: {name: some()}, cookies: {a: some()}, timeout: some(), redirects: some(), responseType: some(), jar: some()}),
	() => http.cookieJar(), () => http.get("/x"), () => Object.create(null), () => globalThis, () => JSON, () => class { constructor() { throw 4 } },
];
let depth = 0;
const some = () => { if (depth > 3) return 1; depth++; try { return values[next(values.length)]() } catch (e) { return e } finally { depth-- } };
const holders = [() => require("k6"), () => http, () => http.get("/x"), () => http.cookieJar(), () => require("k6/data"), () => require("k6/ws"), () => require("plimsoll"), () => require("plimsoll").user, () => require("plimsoll").ledger, () => console, () => globalThis.__ENV];
exports.default = () => {
	for (const p of picks) {
		try {
			const h = holders[p %% holders.length](), keys = Object.keys(h);
			const k = keys[next(keys.length || 1)], args = Array.from({length: next(5)}, some);
			if (k === "sleep") args[0] = 0;
			const out = next(4) ? h[k](...args) : new h[k](...args);
			if (out && typeof out === "object") for (const m of Object.keys(out)) { void out[m]; if (typeof out[m] === "function" && next(2)) out[m](some(), some()) }
		} catch (e) { }
	}
}`

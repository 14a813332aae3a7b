package script

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	expect "plimsoll/internal/failure"
	"plimsoll/load/script/bundle"
	"plimsoll/load/workload"
)

// written is a script as people write it, and the files beside it.
var written = map[string]string{
	"chat.ts": `import http from "k6/http";
import { check, sleep } from "k6";
import { SharedArray } from "k6/data";
import { address } from "./lib/address.js";

interface Person { name: string }
const people: Person[] = new SharedArray("people", () => JSON.parse(open("people.json")));
export const options = { vus: 10, thresholds: { http_req_failed: ["rate<0.01"] } };

export function setup() { return { token: __ENV.MY_TOKEN }; }

export const actions = {
	read: { weight: 3, run(user, data) {
		const res = http.get(address(people[__VU % 2].name));
		check(res, { "is 200": r => r.status === 200 });
	} },
	broken: { weight: 0.5, async run() {
		await null;
		sleep(0.001);
		throw new Error("on purpose");
	} },
};
`,
	"lib/address.js": "export function address(name) {\n\treturn `${__ENV.BASE_URL}/people/${name}`;\n}\n",
	"people.json":    `[{"name": "ada"}, {"name": "grace"}]`,
}

// read writes files and bundles the first script among them.
func read(t testing.TB, files map[string]string, name string) *bundle.Bundle {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		expect.None(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)))
	}
	b, err := bundle.Read(filepath.Join(dir, name))
	expect.None(t, err)
	return b
}

// TestWrittenScript takes a script of modules and types from its file to two users.
func TestWrittenScript(t *testing.T) {
	t.Parallel()
	b := read(t, written, "chat.ts")
	d, err := Describe(b, Environment{"BASE_URL": "http://127.0.0.1:1"})
	expect.None(t, err)
	want := []ActionWeight{{"read", 3}, {"broken", 0.5}}
	if !slices.Equal(d.Actions, want) || !d.Setup || d.Default || d.Teardown || d.Sockets ||
		!slices.Equal(d.Opened, []string{"people.json"}) ||
		string(d.Options) != `{"vus":10,"thresholds":{"http_req_failed":["rate<0.01"]}}` {
		t.Errorf("the script is described as %+v", d)
	}
	text, err := json.Marshal(b)
	expect.None(t, err)
	h, asked := record()
	s := staged(t, h, "exports.default = () => {}", map[string]string{"MY_TOKEN": "tiger-stripes-17"})
	s.b, s.env.Script = New(), text
	expect.None(t, s.b.Provision(t.Context(), s.env, 2))
	s.act(s.user(0), 40)
	s.act(s.user(1), 10)
	if got := asked(); !slices.Contains(got, "GET /people/ada ") || !slices.Contains(got, "GET /people/grace ") {
		t.Errorf("requests %q", got)
	}
	if said := s.said(); !strings.Contains(said, "exception in broken: chat.ts:20: on purpose") || strings.Contains(said, "\n") {
		t.Errorf("the log is %q", said)
	}
}

// TestDescribeFails holds what is wrong with init code.
func TestDescribeFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, want string }{
		{"export default () => {};\nopen('../x')", `main.js:2: TypeError: open("../x"): is outside of the script's folder`},
		{"export default () => {};\nopen('none')", `open("none"): does not exist`},
		{"export default () => {};\nnull.x", "main.js:2: TypeError"},
		{"export default x;\nconst x = 1", "exports no default function and no actions"},
	} {
		_, err := Describe(read(t, map[string]string{"main.js": tt.code}, "main.js"), nil)
		if _, ok := errors.AsType[*Exception](err); !ok || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %s", tt.code, err, tt.want)
		}
	}
}

// FuzzHostCalls calls the host with what a script could give it: nothing may panic, and the end of a run leaves
// whatever goes on, such as sleep(Infinity).
func FuzzHostCalls(f *testing.F) {
	for _, code := range []string{
		`http.get({url: 1, name: {}}, {headers: {a: null}, cookies: {b: {}}, tags: [], timeout: NaN})`,
		`http.batch({a: null, b: [], c: {method: 1}})`, `check({}, [x => x, 1, null])`, `http.post("/", Symbol())`,
		`sleep(Infinity)`, `http.cookieJar().set("/", "a", "b", {max_age: -1})`, `new http.CookieJar().set("http://[", 1)`, "http.url`${1}`",
		`http.expectedStatuses({min: 1, max: {}}, [])`, `new Proxy(http, {}).get("/")`, `group(1, http.get)`, `sleep(-Infinity)`,
		`Object.defineProperty(http, "get", {value: 1})`, `Object.freeze(http)`, `JSON.stringify([http, __ENV, console])`,
		`console.log(http, Symbol(), new Proxy({}, {get() { throw 1 }}))`, `require(require)`, `http.get("/").json.call(null)`,
		`for (const k in http.get("//")) { http.get("//")[k] }`,
	} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		program := bundled(t, imports+"exports.default = () => {"+code+"\n}")
		s := &stage{t: t, b: New()}
		s.env.Script, s.env.URL, s.env.Log = program, "http://127.0.0.1:1", s.log
		if s.b.Provision(t.Context(), s.env, 1) != nil {
			return
		}
		s = staged(t, nil, "exports.default = () => {"+code+"\n}", nil)
		a := s.user(0)
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		for range 2 {
			a.user.Schedule(a.user.Now())
			if err := a.Act(ctx); err != nil && err != workload.ErrStop {
				t.Fatal(err)
			}
		}
	})
}

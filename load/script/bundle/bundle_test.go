package bundle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/sobek"

	"plimsoll/internal/failure"
)

// folder writes files into a new folder and returns it. A value that begins with "-> " is a symbolic
// link.
func folder(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(to, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// exports runs a bundle as the runtime does and returns what it exports.
func exports(tb testing.TB, b *Bundle, rt *sobek.Runtime) *sobek.Object {
	tb.Helper()
	p, err := b.Program()
	if err != nil {
		tb.Fatal(err)
	}
	v, err := rt.RunProgram(p)
	if err != nil {
		tb.Fatal(err)
	}
	f, ok := sobek.AssertFunction(v)
	if !ok {
		tb.Fatalf("the code's value is %v, not a function", v)
	}
	module, out := rt.NewObject(), rt.NewObject()
	_ = module.Set("exports", out)
	require := func(name string) *sobek.Object {
		o := rt.NewObject()
		_ = o.Set("name", name)
		_ = o.Set("default", o)
		_ = o.Set("get", func(url string) string { return "GET " + url })
		return o
	}
	if _, err := f(sobek.Undefined(), rt.ToValue(require), out, module); err != nil {
		tb.Fatal(err)
	}
	return module.Get("exports").ToObject(rt)
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"chat.ts": `import http, {get} from "k6/http";
import {user} from 'plimsoll';
import * as k6 from "k6";
import {greet, type Named} from "./lib/greet";
import words from "./words.json" with {type: "json"};
import old from "./old.cjs";
const {B = 1, C: c} = __ENV;
interface Options { vus: number }
export const options: Options = {vus: 3};
const named: Named = {name: __ENV.WHO || __ENV["WHO_ELSE"]};
export default async function (data) {
	class Box { #in = 1; static n = 3; get() { return this.#in } has(o) { return #in in o } }
	let all = [];
	for await (const x of (async function* () { yield 1; yield 2; })()) all.push(x);
	const lazy = await import("./lazy.js");
	return [http.get("/a"), get("/b"), k6.name, user ?? "none", greet(named), words[0], old(),
		new Box().get() + "", new Box().has(new Box()), Box.n, all.join(), lazy.late, "D" in __ENV].join("|");
}`,
		"lib/greet.ts": `import {end} from "../end.js";
export type Named = {name?: string};
export const greet = (n: Named) => n?.name?.length ?? "nobody" + end;`,
		"end.js":     "export const end = '!';",
		"words.json": `["one", "two"]`,
		"old.cjs":    "module.exports = function () { return 'old' };",
		"lazy.js":    "export const late = 'late';",
	})
	b, err := Read(filepath.Join(dir, "chat.ts"))
	failure.None(t, err)
	if b.Name != "chat.ts" || strings.Join(b.Env, " ") != "B C D WHO WHO_ELSE" {
		t.Errorf("name %q, environment %q", b.Name, b.Env)
	}
	if strings.Contains(b.Code, dir) || strings.Contains(string(b.Map), dir) {
		t.Error("the bundle holds the path of this machine")
	}
	rt := sobek.New()
	_ = rt.Set("__ENV", map[string]any{})
	out := exports(t, b, rt)
	if got := out.Get("options").ToObject(rt).Get("vus").ToInteger(); got != 3 {
		t.Errorf("options.vus is %d", got)
	}
	f, _ := sobek.AssertFunction(out.Get("default"))
	v, err := f(sobek.Undefined())
	failure.None(t, err)
	p := v.Export().(*sobek.Promise)
	want := "GET /a|GET /b|k6|none|nobody!|one|old|1|true|3|1,2|late|false"
	if got := p.Result().String(); p.State() != sobek.PromiseStateFulfilled || got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A wrong script gets all of its errors at once, each with its place.
func TestReadOfWrongScripts(t *testing.T) {
	t.Parallel()
	big := "//" + strings.Repeat("x", 17<<20)
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"syntax in two files", map[string]string{
			"a.js": "import './b.js';\nimport './c.js';\nlet x = ;\n",
			"b.js": "export const y = 1;\n\nif (y {}\n",
			"c.js": "export default 1;\n",
		}, "a.js:3:9: Unexpected \";\"\nb.js:3:7: Expected \")\" but found \"{\""},
		{"missing file", map[string]string{"a.js": "\n  import x from './lib/b.js';\nx()"},
			"a.js:2:17: import of ./lib/b.js: does not exist"},
		{"out of the folder", map[string]string{"a.js": "import '../b.js'"},
			"a.js:1:8: import of ../b.js: is outside of the script's folder; copy it there"},
		{"down and out", map[string]string{"a.js": "import './x/../../b.js'"},
			"a.js:1:8: import of ./x/../../b.js: is outside of the script's folder; copy it there"},
		{"link out of the folder", map[string]string{"a.js": "import './b.js'", "b.js": "-> /etc/passwd"},
			"a.js:1:8: import of ./b.js: is outside of the script's folder; copy it there"},
		{"folder linked out", map[string]string{"a.js": "import './etc/b.js'", "etc": "-> /etc"},
			"a.js:1:8: import of ./etc/b.js: is outside of the script's folder; copy it there"},
		{"cycle of links", map[string]string{"a.js": "import './b.js'", "b.js": "-> c.js", "c.js": "-> b.js"},
			"a.js:1:8: import of ./b.js: too many levels of symbolic links"},
		{"directory", map[string]string{"a.js": "import './b.js'", "b.js/c.js": "1"},
			"a.js:1:8: import of ./b.js: is a directory; name a file in it"},
		{"the folder", map[string]string{"a.js": "import '.'"},
			"a.js:1:8: import of .: is a directory; name a file in it"},
		{"too large", map[string]string{"a.js": "import './b.js'", "b.js": big},
			"b.js: is too large: all files of a script may hold 16 MiB together"},
		{"remote and builtin", map[string]string{
			"a.js": "import {x} from 'https://jslib.k6.io/k6-utils/1.2.0/index.js';\nimport {browser} from 'k6/browser';\n" +
				"import './b.js'; x(browser)",
			"b.js": "import grpc from 'k6/net/grpc'; import sql from 'k6/x/sql'; require('lodash'); import('./' + grpc + sql)",
		}, "a.js:1:17: import of https://jslib.k6.io/k6-utils/1.2.0/index.js: nothing is fetched; save the file beside the script and import ./index.js\n" +
			"a.js:2:23: import of k6/browser: a browser is not simulated here; load the pages' requests with k6/http\n" +
			"b.js:1:18: import of k6/net/grpc: gRPC is not spoken here; a behavior in Go can (plimsoll.Main)\n" +
			"b.js:1:49: import of k6/x/sql: extensions of k6 are programs in Go; write a behavior in Go (plimsoll.Main)\n" +
			"b.js:1:69: import of lodash: is no file; write ./NAME.js for one beside this file; of a package, save a bundled copy there"},
		{"absolute", map[string]string{"a.js": "import '/etc/x.js'; import 'file:///etc/x.js'"},
			"a.js:1:8: import of /etc/x.js: is an absolute path; write it relative to this file, as ./NAME.js\n" +
				"a.js:1:28: import of file:///etc/x.js: nothing is fetched; save the file beside the script and import ./x.js"},
		{"no script", map[string]string{"a.js": "import './b.txt'", "b.txt": "b"},
			"b.txt: is not a script; want a name that ends in .cjs .cts .js .json .mjs .mts .ts, or read it with open()"},
		{"environment without names", map[string]string{
			"a.js": "export default () => {\n  const k = 'x';\n  return [__ENV[k], Object.keys(__ENV), {__ENV}, typeof __ENV];\n}"},
			"a.js:3:11: use of __ENV without a name: write __ENV.NAME for each variable: agents get those that the script names\n" +
				"a.js:3:33: use of __ENV without a name: write __ENV.NAME for each variable: agents get those that the script names\n" +
				"a.js:3:42: use of __ENV without a name: write __ENV.NAME for each variable: agents get those that the script names"},
		{"wait outside of functions", map[string]string{"a.js": "import http from 'k6/http';\nawait http.get('/')"},
			"a.js:2:1: Top-level await is not available: the engine cannot run it; write it in another way, inside of a function"},
		{"nested", map[string]string{"a.js": "x = " + strings.Repeat("[", 100_000)},
			"a.js: brackets are nested 100000 deep; want at most 500"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, tt.files)
			_, err := Read(filepath.Join(dir, "a.js"))
			if err == nil {
				t.Fatalf("no error; want\n%s", tt.want)
			}
			if err.Error() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", err, tt.want)
			}
			if strings.Contains(err.Error(), dir) {
				t.Error("the error holds the path of this machine")
			}
		})
	}
}

// A script that is no file is an error with the name that its caller gave.
func TestReadOfNoFile(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"d.js/x": "", "loop.js": "-> loop.js", "x.sh": "echo"})
	for name, want := range map[string]string{
		"none.js": "does not exist",
		"d.js":    "is a directory",
		"loop.js": "too many",
		"x.sh":    "is not a script",
	} {
		_, err := Read(filepath.Join(dir, name))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// The engine's exceptions have the places of the sources.
func TestPlacesOfExceptions(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a.ts":     "interface A {\n  b: number\n}\n\nimport {deep} from './lib/d';\nexport default function () { deep(null as any) }",
		"lib/d.ts": "type T = {\n x: {y: number}\n};\n\n\nexport function deep(t: T) {\n\n  return t.x.y;\n}",
	})
	b, err := Read(filepath.Join(dir, "a.ts"))
	failure.None(t, err)
	f, _ := sobek.AssertFunction(exports(t, b, sobek.New()).Get("default"))
	_, err = f(sobek.Undefined())
	thrown, ok := err.(*sobek.Exception) //nolint:errorlint // as the engine returns it
	if !ok {
		t.Fatal(err)
	}
	var at []string
	for _, frame := range thrown.Stack() {
		p := frame.Position()
		at = append(at, p.Filename+":"+strings.Split(p.String(), ":")[1])
	}
	if got := strings.Join(at, " "); got != "lib/d.ts:8 a.ts:6" {
		t.Errorf("the exception %v is at %s", thrown, got)
	}
}

// What the engine cannot compile is an error with its place in the source.
func TestPlacesOfWhatTheEngineRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"with (x) {}": "a.cjs:4:1: Strict mode code may not include a with statement: the engine cannot run it",
	} {
		dir := folder(t, map[string]string{
			"a.js":  "import './b.ts'; import './a.cjs'",
			"b.ts":  "export const ü: string = 'ü'; globalThis.b = ü;\n",
			"a.cjs": "var x = {};\n\n\n" + text + "\nmodule.exports = x",
		})
		if _, err := Read(filepath.Join(dir, "a.js")); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// The digest is that of the program and of the files that it opens, wherever they lie.
func TestDigest(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.js": "import './b.js'; export default 1", "b.js": "globalThis.x = 1", "data/x.txt": "text",
		"out": "-> /etc", "in.txt": "-> data/x.txt",
	}
	read := func() *Bundle {
		b, err := Read(filepath.Join(folder(t, files), "a.js"))
		failure.None(t, err)
		return b
	}
	one, two := read(), read()
	if one.Digest != two.Digest || !strings.HasPrefix(one.Digest, "sha256:") {
		t.Errorf("digests %s and %s", one.Digest, two.Digest)
	}
	for name, want := range map[string]string{
		"./data/../data/x.txt": "", "in.txt": "", "data/y.txt": "does not exist", "data": "is a directory",
		"../a.js": "outside", "/etc/passwd": "outside", "out/passwd": "outside", "": "is a directory",
	} {
		data, err := two.Open(name)
		if want == "" && (err != nil || string(data) != "text") {
			t.Errorf("open(%q): %q, %v", name, data, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("open(%q): %v, want %s", name, err, want)
		}
	}
	if len(two.Files) != 2 || string(two.Files["data/x.txt"]) != "text" {
		t.Errorf("files: %v", two.Files)
	}
	if one.Digest == two.Digest {
		t.Error("the digest leaves the opened file out")
	}
	text, err := json.Marshal(two)
	failure.None(t, err)
	var far Bundle
	failure.None(t, json.Unmarshal(text, &far))
	if data, err := far.Open("data/x.txt"); err != nil || string(data) != "text" {
		t.Errorf("elsewhere: %q, %v", data, err)
	}
	if _, err := far.Open("a.js"); err == nil || !strings.Contains(err.Error(), "did not open") {
		t.Errorf("elsewhere: %v", err)
	}
	files["b.js"] = "globalThis.x = 2"
	if three := read(); three.Digest == one.Digest {
		t.Error("the digest leaves an import out")
	}
}

// TestBigIntIsRefused: one operation on it could take hours, or end the process.
func TestBigIntIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.js": "export default () => {\n  return 1n << 100000000000n\n}"})
	_, err := Read(filepath.Join(dir, "a.js"))
	if err == nil || !strings.Contains(err.Error(), "a.js:2:10: BigInt 1n: ") {
		t.Error(err)
	}
}

package bundle

import (
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

func listed(all []Construct) string {
	var lines []string
	for _, c := range all {
		line := c.String()
		if c.Note {
			line = "note " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"good", map[string]string{
			"a.js": "import http from 'k6/http';\nfunction unused() { setInterval() }\n" +
				"export default function () { const fetch = http.get, window = {process: 1}; fetch(window.process) }",
		}, ""},
		{"all at once", map[string]string{
			"a.js": "import {browser} from 'k6/browser';\nimport http, {asyncRequest} from 'k6/http';\nimport * as k6 from 'k6';\n" +
				"import {helper} from './lib/b.js';\n\nexport default function () {\n" +
				"  http.file('x');\n  asyncRequest('GET', '/');\n  k6.randomSeed(1);\n  setInterval(helper, 1);\n" +
				"  const r = http.get('https://other.example/a');\n  r.submitForm({});\n  browser();\n  new WebSocket('/');\n" +
				"  /(?<y>[0-9]+)/.exec('');\n  require(r);\n  import(r);\n  return __ENV[r];\n}",
			"lib/b.js": "export const helper = () => {\n\n  return Buffer.from(process.env.HOME);\n}",
		}, "a.js:1:23: import of k6/browser: a browser is not simulated here; load the pages' requests with k6/http\n" +
			"a.js:7:3: file of k6/http: build the multipart body as a string, or as an ArrayBuffer\n" +
			"a.js:8:3: asyncRequest of k6/http: use http.request, or http.batch\n" +
			"a.js:9:6: randomSeed of k6: the plan's seed decides; remove it\n" +
			"a.js:10:3: setInterval: does not exist here; sockets have setInterval of k6/ws; otherwise loop with sleep()\n" +
			"note a.js:11:22: URL of other.example: must be the target's origin, or the request is an exception; write __ENV.BASE_URL, which is the target's URL\n" +
			"a.js:12:3: .submitForm(): pages are not parsed; send the request of the link or form\n" +
			"a.js:14:7: WebSocket: does not exist here; use k6/ws, or user.socket of \"plimsoll\"\n" +
			"a.js:15:3: a named group: the engine, as k6's, has none: groups is undefined; use the group's number\n" +
			"a.js:16:3: import of a computed name: write the name itself: a bundle holds what it names\n" +
			"a.js:17:3: import of a computed name: write the name itself: a bundle holds what it names\n" +
			"a.js:18:10: use of __ENV without a name: write __ENV.NAME for each variable: agents get those that the script names\n" +
			"lib/b.js:3:10: Buffer: does not exist here; use strings, or Uint8Array with http's ArrayBuffer bodies\n" +
			"lib/b.js:3:22: process: does not exist here; read variables as __ENV.NAME"},
		{"asked for", map[string]string{
			"a.js": "const g = typeof window !== 'undefined' ? window : globalThis;\nexport default () => g",
		}, "note a.js:1:43: window: does not exist here, as the script expects with typeof"},
		{"syntax", map[string]string{"a.js": "import './b.js'\nlet = ;", "b.js": "if"},
			"a.js:2:7: Unexpected \";\"\nb.js:1:3: Expected \"(\" but found end of file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all, err := Check(filepath.Join(folder(t, tt.files), "a.js"))
			failure.None(t, err)
			if got := listed(all); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	if _, err := Check(filepath.Join(t.TempDir(), "a.js")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestOption(t *testing.T) {
	t.Parallel()
	b, err := Read(filepath.Join(folder(t, map[string]string{
		"a.ts": "interface X {}\nexport const options = {\n  vus: 1,\n  stages: [\n    {target: 1},\n    {target: 2}],\n" +
			"  thresholds: {\n    'http_req_duration{a:b}': ['p(95)<1',\n      'avg<2']},\n};\nexport default () => 1",
	}), "a.ts"))
	failure.None(t, err)
	for path, want := range map[string]string{
		"options":                  "a.ts:2:14",
		"options.vus":              "a.ts:3:3",
		"options.stages[1]":        "a.ts:6:5",
		"options.stages[1].target": "a.ts:6:6",
		"options.stages[7].target": "a.ts:4:3",
		"options.thresholds.http_req_duration{a:b}[1]": "a.ts:9:7",
		"options.other": "a.ts:2:14",
	} {
		if got := b.Option(path, "remedy").String(); got != want+": "+path+": remedy" {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// FuzzRead bundles any text: what is accepted compiles for the engine, and what is not is an error
// with its file.
func FuzzRead(f *testing.F) {
	f.Add("import http from 'k6/http'; export default () => http.get(__ENV.A)")
	f.Add("import './b.js'; for await (const x of async function* () {}()) {}")
	f.Add("export default `${__ENV[`a`]}` + /(?<a>b)/v + import(x) + class { #a; static { this.b = typeof process } }")
	f.Add("{{{([`${")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		file := filepath.Join(folder(t, map[string]string{"a.ts": strings.TrimPrefix(text, "-> "), "b.js": "export const b = 1"}), "a.ts")
		all, err := Check(file)
		failure.None(t, err)
		b, err := Read(file)
		if err == nil {
			if _, err := b.Program(); err != nil {
				t.Fatalf("what Read accepts does not compile: %v", err)
			}
			return
		}
		fatal := 0
		for _, c := range all {
			if !c.Note {
				fatal++
			}
		}
		if fatal == 0 || !strings.Contains(err.Error(), ".") {
			t.Fatalf("Read: %v, and Check finds %v", err, all)
		}
	})
}

package guard_test

import (
	"strings"
	"testing"

	"github.com/grafana/sobek"

	"plimsoll/internal/failure"
	"plimsoll/load/script/guard"
)

// texts are JSON, and what is nearly.
var texts = []string{
	`{"on":"said","room":"r12","id":"1-123456","n":[1,-2,0,-0,3.5e-3,1e999,12345678901234567890,true,false,null]}`,
	` [ ] `, "\t{\r\n}", `""`, `"a\"b\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud800"`, `"é😀"`, `{"__proto__":{"a":1},"a":1,"a":2,"2":0,"1":0}`,
	`[[[{"a":[{}]}]]]`, ``, ` `, `[`, `]`, `{`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{1:1}`, `[1 2]`, `1 2`, `{}x`,
	`01`, `-`, `1.`, `.5`, `+1`, `1e`, `1e+`, `--1`, `0x1`, `tru`, `nul`, `truex`, `NaN`, `"`, `"\"`, `"\x"`, `"\u12"`, "\"\n\"", `'a'`,
}

// reading runs a program in a runtime whose text is this one.
func reading(t *testing.T, bounds guard.Bounds, text string) (string, bool) {
	t.Helper()
	rt := sobek.New()
	failure.None(t, bounds.Harden(rt))
	failure.None(t, rt.Set("text", text))
	v, err := rt.RunString(`
		const all = [];
		const v = JSON.parse(text, (k, v) => { all.push(k); return v });
		const w = JSON.parse(text);
		const zero = n => Object.is(n, -0) ? "-0" : n === Infinity ? "inf" : n;
		JSON.stringify([w, all, JSON.stringify(v) === JSON.stringify(w), w && Object.getPrototypeOf(w) === Object.prototype,
			Array.isArray(w) && w.map(zero), Object.getOwnPropertyDescriptor(w || {}, "a")])`)
	if err != nil {
		if !strings.HasPrefix(err.Error(), "SyntaxError: ") {
			t.Errorf("%q: %v, want a SyntaxError", text, err)
		}
		return "", false
	}
	return v.String(), true
}

// FuzzParse compares JSON.parse with sobek's own.
func FuzzParse(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := reading(t, guard.For("JSON"), text)
		want, fine := reading(t, nil, text)
		if got != want || ok != fine {
			t.Errorf("%q is %s (%v), want %s (%v)", text, got, ok, want, fine)
		}
	})
}

// TestParseIgnoresPrototypes has a script that would see what others' texts set.
func TestParseIgnoresPrototypes(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	failure.None(t, guard.For("JSON").Harden(rt))
	v, err := rt.RunString(`
		let seen = 0;
		Object.defineProperty(Object.prototype, "a", {set(v) { seen++ }, configurable: true});
		Object.defineProperty(Array.prototype, "0", {set(v) { seen++ }, configurable: true});
		const v = JSON.parse('{"a": [7]}');
		seen + " " + v.a[0]`)
	failure.None(t, err)
	if v.String() != "0 7" {
		t.Errorf("got %s, want 0 7", v)
	}
}

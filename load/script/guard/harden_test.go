package guard_test

import (
	"strings"
	"testing"

	"github.com/grafana/sobek"

	"plimsoll/internal/failure"
	"plimsoll/load/script/guard"
)

// TestCallsThatAreRefused checks what a single call may make: without bounds each of these would
// work or allocate for seconds, or for ever.
func TestCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		`"x".repeat(1e9)`,
		`"x".repeat({valueOf() { return 1e9 }})`,
		`String.prototype.repeat.call({toString() { return "xxxx" }}, 3e7)`,
		`"x".padStart(1e9)`, `"é".padEnd(1e9)`,
		`const s = "x".repeat(3e7); s.concat(s, s)`,
		`"a".repeat(1e6).replaceAll("a", "b".repeat(1e4))`,
		`"a".repeat(1e6).replace(/a/g, "b".repeat(1e4))`,
		`"a".repeat(5e6).split("")`, `"a".repeat(5e6).match(/a/g)`,
		`String.raw({raw: {length: 1e9}})`,
		`new Array(2**32-1)`, `Array(1e9).fill(0)`, `[...Array(1e9)]`, `[...Array(1e9).keys()]`,
		`Array.from({length: 1e9})`, `Array.from({length: 1e9}, () => 1)`,
		`const a = []; a.length = 2**32-1; a.join()`,
		`const a = []; a.length = 2**32-1; a.indexOf(1)`,
		`const a = []; a.length = 2**32-1; a.forEach(x => x)`,
		`const a = []; a.length = 2**32-1; String(a)`,
		`Array.prototype.includes.call({length: 2**53-1}, 1)`,
		`Array(1000).fill("x".repeat(1e6)).join()`, `Array(1e4).join("x".repeat(1e4))`,
		`let a = []; for (let i = 0; i < 2000; i++) a = [a]; String(a)`,
		`let a = ["x".repeat(1e3)]; for (let i = 0; i < 9; i++) a = Array(10).fill(a); String(a)`,
		`[1].concat(...Array(100).fill(Array(1e5).fill(1)))`,
		`Array(3e5).fill("").sort()`,
		`Math.max.apply(null, {length: 1e9})`, `Reflect.apply(Math.max, null, {length: 1e9})`,
		`new ArrayBuffer(1e9)`, `new Uint8Array(1e9)`, `new Float64Array(1e7)`, `new Uint16Array({length: 1e9})`,
		`JSON.stringify(Array(1000).fill("x".repeat(1e6)))`,
		`JSON.stringify({a: "x".repeat(6e7)}, (k, v) => k ? v : [v, v])`,
		`let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)`,
		`function endless() { return {a: 1, toJSON() { return {b: endless()} }} }; JSON.stringify(endless())`,
		`const p = () => new Proxy({}, {ownKeys: () => ["a"], get: (_, k) => k === "a" ? p() : undefined,
			getOwnPropertyDescriptor: () => ({value: 1, enumerable: true, configurable: true})}); JSON.stringify(p())`,
		`Function("(".repeat(1e6))`, `eval("(".repeat(1e6))`, `(0, eval)("[".repeat(1e6))`, `(() => 1).constructor("(".repeat(1e6))`,
		`new RegExp("(".repeat(1e6))`, `JSON.parse("[".repeat(4e6))`,
		`BigInt(2)`,
	} {
		rt := sobek.New()
		failure.None(t, guard.For(code).Harden(rt))
		_, err := rt.RunString("(() => {" + last(code) + "})()")
		if err == nil || !strings.HasPrefix(err.Error(), "RangeError: ") {
			t.Errorf("%s: %.200v, want a RangeError", code, err)
		}
	}
}

// last returns code with a return before its last expression.
func last(code string) string {
	i := strings.LastIndex(code, "; ") + 1
	return code[:i] + " return " + strings.TrimSpace(code[i:])
}

// TestCallsThatAreAsBefore checks that bounds change nothing else.
func TestCallsThatAreAsBefore(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		`"ab".repeat(3) + "x".padStart(3) + "x".padEnd(3, "yz") + "".concat(1, null, undefined, {})`,
		`"ab".repeat()`, `"ab".repeat(-1)`, `"ab".repeat(Infinity)`, `String.prototype.repeat.call(null, 1)`,
		`"a-b-a".replaceAll("a", "$&$&") + "a-b".replace(/a/g, x => x + x) + "a,b".split(",") + "aXbX".match(/X/g)`,
		`[1, null, undefined, [2, [3]], {}].join()`, `[1, 2].join("-")`, `[1, 2].join(null) + [1, 2].join("") + [1, 2].join(undefined) + [1, 2].join(3)`,
		`JSON.parse('["[[[", "\\\\", "]]"]')[1] + JSON.parse("1") + JSON.parse(["[" + "1,".repeat(4e4) + "{}]"]).length`, `JSON.parse()`, `String([1, [2, 3]])`,
		`const a = [1]; a.push(a); String(a)`, `[Symbol()].join()`, `Array.prototype.join.call({length: 2, 0: "a"}, "")`,
		`[3, 1, 2].sort() + "/" + [3, 1, 2].sort((a, b) => b - a) + [1, [2, [3]]].flat(Infinity)`,
		`JSON.stringify({a: [1, "x", null, undefined, {b: true}], c: undefined, d: () => 1, e: new Date(0)})`,
		`JSON.stringify({a: 1, b: {a: 2, c: 3}}, ["a", "b"])`, `JSON.stringify({a: 1, b: [1, {c: 2}]}, null, 2)`,
		`JSON.stringify({a: 1, b: [1, {c: 2}]}, (k, v) => typeof v === "number" ? v + 1 : v, "--")`,
		`JSON.stringify({toJSON() { return JSON.stringify({x: [1]}) }, y: 1}) + JSON.stringify([[], [[]], {}])`,
		`const a = {}; a.a = a; JSON.stringify(a)`, `JSON.stringify(undefined)`, `JSON.stringify(1n)`,
		`JSON.stringify("x") + JSON.stringify()`,
		`const o = {b: 1}; JSON.stringify({a: o, c: [o, o], d: {o}})`,
		`Array.from({length: 3}, (_, i) => i) + Array.from("abc") + Array.from(new Set([1, 2]))`,
		`new Array(3).length + Array(1, 2).length + new Array("x")[0] + [...Array(3).keys()]`,
		`Array.isArray(new Array(2)) && new Array(2) instanceof Array && [] instanceof Array && Array.of(1, 2)`,
		`class L extends Array { last() { return this[this.length - 1] } }; const l = L.from([1, 2]); l.last() + l.map(x => x * 2).last()`,
		`new Uint8Array([1, 2]) + new Uint8Array(2) + new Uint8Array(new ArrayBuffer(8), 2, 3).length + new Uint8Array()`,
		`new Uint8Array(1) instanceof Uint8Array && Uint8Array.from([1, 2]) + Uint16Array.BYTES_PER_ELEMENT`,
		`new Uint8Array(new Set([1, 2])) + new ArrayBuffer(8).slice(2).byteLength`,
		`Math.max.apply(null, [1, 2]) + Reflect.construct(Array, [3]).length`,
		`eval("1 + 1") + Function("a", "return a * 2")(4) + (() => 1).constructor("return 5")()`,
		`(() => 1) instanceof Function && (() => 1).constructor === Function && /a/ instanceof RegExp`,
		`new RegExp("a+", "g").exec("baa")[0] + RegExp("b").test("b") + RegExp(/x/g).flags + "aa".replace(new RegExp("a", "g"), "b")`,
		`"a".repeat.name + Array.prototype.join.name + JSON.stringify.name`,
		`Object.keys(Array.prototype).length + Object.keys(JSON).length`,
		`try { [1].map(() => { throw new TypeError("mine") }) } catch (e) { return e instanceof TypeError && e.message }; 1`,
		`[].concat([1], 2, [[3]]) + String.raw` + "`a\\n${1}`",
	} {
		plain, hard := sobek.New(), sobek.New()
		failure.None(t, guard.For("eval").Harden(hard))
		want, wantErr := plain.RunString("(() => {" + last(code) + "})()")
		got, err := hard.RunString("(() => {" + last(code) + "})()")
		if (err == nil) != (wantErr == nil) || err == nil && !got.SameAs(want) && got.String() != want.String() {
			t.Errorf("%s: %v %v, want %v %v", code, got, err, want, wantErr)
		}
		if err != nil && wantErr != nil && strings.SplitN(err.Error(), ":", 2)[0] != strings.SplitN(wantErr.Error(), ":", 2)[0] {
			t.Errorf("%s: %v, want %v", code, err, wantErr)
		}
	}
}

package plain

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// hostile holds every kind of character that may not arrive.
const hostile = "a\x1b[31mred\x1b]0;title\x07\r\nsealed, valid\x00\x7f\u0085\u009b31m\u202eevil\u2066x\u2028y\u2029z\u200b\ufeff\U000e0041\xff\xc3"

func TestControlCharactersAreQuoted(t *testing.T) {
	const want = `a\x1b[31mred\x1b]0;title\x07\r\nsealed, valid\x00\x7f\u0085\u009b31m\u202eevil\u2066x\u2028y\u2029z\u200b\ufeff\U000e0041\xff\xc3`
	if got := Text(hostile); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := Text(want); got != want {
		t.Errorf("quoted twice: %s", got)
	}
	if got := Lines("a\n\tb\r\x1b"); got != "a\n\tb\\r\\x1b" {
		t.Errorf("lines: %q", got)
	}
	for _, same := range []string{"", "plain", `C:\x1b`, "10 × 4 µs ≤ 5 · é 漢 🙂 \u00a0\u202f", "“" + cut + "”", "\ufffd"} {
		if got := Text(same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		Text("reply: status 500 api.post.error (5xx) · 3 µs")
	}); n != 0 {
		t.Errorf("text that is plain costs %v allocations", n)
	}
}

func TestAnIdentifierIsOneOrIsNotShown(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"api.context.permissions.app_error":  "api.context.permissions.app_error",
		strings.Repeat("a", 120):             strings.Repeat("a", 120),
		strings.Repeat("a", 121):             "[121 bytes that are no identifier]",
		"x\nplimsoll: run 1: sealed, valid":  "[32 bytes that are no identifier]",
		"\x1b]0;pwned\x07":                   "[10 bytes that are no identifier]",
		"api error":                          "[9 bytes that are no identifier]",
		"apí":                                "[4 bytes that are no identifier]",
		"https://attacker.example/?t=secret": "[34 bytes that are no identifier]",
	} {
		if got := ID(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestExcerptEndsBetweenCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"abc":        "abc",
		"abcd":       "abcd",
		"abcde":      "abcd…",
		"abcé":       "abc…",
		"\n\n\n\n\n": `\n\n\n\n…`,
	} {
		if got := Excerpt(in, 4); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// A newline in an argument begins no line; one in the format does.
func TestOnlyTheFormatEndsALine(t *testing.T) {
	evil := "x\nplimsoll: sealed, valid"
	for _, tt := range []struct{ got, want string }{
		{Sprintf("run: %s\n", evil), "run: x\\nplimsoll: sealed, valid\n"},
		{Sprintf("%-6s|%q|%v|%3d|%5.1f|%v\n", "a\t", evil, []string{evil}, 7, 1.25, time.Second), "a\\t   |\"x\\nplimsoll: sealed, valid\"|[x\\nplimsoll: sealed, valid]|  7|  1.2|1s\n"},
		{Sprintf("%v", errors.New(evil)), `x\nplimsoll: sealed, valid`},
		{Sprintf("%+v", struct{ A string }{evil}), `{A:x\nplimsoll: sealed, valid}`},
		{Sprintf("%s", Block("two\nlines\x1b")), "two\nlines\\x1b"},
		{Sprintf("%v %d", nil, nil), "<nil> %!d(<nil>)"},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %q\nwant %q", tt.got, tt.want)
		}
	}
}

// Several problems are several lines, with any text in each.
func TestJoinedErrorsAreLines(t *testing.T) {
	a, b := errors.New("a\nforged"), errors.New("b")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, "<nil>"},
		{a, `a\nforged`},
		{errors.Join(a, b), "a\\nforged\nb"},
		{errors.Join(a), `a\nforged`},
		{fmt.Errorf("run\n: %w", errors.Join(a, errors.Join(b, a))), "run\\n: a\\nforged\nb\na\\nforged"},
		{fmt.Errorf("%w\n and %w", a, b), `a\nforged\n and b`},
		{fmt.Errorf("%w", errors.New("")), ""},
		{fmt.Errorf("x\n%w", errors.New("")), `x\n`},
		{fmt.Errorf("ended: %w%w", a, Output("first\r\nplimsoll: sealed\x1b[2J\n\n")), "ended: a\\nforged\nits last output:\n  | first\n  | plimsoll: sealed\\x1b[2J"},
		{fmt.Errorf("%w%w", b, Output(" \n")), "b"},
		{fmt.Errorf("x: %w", Below(errors.Join(a, b), "%s is no good", "plan\x1b")), "x: plan\\x1b is no good:\na\\nforged\nb"},
	} {
		if got := Error(tt.err); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

func TestJSONKeepsItsValues(t *testing.T) {
	in := map[string]string{"a\u202e": strings.ToValidUTF8(hostile, "?"), "b": "plain × 3"}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := JSON(b)
	if i := strings.IndexFunc(string(out), func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}); i >= 0 {
		t.Errorf("a control character is left at %d of %q", i, out)
	}
	var back map[string]string
	if err := json.Unmarshal(out, &back); err != nil || back["a\u202e"] != in["a\u202e"] ||
		back["b"] != in["b"] {
		t.Errorf("%v, %q", err, back)
	}
	if got := string(JSON([]byte("{\n \"a\": 1\n}\n"))); got != "{\n \"a\": 1\n}\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add(hostile)
	f.Add("plain\n\ttext " + Redacted)
	f.Fuzz(func(t *testing.T, in string) {
		for _, keep := range []string{"", "\n\t"} {
			out := quote(in, keep != "")
			if !utf8.ValidString(out) {
				t.Fatalf("%q became %q, which is no UTF-8", in, out)
			}
			if i := strings.IndexFunc(out, func(r rune) bool {
				return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && !strings.ContainsRune(keep, r)
			}); i >= 0 {
				t.Fatalf("%q became %q with a control character at %d", in, out, i)
			}
			if again := quote(out, keep != ""); again != out {
				t.Fatalf("%q, quoted again %q", out, again)
			}
		}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		if err := errors.Join(json.Unmarshal(b, &want), json.Unmarshal(JSON(b), &got)); err != nil ||
			got != want {
			t.Fatalf("%v: %q became %q", err, want, got)
		}
	})
}

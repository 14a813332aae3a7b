package plain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s as one line without a control character. It replaces the characters of Unicode's
// classes Cc, Cf, Zl and Zp (C0 with newline and tab, C1, bidirectional controls, invisible
// joiners, line separators), and bytes that are not UTF-8, by the escapes of a Go string. A
// backslash stays, so that Text(Text(s)) is Text(s). It allocates only where it changes something.
func Text(s string) string { return quote(s, false) }

// Lines is [Text] for text of several lines: newlines and tabs stay.
func Lines(s string) string { return quote(s, true) }

func quote(s string, lines bool) string {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if harmful(r, n, lines) {
			return quoteFrom(s, i, lines)
		}
		i += n
	}
	return s
}

func quoteFrom(s string, i int, lines bool) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case !harmful(r, n, lines):
			b.WriteString(s[i : i+n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == utf8.RuneError: // n is 1
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// harmful reports whether a character of n bytes is to be quoted.
func harmful(r rune, n int, lines bool) bool {
	switch {
	case r < 0x20:
		return !lines || r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	case r == utf8.RuneError:
		return n <= 1
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// mostID is the longest identifier that is shown, in bytes.
const mostID = 120

// OneLine returns s as text for a page or a picture: line breaks and other control characters, and
// characters that reverse the direction of text, are spaces. It has none at its ends.
func OneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
			r == 0x2028 ||
			r == 0x2029 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�")))
}

// ID returns s if it is an identifier, 1 to 120 characters of A-Z, a-z, 0-9, '.', '_' and '-', and
// otherwise a note of how long the text was that stood in its place. The empty string stays empty.
func ID(s string) string {
	if s == "" {
		return s
	}
	if len(s) > mostID || strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	}) {
		return fmt.Sprintf("[%d bytes that are no identifier]", len(s))
	}
	return s
}

// Excerpt is [Text] of at most the first most bytes of s, with "…" for the rest. Redact first: half
// a secret is not recognized, but for one that is cut at the "…".
func Excerpt(s string, most int) string {
	if len(s) <= most {
		return Text(s)
	}
	return Text(strings.TrimSuffix(Cut(s, most), cut)) + cut
}

// Cut returns at most the first most bytes of s as they are, with "…" for the rest.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + cut
}

// cut stands where text was left out.
const cut = "…"

// JSON returns encoded JSON without control and format characters: they can stand in strings alone,
// and there they are escaped as \u202e or a pair of those. The values are the same.
func JSON(b []byte) []byte {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if escaped(r, n) {
			return escapeFrom(b, i)
		}
		i += n
	}
	return b
}

func escaped(r rune, n int) bool {
	return r >= 0x7f && r != utf8.RuneError && harmful(r, n, true) || r == 0x7f
}

func escapeFrom(b []byte, i int) []byte {
	out := append(make([]byte, 0, len(b)+16), b[:i]...)
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case !escaped(r, n):
			out = append(out, b[i:i+n]...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		i += n
	}
	return out
}

// Thousands writes a number as in 12,000,000.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
